"""Listing and reading blocks: the exact texts, as of, ranges, history, paging."""

import pytest

from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Machine
from tests.support.acts import approve, edit
from tests.support.fixtures import MakeBlock, Propose

BLOCKS = "/api/v1/users/alice/blocks/"
HISTORY = f"{BLOCKS}goals/history/"


def test_blocks_are_listed_with_label_and_title(call: Call, alice: User, make_block: MakeBlock) -> None:
    assert answered(call("list_memory_blocks"))["text"] == "No memory blocks exist for this student yet."
    make_block(alice, "goals", "x", title="Learning goals")
    make_block(alice, "study_log", "")
    text = answered(call("list_memory_blocks"))["text"]
    assert text == "Available memory blocks:\n\n- goals: Learning goals\n- study_log: Study Log"
    assert answered(call("read_memory_block", block_label="study_log"))["text"] == "# Study Log\n\n(empty)"


def test_a_block_is_read_as_title_and_body_with_the_agents_own_open_proposals(
    api: Machine, call: Call, goals: Block, propose: Propose
) -> None:
    answer = answered(call("read_memory_block", block_label="goals"))
    assert answer["text"] == f"# Learning goals\n\n{goals.body}"
    data = answer["data"]
    assert (data["sha256"], data["limit"], data["open_proposals"]) == (goals.body_sha256, 20_000, [])
    assert data["commit"] == reads.snapshot("alice", "goals").commit
    proposal = propose(goals, "likes", "loves")
    answer = answered(call("read_memory_block", block_label="goals"))
    (waiting,) = answer["data"]["open_proposals"]
    assert (waiting["proposal_id"], waiting["mergeability"]) == (proposal.pk, "clean")
    assert answered(api.get(f"{BLOCKS}goals/")) == answer, "by address it is the same"


def test_a_missing_block_is_said_without_the_word_error(call: Call, goals: Block) -> None:
    error = refused(call("read_memory_block", block_label="gaols"), 404, "block_not_found")
    assert error["text"] == "Memory block 'gaols' not found."
    assert (error["details"]["available"], error["details"]["nearest"]) == (["goals"], "goals")


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


@pytest.mark.parametrize("view_range", [[0, 1], [3, 2], [9, 10]])
def test_a_range_that_is_none_is_named(call: Call, goals: Block, view_range: list[int]) -> None:
    error = refused(call("read_memory_block", block_label="goals", view_range=view_range), 400, "invalid_arguments")
    assert any(name.startswith("view_range") for name in error["details"]["fields"])


def test_a_block_is_read_as_it_was_at_a_commit(api: Machine, call: Call, alice: User, goals: Block) -> None:
    before = reads.snapshot("alice", "goals").commit
    edit(alice, "goals", "likes", "loves")
    answer = answered(call("read_memory_block", block_label="goals", as_of=before))
    assert (answer["data"]["body"], answer["data"]["commit"]) == (goals.body, before)
    assert answered(api.get(f"{BLOCKS}goals/?as_of={before}")) == answer


@pytest.mark.parametrize("as_of", ["never", "p/1", "1999-01-01", "f" * 40, "main", "of a proposal"])
def test_an_as_of_the_memory_does_not_know_is_refused(call: Call, proposal: Proposal, as_of: str) -> None:
    if as_of == "of a proposal":  # its commit is there, and nobody has approved what it says
        as_of = proposal.current_revision.head_commit
    refused(call("read_memory_block", block_label="goals", as_of=as_of), 404, "revision_not_found")


def test_blocks_come_in_pages(api: Machine, alice: User, make_block: MakeBlock) -> None:
    for label in ("a", "b", "c"):
        make_block(alice, label, label)
    first = answered(api.get(f"{BLOCKS}?limit=2"))["data"]
    assert [item["label"] for item in first["items"]] == ["a", "b"]
    second = answered(api.get(f"{BLOCKS}?limit=2&cursor={first['next']}"))["data"]
    assert ([item["label"] for item in second["items"]], second["next"]) == (["c"], None)
    for cursor in ("abc", "WyJibG9ja19oaXN0b3J5IiwxXQ=="):
        error = refused(api.get(f"{BLOCKS}?cursor={cursor}"), 400, "invalid_arguments")
        assert list(error["details"]["fields"]) == ["cursor"], "it is none of this list"


def test_history_tells_agent_approver_and_reason(api: Machine, tim: User, goals: Block, propose: Propose) -> None:
    proposal = propose(goals, "likes", "loves", reasoning="Alice said she loves it.")
    approve(tim, proposal, comment="Yes.")
    approved, created = answered(api.get(HISTORY))["data"]["items"]
    assert (approved["action"], created["action"]) == ("approved", "created")
    assert (approved["agent"], approved["actor"], approved["proposal_id"]) == ("scribe", "tim", proposal.pk)
    assert approved["reasoning"] == "Alice said she loves it."
    page = answered(api.get(f"{HISTORY}?limit=1"))["data"]
    assert answered(api.get(f"{HISTORY}?cursor={page['next']}"))["data"]["items"] == [created]


def test_hostile_text_comes_out_as_it_went_in(call: Call, alice: User, make_block: MakeBlock) -> None:
    body = "<script>alert(1)</script> zero\u200bwidth \u202ebidi \U0001f9e0 \U000e0041tag"
    make_block(alice, "odd", body)
    assert answered(call("read_memory_block", block_label="odd"))["data"]["body"] == body
