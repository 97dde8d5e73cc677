"""Taking a decision back: an approval by a new commit, a rejection by opening it again, and what cannot be."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Event, Kind, Mergeability, Policy, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.review.targets import current_state
from approvals.review.undo import plan_undo
from approvals.services import notes
from approvals.services.errors import AlreadyUndone, ChangedSince, DecisionRefused, ProposalNotFound
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.models import Change
from memory_app.reads import Block
from tests.conftest import in_a_thread
from tests.support.acts import approve, assert_ledger, edit
from tests.support.fixtures import Propose
from tests.support.refusals import refusing


def body() -> str:
    return reads.block("alice", "goals").body


def seen(proposal: Proposal) -> str:
    return current_state(proposal, proposal.current_revision).sha256


def reject(person: User, proposal: Proposal, reason: str = "wrong") -> Proposal:
    return services.reject(actor=person, proposal_id=proposal.pk, revision=1, reason=reason, comment="No.")


@pytest.fixture
def approved(goals: Block, tim: User, propose: Propose) -> Proposal:
    return approve(tim, propose(goals, "math", "maths"))


# -- approvals ------------------------------------------------------------------------------------


def test_an_approval_is_undone_by_a_commit_in_the_name_of_who_undoes_it(
    goals: Block, approved: Proposal, tim: User
) -> None:
    undone = services.undo(actor=tim, proposal_id=approved.pk, comment=" The wrong student. ")
    assert reads.block("alice", "goals").sha256 == goals.sha256
    assert (undone.status, undone.reverted_by_commit) == (Status.APPROVED, head_of_main())
    assert_ledger("goals", action="reverted", actor="tim", proposal_id=approved.pk, comment="The wrong student.")
    event = undone.events.last()
    assert (event.what, event.actor, event.text) == ("reverted", "tim", "The wrong student.")
    assert list(problems()) == []


def test_what_a_reviewer_worded_is_undone_like_what_the_agent_proposed(
    goals: Block, alice: User, tim: User, propose: Propose
) -> None:
    """The text before the merge comes back, whichever revision was merged."""
    proposal = propose(goals, "math", "maths")
    edit(alice, "goals", "one book", "two books")  # so that approving makes a revision on today's text
    proposal.refresh_from_db()
    before = body()
    approve(tim, proposal)
    assert Proposal.objects.get().current_revision_number == 2
    services.undo(actor=alice, proposal_id=proposal.pk)
    assert body() == before
    assert list(problems()) == []


def test_later_changes_stay_and_are_shown_first(goals: Block, approved: Proposal, alice: User, tim: User) -> None:
    edit(alice, "goals", "one book", "two books", title="My goals")
    with pytest.raises(ChangedSince):
        services.undo(actor=tim, proposal_id=approved.pk)
    assert "maths" in body()
    plan = plan_undo(approved)
    assert [change.action for change in plan.later] == ["edited"]
    assert not plan.is_exact
    services.undo(actor=tim, proposal_id=approved.pk, seen_sha256=plan.seen_sha256)
    assert body() == goals.body.replace("one book", "two books")
    assert reads.block("alice", "goals").title == "My goals"
    assert list(problems()) == []


def test_what_changed_after_it_was_shown_is_shown_again(goals: Block, approved: Proposal, alice: User) -> None:
    edit(alice, "goals", "one book", "two books")
    shown = seen(approved)
    edit(alice, "goals", "two books", "three books")
    with pytest.raises(ChangedSince):
        services.undo(actor=alice, proposal_id=approved.pk, seen_sha256=shown)
    assert "maths" in body()
    assert not Proposal.objects.get().reverted_by_commit


def test_a_later_change_of_the_same_text_is_named(goals: Block, approved: Proposal, alice: User) -> None:
    edit(alice, "goals", "one book", "two books")
    culprit = edit(alice, "goals", "maths", "music")
    edit(alice, "goals", "B2", "C1")
    with refusing("undo_conflict"):
        services.undo(actor=alice, proposal_id=approved.pk, seen_sha256=seen(approved))
    blocked_by = plan_undo(approved).blocked_by
    assert blocked_by is not None
    assert blocked_by.commit == culprit.commit
    assert "music" in body()


def test_what_was_taken_back_by_hand_is_not_undone(goals: Block, approved: Proposal, alice: User) -> None:
    edit(alice, "goals", "maths", "math")
    edit(alice, "goals", "one book", "two books")
    with refusing("undo_conflict", match="no longer has this change"):
        services.undo(actor=alice, proposal_id=approved.pk, seen_sha256=seen(approved))


def test_a_block_that_is_gone_or_new_is_left(goals: Block, approved: Proposal, alice: User) -> None:
    now = reads.block("alice", "goals")
    services.delete_block(actor=alice, owner="alice", label="goals", loaded_sha256=now.sha256)
    with refusing("undo_conflict"):
        services.undo(actor=alice, proposal_id=approved.pk, seen_sha256="")
    assert reads.find_block("alice", "goals") is None


def test_a_text_that_would_not_fit_is_left(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = approve(tim, propose(goals, "She wants to pass the B2 exam in June.\n", ""))
    now = reads.block("alice", "goals")
    fields = services.BlockFields(title=now.title, description="", body=now.body, limit=len(now.body))
    services.edit_block(actor=alice, owner="alice", label="goals", fields=fields, loaded_sha256=now.sha256)
    with refusing("undo_conflict", match="over its limit"):
        services.undo(actor=alice, proposal_id=proposal.pk, seen_sha256=seen(proposal))


def test_of_many_who_undo_at_once_one_does(goals: Block, approved: Proposal, alice: User, tim: User) -> None:
    outcomes: list[object] = []

    def press(person: User) -> None:
        try:
            outcomes.append(services.undo(actor=person, proposal_id=approved.pk, comment=person.username))
        except (AlreadyUndone, ChangedSince) as error:
            outcomes.append(error)

    for thread in [in_a_thread(partial(press, person)) for person in (alice, tim, alice, tim)]:
        thread.join()
    assert body() == goals.body
    assert Change.objects.filter(action="reverted").count() == 1
    assert Event.objects.filter(what="reverted").count() == 1
    assert len(outcomes) == 4
    assert list(problems()) == []


def test_undone_twice_it_says_so_and_strangers_undo_nothing(
    approved: Proposal, alice: User, tim: User, mallory: User
) -> None:
    with pytest.raises(ProposalNotFound):
        services.undo(actor=mallory, proposal_id=approved.pk)
    services.undo(actor=tim, proposal_id=approved.pk)
    head = head_of_main()
    for person in (alice, tim):
        with pytest.raises(AlreadyUndone):
            services.undo(actor=person, proposal_id=approved.pk)
    assert head_of_main() == head


def test_two_approvals_are_undone_in_either_order(goals: Block, tim: User, propose: Propose) -> None:
    first, second = propose(goals, "math", "maths"), propose(goals, "one book", "two books")
    approve(tim, first)
    second.refresh_from_db()
    approve(tim, second)
    services.undo(actor=tim, proposal_id=first.pk, seen_sha256=seen(first))
    assert body() == goals.body.replace("one book", "two books")
    services.undo(actor=tim, proposal_id=second.pk, seen_sha256=seen(second))
    assert body() == goals.body
    assert list(problems()) == []


# -- notes ----------------------------------------------------------------------------------------


@pytest.fixture
def asks_first(alice: User) -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


@pytest.mark.usefixtures("asks_first")
def test_the_approval_of_a_note_is_undone(alice: User, tim: User, scribe: Agent) -> None:
    made = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="She sails.")
    approve(tim, made.proposal)
    services.undo(actor=tim, proposal_id=made.proposal.pk)
    assert reads.find_note("alice", made.note_id) is None
    assert list(problems()) == []


@pytest.mark.usefixtures("asks_first")
def test_an_approved_import_is_undone_but_for_what_changed_since(alice: User, tim: User, scribe: Agent) -> None:
    by = ChangeContext(actor=alice)
    old = [reads.note("alice", notes.save(by=by, owner="alice", content=f"{n}").note_id) for n in range(4)]
    changes = [
        notes.NoteChange(note.id, note, notes.stamped(replace(note, type="fact"), timezone.now())) for note in old
    ]
    outcome = notes.change_notes(by=ChangeContext(actor=scribe), owner="alice", kind=Kind.IMPORT, changes=changes)
    approved = approve(tim, outcome.proposal)
    notes.update(by=by, owner="alice", note_id=old[2].id, content="Alice changed it.")
    with pytest.raises(ChangedSince):
        services.undo(actor=tim, proposal_id=approved.pk)
    plan = plan_undo(approved)
    assert plan.left == (old[2].id,)
    services.undo(actor=tim, proposal_id=approved.pk, seen_sha256=plan.seen_sha256)
    now = [reads.note("alice", note.id) for note in old]
    assert [note.type for note in now] == ["note", "note", "fact", "note"]
    assert now[2].content == "Alice changed it."
    assert list(problems()) == []


# -- rejections -----------------------------------------------------------------------------------


def test_a_rejection_is_opened_again_and_can_be_approved(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    reject(tim, proposal)
    opened = services.undo(actor=tim, proposal_id=proposal.pk, comment="Too quick.")
    assert (opened.status, opened.decided_by, opened.decision_reason) == (Status.OPEN, None, "")
    assert (opened.decision_comment, opened.decided_at) == ("", None)
    assert opened.expires_at > timezone.now() + timedelta(days=1)
    assert [branch.name for branch in dolt().branches()] == ["main", opened.current_revision.branch]
    event = opened.events.last()
    assert (event.what, event.actor, event.text) == ("reopened", "tim", "Too quick.")
    assert event.data == {"decided": "rejected", "reason": "wrong"}
    assert list(problems()) == []
    approve(tim, opened)
    assert "maths" in body()
    assert list(problems()) == []


def test_it_is_opened_as_it_stands_to_the_block_now(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposals = [propose(goals, "math", "maths"), propose(goals, "one book", "two books")]
    for proposal in proposals:
        reject(tim, proposal)
    edit(alice, "goals", "likes math", "hates math")
    edit(alice, "goals", "one book", "no book")
    states = [services.undo(actor=tim, proposal_id=proposal.pk).mergeability for proposal in proposals]
    assert states == [Mergeability.REBASABLE, Mergeability.CONFLICT]


def test_what_expired_is_opened_again(goals: Block, alice: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    services.expire(now=timezone.now() + timedelta(days=10_000))
    assert services.undo(actor=alice, proposal_id=proposal.pk).status == Status.OPEN


@pytest.mark.usefixtures("asks_first")
def test_a_rejected_import_waits_again_note_by_note(alice: User, tim: User, scribe: Agent) -> None:
    by = ChangeContext(actor=alice)
    old = [reads.note("alice", notes.save(by=by, owner="alice", content=f"{n}").note_id) for n in range(2)]
    changes = [notes.NoteChange(note.id, note, None) for note in old]
    outcome = notes.change_notes(by=ChangeContext(actor=scribe), owner="alice", kind=Kind.IMPORT, changes=changes)
    reject(tim, outcome.proposal)
    services.undo(actor=tim, proposal_id=outcome.proposal.pk)
    assert {row.note_id for row in outcome.proposal.proposed_notes.all()} == {note.id for note in old}
    assert list(problems()) == []


def test_removed_texts_do_not_come_back(goals: Block, tim: User, propose: Propose) -> None:
    proposal = reject(tim, propose(goals, "math", "maths"), "too_private")
    with pytest.raises(DecisionRefused, match="removed for good"):
        services.undo(actor=tim, proposal_id=proposal.pk)
    assert Proposal.objects.get().status == Status.REJECTED


def test_what_its_agent_withdrew_stays_withdrawn(goals: Block, tim: User, scribe: Agent, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    services.withdraw(agent=scribe, proposal_id=proposal.pk)
    with pytest.raises(DecisionRefused, match="scribe withdrew this"):
        services.undo(actor=tim, proposal_id=proposal.pk)


def test_what_was_proposed_again_is_not_opened_beside_it(goals: Block, tim: User, propose: Propose) -> None:
    first = reject(tim, propose(goals, "math", "maths"))
    second = propose(goals, "math", "maths", reasoning="She asked for it again.", force=True)
    with pytest.raises(DecisionRefused, match=f"decide proposal {second.pk}"):
        services.undo(actor=tim, proposal_id=first.pk)
    first.refresh_from_db()
    assert first.status == Status.REJECTED


def test_what_answers_a_rejection_stands_in_its_way(goals: Block, tim: User, propose: Propose) -> None:
    first = reject(tim, propose(goals, "math", "maths"))
    second = propose(goals, "math", "mathematics")
    Proposal.objects.filter(pk=second.pk).update(answers=first)
    with pytest.raises(DecisionRefused, match=f"decide proposal {second.pk}"):
        services.undo(actor=tim, proposal_id=first.pk)


def test_nothing_is_undone_that_is_not_decided(goals: Block, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")
    with pytest.raises(DecisionRefused, match="not decided yet"):
        services.undo(actor=tim, proposal_id=proposal.pk)


def test_opened_by_several_at_once_it_is_opened_once(goals: Block, alice: User, tim: User, propose: Propose) -> None:
    proposal = propose(goals, "math", "maths")

    def press(person: User) -> None:
        with suppress(AlreadyUndone):
            services.undo(actor=person, proposal_id=proposal.pk)

    for times in range(1, 11):
        reject(tim, proposal)
        for thread in [in_a_thread(partial(press, person)) for person in (alice, tim, alice, tim)]:
            thread.join()
        assert Event.objects.filter(what="reopened").count() == times
        proposal.refresh_from_db()
        assert proposal.status == Status.OPEN
        assert proposal.lease_expires_at is None
        assert list(problems()) == []
