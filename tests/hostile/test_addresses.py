"""An address nobody has is refused before Django compares it with those there are."""

from typing import Any

import pytest

from approvals import middleware
from approvals.models import User
from tests.support.fixtures import ClientOf

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("path", ["/admin/r/" + "/" * 8_000 + "x", "/memory/" + "a" * 8_000 + "/", "/" * 2_000])
def test_an_endless_address_is_refused_before_it_is_resolved(client: Any, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code == 404
    assert answer.wsgi_request.resolver_match is None
    assert "text/html" in answer["Content-Type"]


def test_the_longest_addresses_of_ours_are_answered(alice: User, client_of: ClientOf) -> None:
    path = "/memory/alice/blocks/" + "b" * 64 + "/history/"
    assert len(path) < middleware.LONGEST_PATH
    assert client_of(alice).get(path).wsgi_request.resolver_match is not None
