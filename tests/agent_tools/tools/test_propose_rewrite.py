"""propose_memory_rewrite and propose_memory_edits over HTTP, and what counts as having read a block."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agent_tools.models import BlockRead
from agent_tools.tools import block_reads
from approvals import services
from approvals.models import Agent, Proposal, User
from approvals.services import BlockFields
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine, MachineOf
from tests.support.fixtures import MakeBlock

REWRITE = {"block_label": "goals", "content": "# Goals\n\nShe rows.\n", "reasoning": "Tidied."}
UNREAD = "Warning: you have not read block 'goals'"
CHANGED = "Warning: block 'goals' has changed since you read it"
READ = {"block_label": "goals"}


def warned(call: Call, **more: Any) -> str:
    """The warning about reading of a rewrite that is proposed now, or nothing."""
    Proposal.objects.all().update(status="withdrawn")
    data = answered(call("propose_memory_rewrite", **REWRITE | more))["data"]
    assert data["created"]
    return next((warning for warning in data["warnings"] if "read" in warning), "")


# -- several edits --------------------------------------------------------------------------------


def test_several_edits_are_one_proposal_made_in_order(call: Call, goals: Block) -> None:
    edits = [{"old_string": "likes", "new_string": "loves"}, {"old_str": "loves math", "new_str": "loves maths"}]
    answer = answered(call("propose_memory_edits", block_label="goals", edits=edits, reasoning="r"))
    assert answer["text"].startswith("Edit proposal created for block 'goals'.")
    assert answer["data"]["occurrences_replaced"] == 2
    assert "Alice loves maths." in Proposal.objects.get().current_revision.result_text


def test_of_several_edits_all_are_made_or_none_and_the_failing_one_is_corrected(call: Call, goals: Block) -> None:
    edits = [{"old_string": "likes", "new_string": "loves"}, {"old_string": "B2  exam", "new_string": "C1 exam"}]
    asked = {"block_label": "goals", "edits": edits, "reasoning": "r", "session_id": "s-1"}
    error = refused(call("propose_memory_edits", **asked), 422, "old_string_not_found")
    assert error["details"]["edit"] == 1
    assert "edit 2 of 2; none was made" in error["text"]
    assert not Proposal.objects.exists()
    corrected = error["details"]["corrected_call"]
    assert corrected["edits"] == [edits[0], {"old_string": "B2 exam", "new_string": "C1 exam"}]
    assert corrected["block_label"] == "goals"
    answered(call("propose_memory_edits", **corrected))


# -- rewriting ------------------------------------------------------------------------------------


def test_a_rewrite_becomes_a_proposal_in_the_plans_words(call: Call, goals: Block) -> None:
    answered(call("read_memory_block", **READ))
    answer = answered(call("propose_memory_rewrite", **REWRITE))
    assert answer["text"].splitlines()[0] == (
        "Edit proposal created for block 'goals'. The user will be asked to approve this change. "
        "Reasoning provided: Tidied."
    )
    proposal = Proposal.objects.get()
    assert (proposal.kind, proposal.current_revision.result_text) == ("rewrite", REWRITE["content"])
    assert answer["data"]["warnings"] == []


def test_a_rewrite_unread_is_made_with_a_warning_that_names_the_atomic_tools(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_rewrite", **REWRITE | {"session_id": "s-1"}))
    (warning,) = answer["data"]["warnings"]
    assert warning.startswith(f"{UNREAD} in this session, and this replaces all of its text.")
    for tool in ("edit", "edits", "append", "prepend", "insert"):
        assert f"propose_memory_{tool}" in warning
    assert "propose_section_update" in warning
    assert answer["text"].splitlines()[-1] == warning
    assert Proposal.objects.get().status == "open"


def test_so_is_a_body_proposed_by_address(api: Machine, goals: Block) -> None:
    path = "/api/v1/users/alice/blocks/goals/propose/"
    answer = answered(api.post(path, {"body": "x", "reasoning": "r"}))
    assert answer["data"]["warnings"][0].startswith(f"{UNREAD} in the last 24 hours")


def test_an_empty_block_is_filled_without_a_warning(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "")
    assert warned(call) == ""


def test_a_block_read_in_the_session_is_read(call: Call, goals: Block) -> None:
    answered(call("read_memory_block", **READ, session_id="s-1"))
    assert warned(call, session_id="s-1") == ""
    assert warned(call) == "", "a call that names no session"
    assert warned(call, session_id="s-2").startswith(UNREAD)


def test_a_read_that_named_no_session_counts_for_any(call: Call, goals: Block) -> None:
    answered(call("read_memory_block", **READ))
    assert warned(call, session_id="s-1") == ""


def test_the_context_shows_blocks_whole(api: Machine, call: Call, goals: Block) -> None:
    answered(api.get("/api/v1/users/alice/context/?session_id=s-1"))
    assert warned(call, session_id="s-1") == ""


def test_a_block_with_no_room_in_the_context_is_not_read(api: Machine, call: Call, goals: Block) -> None:
    answered(api.get("/api/v1/users/alice/context/?budget=1"))
    assert warned(call).startswith(UNREAD)


@pytest.mark.parametrize(
    ("read", "is_whole"),
    [
        ({"view_range": [1, 3]}, False),
        ({"view_range": [2, -1]}, False),
        ({"view_range": [1, -1]}, True),
        ({"view_range": [1, 9]}, True),
        ({"max_characters": 100}, False),
        ({"as_of": "now"}, False),
    ],
)
def test_only_the_whole_text_as_it_is_counts(
    call: Call, alice: User, make_block: MakeBlock, read: dict[str, Any], is_whole: bool
) -> None:
    make_block(alice, "goals", "She rows on the Alster.\n" * 9)
    if "as_of" in read:
        read = {"as_of": reads.head()}
    answered(call("read_memory_block", **READ, **read))
    assert (warned(call) == "") == is_whole


def test_a_refused_read_does_not_count(call: Call, goals: Block) -> None:
    refused(call("read_memory_block", block_label="goal"), 404, "block_not_found")
    refused(call("read_memory_block", **READ, view_range=[9, 9]), 400, "invalid_arguments")
    assert warned(call).startswith(UNREAD)


def test_what_another_agent_or_of_another_owner_was_read_does_not_count(
    call: Call, machine: MachineOf, issue: Issue, alice: User, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(ben, "goals", "Ben's.")
    other = Agent.objects.create(name="tutorbot")
    answered(machine(issue(alice, agent=other)).call("read_memory_block", **READ))
    answered(machine(issue(ben)).call("read_memory_block", **READ))
    assert warned(call).startswith(UNREAD)
    answered(machine(issue(alice)).call("read_memory_block", **READ))
    assert warned(call) == "", "another token of the same agent"


def test_a_text_that_changed_since_is_not_the_one_that_was_read(call: Call, goals: Block, alice: User) -> None:
    answered(call("read_memory_block", **READ))
    fields = BlockFields(title=goals.title, description="", body="Another.\n", limit=goals.limit)
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=goals.sha256)
    assert warned(call).startswith(CHANGED)
    answered(call("read_memory_block", **READ))
    assert warned(call) == ""


def test_a_read_counts_for_a_day_and_in_its_session_for_as_long_as_that_lasts(call: Call, goals: Block) -> None:
    answered(call("read_memory_block", **READ))
    answered(call("read_memory_block", **READ, session_id="s-1"))
    block_reads.settle()
    BlockRead.objects.update(at=timezone.now() - timedelta(hours=25))
    assert warned(call).startswith(UNREAD)
    assert warned(call, session_id="s-2").startswith(UNREAD)
    assert warned(call, session_id="s-1") == ""
    assert block_reads.purge() == 0
    BlockRead.objects.update(at=timezone.now() - timedelta(days=31))
    assert block_reads.purge() == 2


def test_reading_again_keeps_one_row_and_nothing_of_text_or_session(call: Call, goals: Block) -> None:
    for _ in range(3):
        answered(call("read_memory_block", **READ, session_id="s-1"))
    block_reads.settle()
    (row,) = BlockRead.objects.all()
    assert (row.owner, row.label) == ("alice", "goals")
    assert "s-1" not in row.session
    assert goals.body_sha256 not in (row.text, row.session)


def test_a_rewrite_leaves_the_block_as_it_is_until_it_is_approved(call: Call, goals: Block) -> None:
    number = answered(call("propose_memory_rewrite", **REWRITE))["data"]["proposal_id"]
    answered(call("propose_memory_rewrite", **REWRITE | {"content": "# Other\n", "proposal_id": number}))
    assert Proposal.objects.get().current_revision.result_text == "# Other\n"
    assert reads.block("alice", "goals").sha256 == goals.sha256
    refused(call("propose_memory_rewrite", **REWRITE | {"content": goals.body}), 422, "no_change")
