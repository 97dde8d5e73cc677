"""How many calls of one token may be under way at once, over REST and MCP."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from datetime import timedelta

import pytest
from django.db import connections
from django.test import override_settings
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken, ToolCall
from approvals import services
from approvals.models import Proposal, User
from memory_app.runtime import turns, waits
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Machine
from tests.conftest import eventually

MCP = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


@contextmanager
def under_way(count: int, token: str) -> Iterator[None]:
    """So many calls of a token that do not end."""
    name = f"calls of {AgentToken.objects.get(prefix=token[:12]).original_id}"
    with ExitStack() as stack:
        for _ in range(count):
            assert stack.enter_context(turns.awaited(name, 4))
        yield


@pytest.fixture
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_PATIENCE", 0.2)


@pytest.mark.usefixtures("hurry")
def test_a_call_that_finds_no_place_is_told_when_to_come_again(api: Machine, rival: Machine, token: str) -> None:
    with under_way(3, token):
        answered(api.get("/api/v1/token/"))
        answered(api.call("list_memory_blocks"))
    with under_way(4, token):
        for ask in (lambda: api.get("/api/v1/token/"), lambda: api.call("memory_save", content="She rows.")):
            response = ask()
            error = refused(response, 429, "too_many_at_once")
            assert (error["details"], response["Retry-After"]) == ({"most": 4, "retry_after": 2}, "2")
            assert "4 calls with this token are under way" in error["text"]
        message = api.post("/mcp", MCP)
        assert (message.status_code, message["Retry-After"]) == (429, "2")
        assert message.json()["error"]["data"]["code"] == "too_many_at_once"
        answered(rival.get("/api/v1/token/"))
    assert "She rows." not in answered(api.call("recall"))["text"]
    assert api.post("/mcp", MCP).json()["result"] == {}


@pytest.mark.usefixtures("hurry")
def test_two_secrets_of_one_token_have_no_more_places_than_one(token: str) -> None:
    old = AgentToken.objects.get(prefix=token[:12])
    new = auth.rotate(old, by=None, until=timezone.now() + timedelta(days=1)).secret
    with under_way(4, new):
        refused(Machine(token).get("/api/v1/token/"), 429, "too_many_at_once")


@override_settings(CALLS_UNDER_WAY=2)
def test_a_few_calls_more_wait_and_all_are_answered(token: str) -> None:
    def save(number: int) -> int:
        try:
            return int(Machine(token).call("memory_save", content=f"She has {number} cats.").status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(save, range(8))) == [200] * 8
    assert not turns._kept


@override_settings(CALLS_UNDER_WAY=1)
def test_a_call_that_waits_for_a_decision_is_in_the_way_of_no_other(
    token: str, proposal: Proposal, alice: User, api: Machine
) -> None:
    def wait() -> str:
        try:
            answer = answered(Machine(token).get(f"/api/v1/proposals/{proposal.pk}/?wait=15"))
            return str(answer["data"]["status"])
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as thread:
        hears = thread.submit(wait)
        eventually(lambda: waits.waiting() == 1)
        for _ in range(3):
            answered(api.call("list_memory_blocks"))
        services.reject(actor=alice, proposal_id=proposal.pk, revision=1, reason="wrong", comment="No.")
        assert hears.result() == "rejected"


@pytest.mark.usefixtures("hurry")
def test_what_was_refused_leaves_no_row(api: Machine, token: str) -> None:
    from agent_tools.calls import execution

    with under_way(4, token):
        refused(api.call("list_memory_blocks"), 429, "too_many_at_once")
    execution.settle()
    assert not ToolCall.objects.exists()
