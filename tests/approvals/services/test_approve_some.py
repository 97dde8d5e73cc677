"""A person approves some of a proposal's changes; the others are rejected, or go back to the agent."""

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agent_tools.answers import representations
from approvals import services
from approvals.models import Agent, Approval, Event, Proposal, ProposedNote, RejectedFingerprint, Status, User
from approvals.services import Rest, imports, notes
from memory_app import reads
from memory_app.reads import Block
from memory_app.text import worddiff
from tests.approvals.services.conftest import body
from tests.support.acts import approve, as_seen, assert_ledger, change, edit, proposed_import, save
from tests.support.first import dolt
from tests.support.fixtures import ClientOf, MakeBlock
from tests.support.pages import words
from tests.support.refusals import refusing

#: Each is a change of its own.
EDITS = [("math", "maths"), ("B2 exam", "C1 exam"), ("one book", "two books")]
NOVELS = ("one book", "three books")


@pytest.fixture
def proposal(goals: Block, tim: User, scribe: Agent) -> Proposal:
    return change(scribe, *EDITS)


def wanted(text: str) -> str:
    for old, new in EDITS:
        text = text.replace(old, new)
    return text


def ticks(*numbers: int) -> list[str]:
    """The ids of these changes of the proposal, from 1, as today's text shows them."""
    return [hunk.id for hunk in worddiff.hunks(body(), wanted(body())) if hunk.number in numbers]


def approve_some(actor: User, proposal: Proposal, accepted: Sequence[str], **more: Any) -> Proposal:
    given = {"rest": Rest.REJECT, "reason": "wrong"} | as_seen(proposal) | more
    return services.approve_some(actor=actor, accepted=accepted, **given)


def test_two_of_three_changes_are_one_commit_in_both_names(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1, 3), comment="Her exam is still the B2.")
    assert body() == goals.body.replace("math", "maths").replace("one book", "two books")
    assert (decided.status, decided.approval) == (Status.APPROVED, Approval.PART)
    assert (decided.decision_reason, decided.decision_comment) == ("wrong", "Her exam is still the B2.")
    mine = decided.current_revision
    assert (mine.number, mine.origin, mine.made_by, mine.result_text) == (2, "reviewer", tim, body())
    assert decided.revisions.get(number=1).result_text == wanted(goals.body)
    merged = dolt().log(limit=1)[0]
    written = dolt().log(mine.head_commit, limit=1)[0]
    assert [commit.email for commit in (merged, written)] == ["tim@person.assent.invalid"] * 2
    assert f"Agent: {proposal.agent.name}" in merged.message
    assert_ledger("goals", action="approved", actor="tim", agent="scribe", proposal_id=proposal.pk)


def test_all_of_them_are_an_approval_as_proposed(tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1, 2, 3))
    assert (decided.approval, decided.current_revision_number) == (Approval.AS_PROPOSED, 1)
    assert decided.decision_reason == ""


def test_the_rest_goes_back_to_the_agent_with_the_reason(goals: Block, tim: User, proposal: Proposal) -> None:
    decided = approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="outdated", comment="Ask her again.")
    assert (decided.status, decided.rest_went_back, decided.decision_reason) == (Status.APPROVED, True, "outdated")
    assert Proposal.objects.get() == decided
    assert decided.revisions.get(number=1).result_text == wanted(goals.body)
    proposed, approved = decided.events.all()
    assert (proposed.what, approved.what, approved.text) == (Event.What.PROPOSED, Event.What.APPROVED, "Ask her again.")
    assert not RejectedFingerprint.objects.exists()


def test_what_went_back_is_proposed_anew_as_its_answer(
    alice: User, scribe: Agent, tim: User, proposal: Proposal, client_of: ClientOf, make_block: MakeBlock
) -> None:
    approve_some(tim, proposal, ticks(1, 2), rest=Rest.AGENT, reason="")
    make_block(alice, "profile", "She has one book.")
    with refusing("other_target"):
        change(scribe, NOVELS, label="profile", proposal_id=proposal.pk)
    first, again = (change(scribe, NOVELS, proposal_id=proposal.pk, operation="a" * 32) for _ in range(2))
    assert first == again
    assert (first.answers, first.status, first.current_revision_number) == (proposal, Status.OPEN, 1)
    assert Proposal.objects.count() == 2
    client = client_of(tim)
    page = client.get(first.get_absolute_url())
    assert f"Answers proposal {proposal.pk}, Approved in part by" in words(page)
    # Compared with what was asked for then, not with what was approved of it.
    assert re.search(r"<del\b.*?>two.*<ins\b.*?>three", page.content.decode())
    said = words(client.get(proposal.get_absolute_url()))
    assert f"The rest is proposal {first.pk} (open)" in said
    assert [each for each in ("Same as", "Also proposed", f"#{first.pk}") if each in said] == []
    approve(tim, first)
    with refusing("already_decided"):
        change(scribe, ("three books", "four"), proposal_id=first.pk)


def test_what_was_rejected_of_a_part_is_not_amended(scribe: Agent, tim: User, proposal: Proposal) -> None:
    approve_some(tim, proposal, ticks(1, 2))
    with refusing("already_decided"):
        change(scribe, NOVELS, proposal_id=proposal.pk)


def test_a_stale_proposal_is_approved_in_part_against_todays_text(alice: User, tim: User, proposal: Proposal) -> None:
    edit(alice, "goals", "in June", "in July")
    approve_some(tim, proposal, ticks(2), rest=Rest.AGENT)
    assert ("C1 exam in July" in body(), "math." in body()) == (True, True)


def test_undone_nothing_of_what_was_asked_for_is_lost(
    goals: Block, scribe: Agent, tim: User, proposal: Proposal
) -> None:
    part = approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="")
    undone = services.undo(actor=tim, proposal_id=part.pk, comment="The wrong ticks.")
    assert body() == goals.body
    assert (undone.current_revision.result_text, undone.rest_went_back) == (wanted(goals.body), False)
    assert change(scribe, *EDITS).pk == undone.pk  # it waits
    approve(tim, undone)
    assert body() == wanted(goals.body)


@pytest.mark.parametrize(
    ("rest", "is_taken_up", "becomes"),
    [(EDITS[1:], False, "rejected"), (EDITS[1:], True, "open"), ([EDITS[1], NOVELS], False, "open")],
    ids=["the same", "a person took it up", "other words"],
)
def test_the_rest_that_was_proposed_anew_waits_once_when_the_part_is_undone(
    scribe: Agent, tim: User, proposal: Proposal, rest: list[tuple[str, str]], is_taken_up: bool, becomes: str
) -> None:
    approve_some(tim, proposal, ticks(1), rest=Rest.AGENT, reason="")
    anew = change(scribe, *rest, proposal_id=proposal.pk)
    if is_taken_up:
        services.comment(actor=tim, proposal_id=anew.pk, text="Why now?", operation="c" * 32)
    services.undo(actor=tim, proposal_id=proposal.pk)
    anew.refresh_from_db()
    assert (anew.status, anew.decided_by) == (becomes, None)
    if becomes == "rejected":
        assert "undone: all of it waits there again" in representations.told(anew)
        with refusing("decision_refused", match=f"decide proposal {proposal.pk}"):
            services.undo(actor=tim, proposal_id=anew.pk)


def test_ticks_of_another_text_are_refused(goals: Block, tim: User, proposal: Proposal) -> None:
    for some in ([*ticks(1), "0" * 12], []):
        with refusing("nothing_approved"):
            approve_some(tim, proposal, some)
    proposal.refresh_from_db()
    assert (proposal.status, proposal.revisions.count()) == (Status.OPEN, 1)
    assert reads.block("alice", "goals") == goals


@pytest.mark.parametrize(("rest", "reason"), [(Rest.REJECT, ""), (Rest.AGENT, "because"), (Rest.REJECT, "too_private")])
def test_a_reason_that_no_form_offers_is_refused(tim: User, proposal: Proposal, rest: Rest, reason: str) -> None:
    with pytest.raises(ValueError, match="unknown reason"):
        approve_some(tim, proposal, ticks(1), rest=rest, reason=reason)


# -- imports --------------------------------------------------------------------------------------

ONE, TWO, THREE = IDS = [f"mem-{number}-aaaa" for number in (1, 2, 3)]


@pytest.fixture
def import_(alice: User, tim: User, scribe: Agent) -> Proposal:
    return proposed_import(scribe, 3)


def contents() -> set[str]:
    return {note.content for note in reads.notes("alice")}


def test_two_of_three_notes_of_an_import(tim: User, import_: Proposal) -> None:
    decided = approve_some(tim, import_, [ONE, THREE], rest=Rest.AGENT, reason="")
    assert contents() == {"Memory 1.", "Memory 3."}
    assert [change["id"] for change in decided.current_revision.note_changes] == [ONE, THREE]
    assert decided.rest_went_back
    assert [change["id"] for change in decided.revisions.get(number=1).note_changes] == IDS
    assert not ProposedNote.objects.exists()


def test_notes_that_went_back_are_imported_anew_as_its_answer(scribe: Agent, tim: User, import_: Proposal) -> None:
    approve_some(tim, import_, [ONE, THREE], rest=Rest.AGENT, reason="")
    by = notes.ChangeContext(actor=scribe, reasoning="Daily.", operation="b" * 32, proposal_id=import_.pk)
    data = f"### {TWO}\n> She rows daily.\n".encode()
    made = [imports.import_file(by=by, owner="alice", data=data).outcome for _ in range(2)]
    assert {outcome.proposal.answers_id for outcome in made if outcome and outcome.proposal} == {import_.pk}
    assert Proposal.objects.count() == 2
    with refusing("other_target"):
        notes.save(by=replace(by, operation=None), owner="alice", content="She rows daily.")


def test_an_import_of_which_a_note_changed_is_approved_without_it(alice: User, tim: User, import_: Proposal) -> None:
    save(alice, "She rows daily.", note_id=TWO)
    with refusing("nothing_approved", match="ticked notes have changed"):
        approve_some(tim, import_, [ONE, TWO])
    with refusing("nothing_approved"):  # one that is not of the import
        approve_some(tim, import_, [ONE, "mem-9-zzzz"])
    assert contents() == {"She rows daily."}
    approve_some(tim, import_, [ONE, THREE], rest=Rest.AGENT)
    assert contents() == {"Memory 1.", "Memory 3.", "She rows daily."}
