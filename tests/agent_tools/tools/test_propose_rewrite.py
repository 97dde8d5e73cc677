"""propose_memory_rewrite over HTTP, and what counts as having read a block."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agent_tools.models import BlockRead
from agent_tools.tools import block_reads
from approvals.models import Proposal, User
from memory_app import reads
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call, Issue, Machine
from tests.support.acts import edit
from tests.support.fixtures import MakeBlock

REWRITE = {"block_label": "goals", "content": "# Goals\n\nShe rows.\n", "reasoning": "Tidied."}
UNREAD = "Warning: you have not read block 'goals'"
CHANGED = "Warning: block 'goals' has changed since you read it"


def read(call: Call, **more: Any) -> None:
    answered(call("read_memory_block", block_label="goals", **more))


def warned(call: Call, **more: Any) -> str:
    """The warning about reading of a rewrite that is proposed now, or nothing."""
    Proposal.objects.all().update(status="withdrawn")
    data = answered(call("propose_memory_rewrite", **REWRITE | more))["data"]
    assert data["created"]
    return next((warning for warning in data["warnings"] if "read" in warning), "")


def test_a_rewrite_waits_like_any_other_change(call: Call, goals: Block) -> None:
    number = answered(call("propose_memory_rewrite", **REWRITE))["data"]["proposal_id"]
    answered(call("propose_memory_rewrite", **REWRITE | {"content": "# Other\n", "proposal_id": number}))
    assert Proposal.objects.get().current_revision.result_text == "# Other\n"
    assert reads.block("alice", "goals").sha256 == goals.sha256
    refused(call("propose_memory_rewrite", **REWRITE | {"content": goals.body}), 422, "no_change")


def test_a_rewrite_unread_is_made_with_a_warning_that_names_the_atomic_tools(call: Call, goals: Block) -> None:
    answer = answered(call("propose_memory_rewrite", **REWRITE | {"session_id": "s-1"}))
    (warning,) = answer["data"]["warnings"]
    assert warning.startswith(f"{UNREAD} in this session, and this replaces all of its text.")
    for tool in ("edit", "edits", "append", "prepend", "insert"):
        assert f"propose_memory_{tool}" in warning
    assert "propose_section_update" in warning
    assert answer["text"].splitlines()[-1] == warning
    assert Proposal.objects.get().status == "open"


def test_an_empty_block_is_filled_without_a_warning(call: Call, alice: User, make_block: MakeBlock) -> None:
    make_block(alice, "goals", "")
    assert warned(call) == ""


def test_a_block_read_in_the_session_is_read(call: Call, goals: Block) -> None:
    read(call, session_id="s-1")
    assert warned(call, session_id="s-1") == ""
    assert warned(call) == "", "a call that names no session"
    assert warned(call, session_id="s-2").startswith(UNREAD)
    read(call)
    assert warned(call, session_id="s-2") == "", "a read that named no session counts for any"


def test_the_context_shows_blocks_whole_for_which_it_has_room(api: Machine, call: Call, goals: Block) -> None:
    answered(api.get("/api/v1/users/alice/context/?budget=1"))
    assert warned(call).startswith(UNREAD)
    answered(api.get("/api/v1/users/alice/context/?session_id=s-1"))
    assert warned(call, session_id="s-1") == ""


@pytest.mark.parametrize(
    ("how", "is_whole"),
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
    call: Call, alice: User, make_block: MakeBlock, how: dict[str, Any], is_whole: bool
) -> None:
    make_block(alice, "goals", "She rows on the Alster.\n" * 9)
    refused(call("read_memory_block", block_label="goals", view_range=[99, 99]), 400, "invalid_arguments")
    read(call, **({"as_of": reads.head()} if "as_of" in how else how))
    assert (warned(call) == "") == is_whole


def test_what_another_agent_or_of_another_owner_was_read_does_not_count(
    call: Call, rival: Machine, issue: Issue, alice: User, ben: User, goals: Block, make_block: MakeBlock
) -> None:
    make_block(ben, "goals", "Ben's.")
    read(rival.call)
    read(Machine(issue(ben)).call)
    assert warned(call).startswith(UNREAD)
    read(Machine(issue(alice)).call)
    assert warned(call) == "", "another token of the same agent"


def test_a_text_that_changed_since_is_not_the_one_that_was_read(call: Call, goals: Block, alice: User) -> None:
    read(call)
    edit(alice, "goals", "likes", "loves")
    assert warned(call).startswith(CHANGED)
    read(call)
    assert warned(call) == ""


def test_a_read_counts_for_a_day_and_in_its_session_for_as_long_as_that_lasts(call: Call, goals: Block) -> None:
    read(call)
    read(call, session_id="s-1")
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
        read(call, session_id="s-1")
    block_reads.settle()
    (row,) = BlockRead.objects.all()
    assert (row.owner, row.label) == ("alice", "goals")
    assert "s-1" not in row.session
    assert goals.body_sha256 not in (row.text, row.session)
