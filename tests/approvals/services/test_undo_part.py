"""An approval in part is undone: what went back to the agent waits again as the whole, unless it went on since."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from approvals import services
from approvals.models import Agent, Kind, Proposal, ProposedNote, Status, User
from approvals.recovery.integrity import problems
from approvals.review.targets import current_state
from approvals.services import Rest
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Replace
from tests.approvals.services.test_approve_some import EDITS, approve_some, import_, proposal, ticks, wanted
from tests.support.acts import approve, edit

__all__ = ["import_", "proposal"]


@pytest.fixture
def part(goals: Block, tim: User, proposal: Proposal) -> Proposal:
    return approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="")


def rest_of(part: Proposal) -> Proposal:
    return part.answered_by.get()


def test_the_whole_waits_again_and_can_be_decided_otherwise(goals: Block, tim: User, part: Proposal) -> None:
    undone = services.undo(actor=tim, proposal_id=part.pk, comment="The wrong ticks.")
    assert reads.block("alice", "goals").body == goals.body
    whole = rest_of(part)
    assert (whole.status, whole.handed_back_at, whole.current_revision_number) == (Status.OPEN, None, 2)
    assert whole.current_revision.result_text == wanted(goals.body)
    assert whole.current_revision.origin == "agent"
    assert len(worddiff.hunks(goals.body, whole.current_revision.result_text)) == len(EDITS)
    assert (whole.words_added, whole.words_removed) == (part.words_added, part.words_removed)
    assert undone.events.last().data["rest"] == whole.pk
    reopened = whole.events.last()
    assert (reopened.what, reopened.actor, reopened.data["whole_of"]) == ("reopened", "tim", part.pk)
    assert [branch.name for branch in dolt().branches()] == ["main", whole.current_revision.branch]
    assert list(problems()) == []
    approve(tim, whole)
    assert reads.block("alice", "goals").body == wanted(goals.body)
    assert list(problems()) == []


def test_it_waits_against_what_the_text_is_then(goals: Block, alice: User, tim: User, part: Proposal) -> None:
    edit(alice, "goals", "in June", "in July")
    seen = current_state(part, part.current_revision).sha256
    services.undo(actor=tim, proposal_id=part.pk, seen_sha256=seen)
    now = reads.block("alice", "goals").body
    assert now == goals.body.replace("in June", "in July")
    whole = rest_of(part)
    assert whole.status == Status.OPEN
    assert whole.current_revision.base_text == now
    assert whole.current_revision.result_text == wanted(now)
    assert list(problems()) == []


def test_what_its_agent_changed_since_stays(goals: Block, scribe: Agent, tim: User, part: Proposal) -> None:
    rest = rest_of(part)
    services.amend(
        agent=scribe,
        owner="alice",
        proposal_id=rest.pk,
        label="goals",
        edits=[Replace("one book", "three books")],
        kind=Kind.EDIT,
        reasoning="Three then.",
    )
    undone = services.undo(actor=tim, proposal_id=part.pk)
    assert "rest" not in undone.events.last().data
    rest.refresh_from_db()
    assert (rest.status, rest.current_revision_number) == (Status.OPEN, 2)
    assert "three books" in rest.current_revision.result_text
    assert list(problems()) == []


@pytest.mark.parametrize("taken", [True, False], ids=["approved", "rejected"])
def test_what_was_decided_since_stays_decided(goals: Block, tim: User, part: Proposal, *, taken: bool) -> None:
    rest = rest_of(part)
    seen = current_state(rest, rest.current_revision).sha256
    decision: dict[str, Any] = {"actor": tim, "proposal_id": rest.pk, "revision": 1, "is_with_agent": True}
    if taken:
        services.approve(**decision, seen_sha256=seen)
    else:
        services.reject(**decision, reason="wrong")
    services.undo(
        actor=tim, proposal_id=part.pk, seen_sha256=current_state(part, part.current_revision).sha256 if taken else None
    )
    rest.refresh_from_db()
    assert rest.status == (Status.APPROVED if taken else Status.REJECTED)
    assert ("two books" in reads.block("alice", "goals").body) == taken
    assert "maths" not in reads.block("alice", "goals").body
    assert list(problems()) == []


def test_what_was_rejected_with_the_decision_makes_no_proposal(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1, 2))
    services.undo(actor=tim, proposal_id=decided.pk)
    assert reads.block("alice", "goals").body == goals.body
    assert Proposal.objects.count() == 1


def test_all_notes_of_an_import_wait_again(tim: User, import_: Proposal) -> None:
    part = approve_some(tim, import_, ["mem-1-aaaa", "mem-3-aaaa"], rest=Rest.AGENT, reason="")
    services.undo(actor=tim, proposal_id=part.pk)
    assert not reads.notes("alice")
    whole = rest_of(part)
    assert whole.status == Status.OPEN
    assert ids(whole.current_revision.note_changes) == ["mem-1-aaaa", "mem-2-aaaa", "mem-3-aaaa"]
    assert sorted(ProposedNote.objects.filter(proposal=whole).values_list("note_id", flat=True)) == ids(
        whole.current_revision.note_changes
    )
    assert list(problems()) == []
    approve(tim, whole)
    assert len(reads.notes("alice")) == 3


def ids(changes: Sequence[dict[str, Any]]) -> list[str]:
    return [change["id"] for change in changes]
