"""A person approves some of a proposal's changes; the others are rejected, or go back to the agent."""

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

from approvals import services
from approvals.models import (
    Agent,
    Approval,
    Event,
    Kind,
    Proposal,
    ProposedNote,
    RejectedFingerprint,
    ReviewReason,
    Status,
    User,
)
from approvals.recovery.integrity import problems
from approvals.services import Rest, imports, merge, notes
from approvals.services.errors import AlreadyDecided, DecisionRefused, NewRevision, ProposalNotFound, TargetChanged
from assent_client.text import memories_md
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.reads import Block
from memory_app.text import worddiff
from memory_app.text.edits import Replace
from tests.support.acts import approve, as_seen, assert_ledger, edit
from tests.support.fixtures import ClientOf, MakeBlock, Propose
from tests.support.pages import words
from tests.support.refusals import refusing

#: Each is a change of its own.
EDITS = [Replace("math", "maths"), Replace("B2 exam", "C1 exam"), Replace("one book", "two books")]


@pytest.fixture
def proposal(goals: Block, tim: User, scribe: Agent) -> Proposal:
    return propose_again(scribe, EDITS).proposal


def wanted(text: str) -> str:
    for each in EDITS:
        text = text.replace(each.old_string, each.new_string)
    return text


def ticks(*numbers: int) -> list[str]:
    """The ids of these changes of the proposal, from 1, as today's text shows them."""
    now = reads.block("alice", "goals").body
    return [hunk.id for hunk in worddiff.hunks(now, wanted(now)) if hunk.number in numbers]


def approve_some(actor: User, proposal: Proposal, accepted: Sequence[str], **more: Any) -> Proposal:
    given = {"rest": Rest.REJECT, "reason": "wrong"} | as_seen(proposal) | more
    return services.approve_some(actor=actor, accepted=accepted, **given)


def propose_again(scribe: Agent, edits: Sequence[Replace], **more: Any) -> services.Proposed:
    said = {"agent": scribe, "owner": "alice", "label": "goals", "kind": Kind.EDIT, "reasoning": "Three."}
    return services.propose(edits=edits, **said | more)


def refused(
    error: str | type[DecisionRefused], actor: User, proposal: Proposal, some: Sequence[str], **more: Any
) -> None:
    before = reads.block("alice", "goals")
    with refusing(error):
        approve_some(actor, proposal, some, **more)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.revisions.count()) == (Status.OPEN, 1)
    assert reads.block("alice", "goals") == before
    assert list(problems()) == []


def test_two_of_three_changes_are_one_commit_in_both_names(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1, 3), comment="Her exam is still the B2.")
    body = reads.block("alice", "goals").body
    assert body == goals.body.replace("math", "maths").replace("one book", "two books")
    assert (decided.status, decided.approval) == (Status.APPROVED, Approval.PART)
    assert (decided.decision_reason, decided.decision_comment) == ("wrong", "Her exam is still the B2.")
    mine = decided.current_revision
    assert (mine.number, mine.origin, mine.made_by, mine.result_text) == (2, "reviewer", tim, body)
    assert decided.revisions.get(number=1).result_text == wanted(goals.body)
    merged = dolt().log(limit=1)[0]
    written = dolt().log(mine.head_commit, limit=1)[0]
    assert [commit.email for commit in (merged, written)] == ["tim@person.assent.invalid"] * 2
    assert f"Agent: {proposal.agent.name}" in merged.message
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", proposal_id=proposal.pk)
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_all_of_them_are_an_approval_as_proposed(tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1, 2, 3))
    assert (decided.approval, decided.current_revision_number) == (Approval.AS_PROPOSED, 1)
    assert decided.decision_reason == ""
    assert list(problems()) == []


def test_the_rest_goes_back_to_the_agent_with_the_reason(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="outdated", comment="Ask her again.")
    assert (decided.status, decided.rest_went_back, decided.decision_reason) == (Status.APPROVED, True, "outdated")
    assert Proposal.objects.get() == decided
    assert decided.revisions.get(number=1).result_text == wanted(goals.body)
    proposed, approved = decided.events.all()
    assert (proposed.what, approved.what, approved.text) == (Event.What.PROPOSED, Event.What.APPROVED, "Ask her again.")
    assert not RejectedFingerprint.objects.exists()
    assert list(problems()) == []


def test_what_went_back_is_proposed_anew_as_its_answer(
    goals: Block, alice: User, scribe: Agent, tim: User, proposal: Proposal, client_of: ClientOf, make_block: MakeBlock
) -> None:
    approve_some(tim, proposal, ticks(1, 2), rest=Rest.AGENT, reason="")
    make_block(alice, "profile", "She has one book.")
    edits, said = [Replace("one book", "three books")], {"proposal_id": proposal.pk, "operation": "a" * 32}
    with refusing("other_target"):
        propose_again(scribe, edits, label="profile", proposal_id=proposal.pk)
    first = propose_again(scribe, edits, **said)
    assert (first.proposal.answers, first.proposal.status, first.amended) == (proposal, Status.OPEN, False)
    assert propose_again(scribe, edits, **said).proposal == first.proposal
    assert Proposal.objects.count() == 2
    client = client_of(tim)
    page = client.get(first.proposal.get_absolute_url())
    assert f"Answers proposal {proposal.pk}, Approved in part by" in words(page)
    # Compared with what was asked for then, not with what was approved of it.
    assert re.search(r"<del\b.*?>two.*<ins\b.*?>three", page.content.decode())
    assert f"Taken up again in proposal {first.proposal.pk}" in words(client.get(proposal.get_absolute_url()))
    approve(tim, first.proposal)
    with pytest.raises(AlreadyDecided):
        propose_again(scribe, [Replace("three books", "four")], proposal_id=first.proposal.pk)


def test_what_was_rejected_of_a_part_is_not_amended(scribe: Agent, tim: User, proposal: Proposal) -> None:
    approve_some(tim, proposal, ticks(1, 2))
    with pytest.raises(AlreadyDecided):
        propose_again(scribe, [Replace("one book", "three books")], proposal_id=proposal.pk)


def test_a_stale_proposal_is_approved_in_part_against_todays_text(
    goals: Block, alice: User, tim: User, proposal: Proposal
) -> None:
    edit(alice, "goals", "in June", "in July")
    approve_some(tim, proposal, ticks(2), rest=Rest.AGENT)
    body = reads.block("alice", "goals").body
    assert "C1 exam in July" in body
    assert "math." in body
    assert list(problems()) == []


def test_undone_nothing_of_what_was_asked_for_is_lost(
    goals: Block, scribe: Agent, tim: User, proposal: Proposal
) -> None:
    part = approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="")
    undone = services.undo(actor=tim, proposal_id=part.pk, comment="The wrong ticks.")
    assert reads.block("alice", "goals").body == goals.body
    assert undone.revisions.get(number=1).result_text == wanted(goals.body)
    assert Proposal.objects.count() == 1
    again = propose_again(scribe, EDITS).proposal
    assert (again.answers, again.review_reason) == (undone, ReviewReason.REPEATED)
    approve(tim, again)
    assert reads.block("alice", "goals").body == wanted(goals.body)
    assert list(problems()) == []


def test_ticks_of_another_text_are_refused(tim: User, proposal: Proposal) -> None:
    refused("nothing_approved", tim, proposal, [*ticks(1), "0" * 12])
    refused("nothing_approved", tim, proposal, [])
    refused(NewRevision, tim, proposal, ticks(1), revision=2)
    refused(TargetChanged, tim, proposal, ticks(1), seen_sha256="0" * 64)


def test_strangers_find_nothing_and_a_decided_proposal_stays_decided(
    tim: User, mallory: User, proposal: Proposal
) -> None:
    some = ticks(1)
    with pytest.raises(ProposalNotFound):
        approve_some(mallory, proposal, some)
    seen = reads.block("alice", "goals").sha256
    services.reject(actor=tim, proposal_id=proposal.pk, revision=1, reason="wrong")
    with pytest.raises(AlreadyDecided):
        approve_some(tim, proposal, some, seen_sha256=seen)


@pytest.mark.parametrize(("rest", "reason"), [(Rest.REJECT, ""), (Rest.AGENT, "because"), (Rest.REJECT, "too_private")])
def test_a_reason_that_no_form_offers_is_refused(tim: User, proposal: Proposal, rest: Rest, reason: str) -> None:
    with pytest.raises(ValueError, match="unknown reason"):
        approve_some(tim, proposal, ticks(1), rest=rest, reason=reason)


def test_a_block_that_changes_just_before_the_merge_undoes_all_of_the_decision(
    goals: Block, alice: User, tim: User, proposal: Proposal, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = merge._write

    def after_somebody_else(*arguments: Any) -> Any:
        edit(alice, "goals", "June", "July")
        return write(*arguments)

    monkeypatch.setattr(merge, "_write", after_somebody_else)
    with pytest.raises(TargetChanged):
        approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, comment="Yes.")
    proposal.refresh_from_db()
    assert (proposal.status, proposal.approval, proposal.decision_comment) == (Status.OPEN, "", "")
    assert proposal.handed_back_at is None
    assert (proposal.current_revision_number, proposal.revisions.count()) == (1, 1)
    assert [event.what for event in proposal.events.all()] == ["proposed", "reopened"]
    assert sorted(branch.name for branch in dolt().branches()) == ["main", f"p/{proposal.pk}"]
    assert list(problems()) == []


# -- imports --------------------------------------------------------------------------------------


@pytest.fixture
def import_(alice: User, tim: User, scribe: Agent) -> Proposal:
    texts = {"mem-1-aaaa": "She sails.", "mem-2-aaaa": "She rows.", "mem-3-aaaa": "She swims."}
    data = memories_md.write(
        memories_md.Memory(id_, "note", text, (), date(2025, 1, 1)) for id_, text in texts.items()
    ).encode()
    by = notes.ChangeContext(actor=scribe, may_apply=False, reasoning="From her old file.")
    imports.import_file(by=by, owner="alice", data=data)
    return Proposal.objects.get(kind=Kind.IMPORT)


def contents() -> set[str]:
    return {note.content for note in reads.notes("alice")}


def test_two_of_three_notes_of_an_import(tim: User, import_: Proposal) -> None:
    decided = approve_some(tim, import_, ["mem-1-aaaa", "mem-3-aaaa"], rest=Rest.AGENT, reason="")
    assert contents() == {"She sails.", "She swims."}
    assert [change["id"] for change in decided.current_revision.note_changes] == ["mem-1-aaaa", "mem-3-aaaa"]
    assert decided.rest_went_back
    assert len(decided.revisions.get(number=1).note_changes) == 3
    assert not ProposedNote.objects.exists()
    assert list(problems()) == []


def test_notes_that_went_back_are_imported_anew_as_its_answer(scribe: Agent, tim: User, import_: Proposal) -> None:
    approve_some(tim, import_, ["mem-1-aaaa", "mem-3-aaaa"], rest=Rest.AGENT, reason="")
    data = memories_md.write([memories_md.Memory("mem-2-aaaa", "note", "She rows daily.", (), date(2025, 1, 1))])
    by = notes.ChangeContext(actor=scribe, reasoning="Daily.", operation="b" * 32, proposal_id=import_.pk)
    made = [imports.import_file(by=by, owner="alice", data=data.encode()).outcome for _ in range(2)]
    assert {outcome.proposal.answers_id for outcome in made if outcome and outcome.proposal} == {import_.pk}
    assert Proposal.objects.count() == 2
    with refusing("other_target"):
        notes.save(by=replace(by, operation=None), owner="alice", content="She rows daily.")


def test_an_import_of_which_a_note_changed_is_approved_without_it(alice: User, tim: User, import_: Proposal) -> None:
    by = notes.ChangeContext(actor=alice)
    notes.save(by=by, owner="alice", content="She rows daily.", note_id="mem-2-aaaa")
    with refusing("nothing_approved", match="ticked notes have changed"):
        approve_some(tim, import_, ["mem-1-aaaa", "mem-2-aaaa"])
    approve_some(tim, import_, ["mem-1-aaaa", "mem-3-aaaa"], rest=Rest.AGENT)
    assert contents() == {"She sails.", "She swims.", "She rows daily."}
    assert list(problems()) == []


def test_a_note_that_is_not_of_the_import_is_refused(tim: User, import_: Proposal) -> None:
    with refusing("nothing_approved"):
        approve_some(tim, import_, ["mem-1-aaaa", "mem-9-zzzz"])
    assert contents() == set()


def test_a_single_change_is_all_of_them(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    (only,) = worddiff.hunks(goals.body, goals.body.replace("math", "maths"))
    assert approve_some(tim, proposal, [only.id]).approval == Approval.AS_PROPOSED
