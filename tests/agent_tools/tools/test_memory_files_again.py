"""Calls on files that come again or too late: after a rejection, a deletion, a change, or before a decision."""

from __future__ import annotations

from typing import Any

import pytest

from approvals import services
from approvals.models import Policy, Proposal, ReviewReason, User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app.reads import Block
from tests.agent_tools.checks import answered, refused
from tests.agent_tools.conftest import Call

TEA = "She drinks green tea before every exam."
NEW, THERE = "/memories/blocks/tea.md", "/memories/blocks/goals.md"
NOTE, NEW_NOTE = "/memories/notes/mem-1-aaaa.md", "/memories/notes/mem-2-bbbb.md"


@pytest.mark.parametrize(
    ("tool", "asked"),
    [
        ("append_to_file", {"path": THERE, "content": f"\n{TEA}"}),
        ("edit_file", {"path": THERE, "old_string": "likes math", "new_string": f"likes math. {TEA}"}),
        ("write_file", {"path": NEW, "content": TEA}),
        ("write_file", {"path": NOTE, "content": TEA}),
        ("append_to_file", {"path": NEW_NOTE, "content": TEA}),
    ],
)
def test_force_asks_again_about_what_was_rejected(
    call: Call, alice: User, tim: User, goals: Block, tool: str, asked: dict[str, Any]
) -> None:
    notes.save(by=ChangeContext(actor=alice), owner="alice", content="She rows.", note_id="mem-1-aaaa")
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    number = answered(call(tool, **asked, reasoning="She said so."))["data"]["proposal_id"]
    services.reject(actor=tim, proposal_id=number, revision=1, reason="wrong", comment="It is coffee.")
    again = asked | {"reasoning": "She corrected herself today."}
    refused(call(tool, **again), 409, "rejected_before")
    forced = answered(call(tool, **again, force=True))["data"]
    proposal = Proposal.objects.get(pk=forced["proposal_id"])
    assert (proposal.answers_id, proposal.review_reason) == (number, ReviewReason.REPEATED)


@pytest.mark.parametrize(("path", "code"), [(NEW, "block_not_found"), (NEW_NOTE, "note_not_found")])
@pytest.mark.parametrize("tool", ["write_file", "append_to_file", "prepend_to_file"])
def test_a_file_of_which_a_sha256_is_given_is_not_made_anew(
    call: Call, alice: User, tool: str, path: str, code: str
) -> None:
    refused(call(tool, path=path, content="x", expected_sha256="0" * 64), 404, code)
    assert not Proposal.objects.exists()


def test_a_changed_block_is_named_by_its_path(call: Call, goals: Block) -> None:
    error = refused(
        call("append_to_file", path=THERE, content="x", expected_sha256="0" * 64), 409, "precondition_failed"
    )
    assert error["text"].splitlines()[0] == f"Error: {THERE} changed since you read it."


def test_a_new_block_that_waits_is_changed_with_the_tool_that_is_named(call: Call, alice: User) -> None:
    number = answered(call("write_file", path=NEW, content="a"))["data"]["proposal_id"]
    error = refused(call("view_file", path=NEW), 404, "block_not_found")
    assert f"call write_file with proposal_id={number}." in error["text"]
    answered(call("write_file", path=NEW, content="b", proposal_id=number))
    assert Proposal.objects.get().current_revision.result_text == "b"
