"""The page of agents and tokens in alice's browser, and the secret that a page shows."""

import re
from typing import Any

import pytest
from django.test import Client

from approvals.models import User
from tests.support.fixtures import ClientOf
from tests.support.pages import words

PAGE = "/agents/"
TOKENS = f"{PAGE}tokens/"
ADMIN = "/admin/agent_tools/agenttoken/"
SECRET = re.compile(r"asn_[a-z0-9]{8}_[A-Za-z0-9_-]{43}")


@pytest.fixture
def browser(alice: User, client_of: ClientOf) -> Client:
    return client_of(alice)


def secret_on(answer: Any) -> str:
    """The secret that is shown, which no cache may keep."""
    found = SECRET.search(answer.content.decode())
    assert found, words(answer)
    assert "no-store" in answer["Cache-Control"]
    return found[0]
