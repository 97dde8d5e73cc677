"""propose_memory_append, _prepend and _insert over HTTP: nothing is changed, no reading needed, each refusal helps."""

from typing import Any

import pytest

from approvals import services
from approvals.models import Proposal, User
from approvals.review.targets import current_state
from approvals.services import BlockFields
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call
from tests.support.fixtures import MakeBlock

WHY = {"reasoning": "She said so."}
ADDING: dict[str, dict[str, Any]] = {
    "propose_memory_append": {"block_label": "goals", "content": "She rows."} | WHY,
    "propose_memory_prepend": {"block_label": "goals", "content": "She rows."} | WHY,
    "propose_memory_insert": {"block_label": "goals", "insert_line": 3, "content": "She rows."} | WHY,
}


def result() -> str:
    return Proposal.objects.get().current_revision.result_text


@pytest.mark.parametrize("tool", ADDING)
def test_an_addition_becomes_a_proposal_in_the_plans_words(call: Call, goals: Block, tool: str) -> None:
    answer = answered(call(tool, **ADDING[tool]))
    assert answer["text"].splitlines()[0] == (
        "Edit proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: She said so."
    )
    proposal = Proposal.objects.get()
    assert (answer["data"]["proposal_id"], answer["data"]["occurrences_replaced"]) == (proposal.pk, 0)
    assert (answer["data"]["warnings"], proposal.kind) == ([], "edit")
    assert reads.block("alice", "goals").sha256 == goals.sha256


def test_what_is_appended_stands_at_the_end(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_append", **ADDING["propose_memory_append"]))
    assert result() == goals.body + "She rows."
    assert "A line end" not in answer["text"]


def test_what_is_prepended_stands_at_the_start_on_a_line_of_its_own(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_prepend", **ADDING["propose_memory_prepend"]))
    assert result() == "She rows.\n" + goals.body
    assert "A line end was put between content and the block." in answer["text"]


def test_an_item_is_not_glued_to_the_last_line(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "- algebra")
    answer = answered(call("propose_memory_append", block_label="goals", content="- geometry", **WHY))
    assert result() == "- algebra\n- geometry"
    assert "A line end was put between the block's last line and content." in answer["text"].splitlines()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (0, "It goes before the first line."),
        (2, "It goes after line 2, which is empty."),
        (3, "It goes after line 3: Alice likes math."),
        (5, "It goes after line 5: She reads one book a month."),
    ],
)
def test_what_is_inserted_stands_after_the_line_and_the_answer_names_it(
    call: Call, goals: Block, line: int, told: str
) -> None:
    answer = answered(call("propose_memory_insert", **ADDING["propose_memory_insert"] | {"insert_line": line}))
    lines = goals.body.splitlines()
    assert result().splitlines() == [*lines[:line], "She rows.", *lines[line:]]
    assert told in answer["text"].splitlines()


@pytest.mark.parametrize(("tool", "arguments"), ADDING.items())
def test_an_empty_block_is_filled(
    call: Call, alice: User, make_block: MakeBlock, tool: str, arguments: dict[str, Any]
) -> None:
    make_block(alice, "empty", "")
    changed = {"block_label": "empty"} | ({"insert_line": 0} if tool == "propose_memory_insert" else {})
    answered(call(tool, **arguments | changed))
    assert result() == "She rows."


def test_a_line_out_of_range_is_refused_with_the_range_and_a_call_that_works(call: Call, goals: Block) -> None:
    asked = ADDING["propose_memory_insert"] | {"insert_line": 9, "session_id": "s-1"}
    error = refused(call("propose_memory_insert", **asked), 422, "line_out_of_range")
    assert error["text"].splitlines()[:2] == [
        "Error: insert_line 9 is out of range: block 'goals' has 5 lines, so it must be between 0 and 5.",
        "0 puts the content at the start, 5 at the end.",
    ]
    assert (error["details"]["first"], error["details"]["last"]) == (0, 5)
    corrected = error["details"]["corrected_call"]
    assert corrected == asked | {"insert_line": 5}
    answered(call("propose_memory_insert", **corrected))
    below = refused(call("propose_memory_insert", **asked | {"insert_line": -1}), 422, "line_out_of_range")
    assert "corrected_call" not in below["details"]


@pytest.mark.parametrize("tool", ADDING)
def test_what_the_block_has_already_is_warned_about(call: Call, goals: Block, tool: str) -> None:
    answer = answered(call(tool, **ADDING[tool] | {"content": "Alice likes math.\n"}))
    (warning,) = answer["data"]["warnings"]
    assert warning.startswith("Warning: the block has this text already (line 3).")
    assert answer["text"].splitlines()[-1] == warning


@pytest.mark.parametrize("tool", ADDING)
def test_what_others_call_the_content_is_said_to_be_content(call: Call, goals: Block, tool: str) -> None:
    names = ["text", "file_text", "insert_text", "new_str", "body"]
    asked = {name: value for name, value in ADDING[tool].items() if name != "content"} | dict.fromkeys(names, "x")
    fields = refused(call(tool, **asked), 400, "invalid_arguments")["details"]["fields"]
    hint = "is not known here (did you mean content?)"
    assert fields == dict.fromkeys(names, hint) | {"content": "is required"}


@pytest.mark.parametrize("tool", ADDING)
def test_refusals_come_in_the_order_of_the_contract(call: Call, goals: Block, tool: str) -> None:
    error = refused(call(tool, **ADDING[tool] | {"content": ""}), 400, "invalid_arguments")
    assert error["details"]["fields"] == {"content": "must not be empty"}
    asked = ADDING[tool] | {"content": "x\x00", "reasoning": "", "block_label": "nowhere"}
    refused(call(tool, **asked), 400, "forbidden_character")
    refused(call(tool, **asked | {"content": "x"}), 400, "missing_reasoning")
    error = refused(call(tool, **asked | {"content": "x", "reasoning": "r"}), 404, "block_not_found")
    assert error["text"].splitlines()[0] == "Error: Memory block 'nowhere' not found."
    too_long = refused(call(tool, **ADDING[tool] | {"content": "x" * 30_000}), 422, "over_limit")
    assert too_long["details"]["over_by"] == too_long["details"]["used"] - too_long["details"]["limit"]
    assert not Proposal.objects.exists()


def test_approved_and_said_again_it_is_another_proposal_with_a_warning(call: Call, goals: Block, alice: User) -> None:
    tool = "propose_memory_append"
    number = answered(call(tool, **ADDING[tool]))["data"]["proposal_id"]
    proposal = Proposal.objects.get(pk=number)
    seen = current_state(proposal, proposal.current_revision).sha256
    services.approve(actor=alice, proposal_id=number, revision=1, seen_sha256=seen)
    again = answered(call(tool, **ADDING[tool]))["data"]
    assert again["created"]
    assert "(line 6)" in again["warnings"][0]


def test_a_block_that_changed_since_it_was_read_has_other_line_numbers(call: Call, goals: Block, alice: User) -> None:
    answered(call("read_memory_block", block_label="goals", session_id="s-1"))
    fields = BlockFields(title=goals.title, description="", body="New.\n" + goals.body, limit=goals.limit)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=goals.sha256)
    asked = ADDING["propose_memory_insert"] | {"session_id": "s-1"}
    (warning,) = answered(call("propose_memory_insert", **asked))["data"]["warnings"]
    assert warning == "Warning: the block has changed since you read it, so its lines may have other numbers now."
