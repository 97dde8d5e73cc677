"""Listing and reading blocks: the exact texts, as of, ranges, history, paging."""

from typing import Any

import pytest

from approvals import services
from approvals.models import User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import MakeBlock, Propose


@pytest.mark.slow
def test_no_blocks_is_said_in_the_plans_words(call: Call) -> None:
    assert answered(call("list_memory_blocks"))["text"] == "No memory blocks exist for this student yet."


def test_blocks_are_listed_with_label_and_title(call: Call, alice: User, goals: Block, make_block: MakeBlock) -> None:
    make_block(alice, "study_log", "x")
    text = answered(call("list_memory_blocks"))["text"]
    assert text == "Available memory blocks:\n\n- goals: Learning goals\n- study_log: Study Log"


def test_a_block_is_read_as_title_and_body(call: Call, goals: Block) -> None:
    answer = answered(call("read_memory_block", block_label="goals"))
    assert answer["text"] == f"# Learning goals\n\n{goals.body}"
    data = answer["data"]
    assert data["sha256"] == goals.body_sha256
    assert data["limit"] == 20_000
    assert data["commit"] == reads.snapshot("alice", "goals").commit
    assert data["open_proposals"] == []


def test_an_empty_block_reads_as_empty(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "study_log", "")
    assert answered(call("read_memory_block", block_label="study_log"))["text"] == "# Study Log\n\n(empty)"


def test_a_missing_block_is_said_without_the_word_error(call: Call, goals: Block) -> None:
    error = refused(call("read_memory_block", block_label="gaols"), 404, "block_not_found")
    assert error["text"] == "Memory block 'gaols' not found."
    assert error["details"]["available"] == ["goals"]
    assert error["details"]["nearest"] == "goals"


def test_the_agents_own_open_proposals_come_along(call: Call, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes", "loves")
    waiting = answered(call("read_memory_block", block_label="goals"))["data"]["open_proposals"]
    assert [entry["proposal_id"] for entry in waiting] == [proposal.pk]
    assert waiting[0]["mergeability"] == "clean"


@pytest.mark.parametrize(
    ("view_range", "shown"),
    [
        ([1, 1], "# Goals"),
        ([3, 4], "Alice likes math.\nShe wants to pass the B2 exam in June."),
        ([5, -1], "She reads one book a month."),
        ([5, 99], "She reads one book a month."),
    ],
)
def test_a_range_of_lines_is_read_without_numbers(call: Call, goals: Block, view_range: list[int], shown: str) -> None:
    answer = answered(call("read_memory_block", block_label="goals", view_range=view_range))
    assert answer["text"] == f"# Learning goals\n\n{shown}"
    assert answer["data"]["lines"] == 5


@pytest.mark.parametrize("view_range", [[0, 1], [3, 2], [9, 10], [1], [1, 2, 3], ["1", "2"], "1-2"])
def test_a_range_that_is_none_is_named(call: Call, goals: Block, view_range: Any) -> None:
    error = refused(call("read_memory_block", block_label="goals", view_range=view_range), 400, "invalid_arguments")
    assert any(name.startswith("view_range") for name in error["details"]["fields"])


def test_a_block_is_read_as_it_was_at_a_commit(call: Call, alice: User, goals: Block) -> None:
    before = reads.snapshot("alice", "goals").commit
    fields = services.BlockFields(title="", description="", body="Nothing left.", limit=20_000, read_only=False)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=goals.sha256)
    answer = answered(call("read_memory_block", block_label="goals", as_of=before))
    assert answer["data"]["body"] == goals.body
    assert answer["data"]["commit"] == before


@pytest.mark.parametrize("as_of", ["never", "p/1", "1999-01-01", "f" * 40, "main"])
def test_an_as_of_the_memory_does_not_know_is_refused(call: Call, goals: Block, as_of: str) -> None:
    refused(call("read_memory_block", block_label="goals", as_of=as_of), 404, "revision_not_found")


def test_the_text_of_an_open_proposal_cannot_be_read_by_its_commit(call: Call, goals: Block, propose: Propose) -> None:
    head = propose(goals, "likes", "loves").current_revision.head_commit
    refused(call("read_memory_block", block_label="goals", as_of=head), 404, "revision_not_found")


def test_addresses_read_the_same_as_tools(api: Machine, call: Call, goals: Block) -> None:
    by_address = answered(api.get("/api/v1/users/alice/blocks/goals/"))
    assert by_address == answered(call("read_memory_block", block_label="goals"))
    commit = by_address["data"]["commit"]
    assert answered(api.get(f"/api/v1/users/alice/blocks/goals/?as_of={commit}"))["data"]["as_of"] == commit


def test_blocks_come_in_pages(api: Machine, alice: User, make_block: MakeBlock) -> None:
    for label in ("a", "b", "c"):
        make_block(alice, label, label)
    first = answered(api.get("/api/v1/users/alice/blocks/?limit=2"))["data"]
    assert [item["label"] for item in first["items"]] == ["a", "b"]
    second = answered(api.get(f"/api/v1/users/alice/blocks/?limit=2&cursor={first['next']}"))["data"]
    assert [item["label"] for item in second["items"]] == ["c"]
    assert second["next"] is None


@pytest.mark.parametrize("cursor", ["abc", "WyJibG9ja19oaXN0b3J5IiwxXQ=="])
def test_a_cursor_that_is_none_of_this_list_is_named(api: Machine, cursor: str) -> None:
    error = refused(api.get(f"/api/v1/users/alice/blocks/?cursor={cursor}"), 400, "invalid_arguments")
    assert list(error["details"]["fields"]) == ["cursor"]


def test_history_tells_agent_approver_and_reason(api: Machine, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes", "loves", reasoning="Alice said she loves it.")
    services.approve(actor=tim, proposal_id=proposal.pk, revision=1, seen_sha256=goals.sha256, comment="Yes.")
    items = answered(api.get("/api/v1/users/alice/blocks/goals/history/"))["data"]["items"]
    assert [item["action"] for item in items] == ["approved", "created"]
    assert (items[0]["agent"], items[0]["actor"], items[0]["proposal_id"]) == ("scribe", "tim", proposal.pk)
    assert items[0]["reasoning"] == "Alice said she loves it."
    page = answered(api.get("/api/v1/users/alice/blocks/goals/history/?limit=1"))["data"]
    rest = answered(api.get(f"/api/v1/users/alice/blocks/goals/history/?cursor={page['next']}"))["data"]
    assert [item["action"] for item in rest["items"]] == ["created"]


def test_history_of_a_deleted_block_is_for_tokens_that_may_read_it(
    api: Machine, machine: MachineOf, issue: Issue, alice: User, goals: Block
) -> None:
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=goals.sha256)
    historian = machine(issue(alice, scopes=["memory:read", "memory:history"]))
    items = answered(historian.get("/api/v1/users/alice/blocks/goals/history/"))["data"]["items"]
    assert [item["action"] for item in items] == ["deleted", "created"]
    for label in ("goals", "nothing"):
        refused(api.get(f"/api/v1/users/alice/blocks/{label}/history/"), 404, "block_not_found")


def test_hostile_text_comes_out_as_it_went_in(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "<script>alert(1)</script> zero\u200bwidth \u202ebidi \U0001f9e0 \U000e0041tag"
    make_block(alice, "odd", body)
    assert answered(call("read_memory_block", block_label="odd"))["data"]["body"] == body
