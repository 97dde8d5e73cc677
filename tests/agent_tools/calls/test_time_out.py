"""A call that takes too long is answered 504 in time, and what it had begun is neither lost nor done twice."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.test import override_settings

from agent_tools.calls import execution
from agent_tools.models import AgentToken, ToolCall
from approvals.models import Proposal, Status, User
from approvals.recovery.integrity import problems
from memory_app import reads
from memory_app.dolt.operations import DoltOperations
from memory_app.models import NoteAccess, SearchIndex
from memory_app.reads import Block
from memory_app.search import index_state, store
from tests import environment
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.conftest import eventually
from tests.support.crashing import let_leases_run_out
from tests.support.holding import frozen, held_row, held_table, memory_is_stuck

pytestmark = pytest.mark.slow

EDIT = {"block_label": "goals", "old_string": "likes math", "new_string": "loves math", "reasoning": "She said so."}


def a_second() -> override_settings:
    """Every tool has a second. Calls that nothing is in the way of have more: on a busy machine one took longer."""
    return override_settings(TOOL_TIMEOUT=1)


@contextmanager
def in_time() -> Iterator[None]:
    began = time.monotonic()
    with a_second():
        yield
    assert 0.9 <= time.monotonic() - began < 4


def test_a_note_that_took_too_long_is_found_by_its_key(call: Call, alice: User) -> None:
    before = reads.head("alice")
    with memory_is_stuck(), in_time():
        response = call("memory_save", content="She sails.", idempotency_key="k")
    error = refused(response, 504, "timeout")
    assert error["text"].splitlines() == [
        "Error saving note: it took longer than 1 second and was stopped; it may have happened all the same.",
        "Call again with the same arguments and the same idempotency key (k): what was begun is finished and "
        "answered, and nothing happens twice.",
    ]
    assert error["details"] == {"timeout": 1, "retry_after": 5, "may_have_happened": True, "idempotency_key": "k"}
    assert response["Retry-After"] == "5"
    assert reads.head("alice") == before
    execution.settle()
    row = ToolCall.objects.get()
    assert (row.tool, row.outcome, row.status, row.owner) == ("memory_save", "timeout", 504, "alice")
    assert row.duration_ms >= 900

    data = answered(call("memory_save", content="She sails.", idempotency_key="k"))["data"]
    assert [note.id for note in reads.notes("alice")] == [data["note_id"]]
    assert call("memory_save", content="She sails.", idempotency_key="k")["Idempotency-Replayed"] == "true"
    assert list(problems()) == []


def test_without_a_key_the_agent_is_told_to_look_first(call: Call, alice: User) -> None:
    from approvals import services

    with memory_is_stuck(), in_time():
        error = refused(call("memory_save", content="She sails."), 504, "timeout")
    assert "Look first (list_proposals; for notes also memory_search)" in error["text"]
    assert error["details"]["idempotency_key"] is None
    # Whoever reads next finishes it. A server that hangs is met before anything is begun.
    begun = ["applied"] if environment.is_embedded() else []
    assert [item["status"] for item in answered(call("list_proposals"))["data"]["items"]] == begun
    let_leases_run_out()
    services.recover()
    assert [note.content for note in reads.notes("alice")] == ["She sails."] * len(begun)
    assert list(problems()) == []


@pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_server_that_hangs_while_committing_leaves_it_to_the_next_call(
    call: Call, alice: User, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    commit = DoltOperations.commit
    with frozen("memory", at_once=False) as freeze:

        def hanging(self: DoltOperations, *rest: Any) -> str:
            if when == "before":
                freeze()
                return commit(self, *rest)
            made = commit(self, *rest)
            freeze()
            return made

        monkeypatch.setattr(DoltOperations, "commit", hanging)
        with in_time():
            refused(call("memory_save", content="She sails.", idempotency_key="k"), 504, "timeout")
    monkeypatch.undo()
    data = answered(call("memory_save", content="She sails.", idempotency_key="k"))["data"]
    assert [note.id for note in reads.notes("alice")] == [data["note_id"]]
    assert [row.action for row in reads.history("alice", "note", data["note_id"])] == ["applied"]
    assert list(problems()) == []


@pytest.mark.parametrize("key", [{"idempotency_key": "k"}, {}])
def test_proposing_again_finds_what_was_begun(call: Call, goals: Block, key: dict[str, str]) -> None:
    with memory_is_stuck(), in_time():
        refused(call("propose_memory_edit", **EDIT, **key), 504, "timeout")
    again = answered(call("propose_memory_edit", **EDIT, **key))["data"]
    assert Proposal.objects.get(status=Status.OPEN).pk == again["proposal_id"]
    assert not key or Proposal.objects.count() == 1
    assert list(problems()) == []


def test_what_never_began_leaves_nothing(call: Call, goals: Block) -> None:
    call("list_memory_blocks")  # notes that the token was used
    with held_table(Proposal), in_time():
        refused(call("propose_memory_edit", **EDIT, idempotency_key="k"), 504, "timeout")
    assert not Proposal.objects.exists()
    assert answered(call("propose_memory_edit", **EDIT, idempotency_key="k"))["data"]["created"] is True
    assert list(problems()) == []


def test_a_read_is_told_to_try_again(call: Call, alice: User) -> None:
    call("memory_save", content="She sails.")
    answered(call("recall"))
    with held_row(NoteAccess, owner="alice"), in_time():
        response = call("recall", query="sails", match="text")
    error = refused(response, 504, "timeout")
    assert error["text"] == (
        "Error recalling: it took longer than 1 second and was stopped. Try again, or ask for less at once."
    )
    assert error["details"] == {"timeout": 1, "retry_after": 5}
    assert answered(call("recall", query="sails", match="text"))["data"]["count"] == 1


@pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server")
def test_a_server_that_hangs_is_not_waited_for(call: Call, goals: Block) -> None:
    for tool, arguments in (
        ("read_memory_block", {"block_label": "goals"}),
        ("memory_search", {"query": "math", "as_of": "2026-01-01"}),
    ):
        with frozen("memory"), in_time():
            refused(call(tool, **arguments), 504, "timeout")
    answered(call("read_memory_block", block_label="goals"))


@pytest.mark.skipif(environment.is_embedded(), reason="the embedded engine is no server")
def test_without_its_books_a_call_ends_all_the_same(call: Call, goals: Block) -> None:
    with frozen("default"), a_second():
        began = time.monotonic()
        refused(call("list_memory_blocks"), 503, "engine_unavailable")
        assert time.monotonic() - began < 10
    answered(call("list_memory_blocks"))


def test_a_token_in_use_elsewhere_does_not_keep_a_read_waiting(call: Call, goals: Block) -> None:
    token = AgentToken.objects.get()
    with held_row(AgentToken, prefix=token.prefix), override_settings(TOOL_TIMEOUT=0):
        answered(call("list_memory_blocks"))


def test_the_time_is_part_of_the_definition(api: Machine) -> None:
    def timeouts() -> dict[str, float]:
        return {tool["name"]: tool["timeout"] for tool in answered(api.get("/api/v1/tools/"))["data"]["tools"]}

    with a_second():
        assert set(timeouts().values()) == {1}
    with override_settings(TOOL_TIMEOUT=0):
        assert (timeouts()["memory_search"], timeouts()["memory_save"]) == (15, 10)
    with override_settings(TOOL_TIMEOUT=12):
        assert (timeouts()["memory_search"], timeouts()["memory_save"]) == (12, 10)


# -- indexing -------------------------------------------------------------------------------------

by_the_call = pytest.mark.skipif(not environment.is_embedded(), reason="there a worker indexes, after the call")


@pytest.fixture
def slowly(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Vectors take a second and a half, as from a service far away."""
    made = store.vectors_of

    def slow(*asked: Any) -> Any:
        time.sleep(1.5)
        return made(*asked)

    monkeypatch.setattr(store, "vectors_of", slow)
    return monkeypatch


@by_the_call
def test_a_save_that_is_done_says_so_although_its_indexing_took_too_long(call: Call, slowly: Any) -> None:
    SearchIndex.objects.create(owner="alice", version=1, change_id=0)
    with override_settings(TOOL_TIMEOUT=1):
        saved = answered(call("memory_save", content="She sails far."))
    assert saved["data"]["status"] == "applied"
    assert SearchIndex.objects.get().busy_until is None, "nobody else could index for a minute"
    slowly.undo()
    found = answered(call("memory_search", query="sails"))["data"]
    assert [hit["text"] for hit in found["results"]] == ["She sails far."]
    assert not found["index_behind"]


@by_the_call
def test_a_first_index_that_takes_longer_than_a_call_is_made_all_the_same(call: Call, slowly: Any) -> None:
    answered(call("memory_save", content="She sails far."))
    with override_settings(TOOL_TIMEOUT=1):
        assert call("memory_search", query="sails").status_code == 504
    eventually(lambda: not index_state.is_behind("alice"), seconds=20)
    found = answered(call("memory_search", query="sails"))["data"]
    assert [hit["text"] for hit in found["results"]] == ["She sails far."]
