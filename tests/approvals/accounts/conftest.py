"""Who can sign in: the other tests begin with a session."""

import pytest

from approvals.models import User

PASSWORD = "a long enough one"


@pytest.fixture
def alice_with_password(alice: User) -> User:
    alice.set_password(PASSWORD)
    alice.email = "alice@example.org"
    alice.save()
    return alice
