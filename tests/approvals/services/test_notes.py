"""Notes: applied at once where the owner's policy says so, else proposed; people's own at once."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from approvals import services
from approvals.models import Agent, Kind, Mergeability, Policy, Proposal, Status, User
from approvals.recovery.integrity import problems
from approvals.review.presentation import review_of
from approvals.services import notes
from approvals.services.errors import AlreadyUndone, NoChange, NotesChanged, ProposalNotFound
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.search import service
from tests.conftest import eventually
from tests.support.acts import approve, assert_ledger
from tests.support.refusals import refusing


@pytest.fixture
def agent(scribe: Agent) -> ChangeContext:
    """scribe with a token that may write notes."""
    return ChangeContext(actor=scribe, may_apply=True, session_id="monday")


@pytest.fixture
def ask_first() -> None:
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)


def test_a_note_an_agent_saves_is_applied_at_once_and_labelled(alice: User, agent: ChangeContext) -> None:
    before = head_of_main()
    said = {"content": "Likes to be called SG.", "tags": ["name", " name ", ""], "confidence": 7}
    made = notes.save(by=agent, owner="alice", **said)
    assert made.is_applied
    note = reads.note("alice", made.note_id)
    assert (note.content, note.type, note.tags) == ("Likes to be called SG.", "note", ("name",))
    assert (note.confidence, note.source, note.session_id) == (1.0, "agent", "monday")
    assert note.id.startswith("note-")
    assert made.proposal.status == Status.APPLIED
    assert made.commit == head_of_main() != before
    assert_ledger(note.id, kind="note", action="applied", agent="scribe", actor="", proposal_id=made.proposal.pk)
    assert dolt().log(limit=1)[0].author == "scribe"
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


def test_without_the_scope_or_with_the_policy_to_ask_it_waits(alice: User, scribe: Agent, agent: ChangeContext) -> None:
    without_scope = notes.save(by=ChangeContext(actor=scribe), owner="alice", content="One.")
    assert not without_scope.is_applied
    assert without_scope.proposal.review_reason == "scope"
    Policy.objects.create(owner="alice", notes=Policy.Notes.REVIEW)
    waiting = notes.save(by=agent, owner="alice", content="Two.")
    assert not waiting.is_applied
    assert waiting.proposal.status == Status.OPEN
    assert waiting.proposal.review_reason == "policy"
    assert reads.notes("alice") == ()
    with pytest.raises(reads.NoteNotFound):
        reads.note("alice", waiting.note_id)


@pytest.mark.usefixtures("ask_first")
def test_a_waiting_note_is_approved_like_a_block(alice: User, agent: ChangeContext, tim: User) -> None:
    waiting = notes.save(by=agent, owner="alice", content="Wants to study abroad.", type="fact")
    seen = review_of(waiting.proposal, tim)
    assert seen.after_text == "Wants to study abroad."
    assert [field.name for field in seen.notes[0].fields][:1] == ["type"]
    decided = approve(tim, waiting.proposal, comment="Good.")
    assert decided.status == Status.APPROVED
    assert reads.note("alice", waiting.note_id).type == "fact"
    assert_ledger(waiting.note_id, kind="note", actor="tim")
    assert [branch.name for branch in dolt().branches()] == ["main"]
    assert list(problems()) == []


@pytest.mark.usefixtures("ask_first")
def test_a_note_that_changed_meanwhile_is_a_conflict(alice: User, agent: ChangeContext, worker: Any) -> None:
    own = notes.save(by=ChangeContext(actor=alice), owner="alice", content="Has a dog.")
    waiting = notes.update(by=agent, owner="alice", note_id=own.note_id, content="Has two dogs.")
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=own.note_id, content="Has a cat.")
    review = review_of(Proposal.objects.get(pk=waiting.proposal.pk), alice)
    assert review.state == Mergeability.CONFLICT
    assert "approve" not in review.actions
    services.reject(actor=alice, proposal_id=waiting.proposal.pk, revision=1, reason="outdated")


def test_update_keeps_the_id_and_delete_keeps_the_history(alice: User, agent: ChangeContext) -> None:
    id_ = notes.save(by=agent, owner="alice", content="Name is Shantanu.").note_id
    notes.update(by=agent, owner="alice", note_id=id_, content="Prefers SG.")
    assert reads.note("alice", id_).content == "Prefers SG."
    with pytest.raises(NoChange):
        notes.update(by=agent, owner="alice", note_id=id_, content="Prefers SG.")
    notes.delete(by=agent, owner="alice", note_id=id_)
    assert reads.find_note("alice", id_) is None
    ledger = reads.history("alice", "note", id_)
    assert len(ledger) == 3
    assert reads.note_at("alice", id_, ledger[1].commit).content == "Prefers SG."


def test_forgetting_supersedes_and_keeps(alice: User, agent: ChangeContext) -> None:
    old = notes.save(by=agent, owner="alice", content="Lives in Bonn.").note_id
    new = notes.save(by=agent, owner="alice", content="Lives in Berlin.").note_id
    notes.supersede(by=agent, owner="alice", note_id=old, reason="Moved.", replacement_id=new)
    note = reads.note("alice", old)
    assert note.is_superseded
    assert (note.superseded_by, note.superseded_reason) == (new, "Moved.")
    assert [note.id for note in reads.notes("alice", include_superseded=False)] == [new]
    for note_id, replacement, error in (
        (old, None, "note_superseded"),
        (new, "note-unknown", reads.NoteNotFound),
        ("note-unknown", None, reads.NoteNotFound),
    ):
        with refusing(error):
            notes.supersede(by=agent, owner="alice", note_id=note_id, replacement_id=replacement)


def test_a_chain_of_replacements_may_end_in_a_deleted_note(alice: User) -> None:
    by = ChangeContext(actor=alice)
    first, second, third = (notes.save(by=by, owner="alice", content=f"Statement {n}.").note_id for n in range(3))
    notes.supersede(by=by, owner="alice", note_id=second, replacement_id=third)
    notes.delete(by=by, owner="alice", note_id=third)
    notes.supersede(by=by, owner="alice", note_id=first, replacement_id=second)
    assert reads.note("alice", first).superseded_by == second


def test_a_person_supersedes_and_takes_it_back_under_names_of_their_own_in_the_history(alice: User) -> None:
    by = ChangeContext(actor=alice, reasoning="Moved.")
    old = notes.save(by=by, owner="alice", content="Lives in Bonn.").note_id
    loaded = reads.note("alice", old)
    notes.supersede(by=by, owner="alice", note_id=old, reason="Moved.", loaded_sha256=loaded.sha256)
    superseded = reads.note("alice", old)
    notes.reinstate(actor=alice, owner="alice", note_id=old, loaded_sha256=superseded.sha256, comment="I moved back.")
    note = reads.note("alice", old)
    assert (note.superseded_at, note.superseded_by, note.superseded_reason) == (None, None, None)
    assert note.sha256 == loaded.sha256
    ledger = [(change.action, change.actor, change.comment) for change in reads.history("alice", "note", old)]
    assert ledger == [
        ("reinstated", "alice", "I moved back."),
        ("superseded", "alice", "Moved."),
        ("created", "alice", "Moved."),
    ]
    call_command("rebuild_ledger", verbosity=0)
    rebuilt = [(change.action, change.actor, change.comment) for change in reads.history("alice", "note", old)]
    assert rebuilt == ledger
    assert list(problems()) == []


def test_what_a_person_did_not_see_is_neither_changed_nor_superseded_nor_deleted(alice: User) -> None:
    by = ChangeContext(actor=alice)
    id_ = notes.save(by=by, owner="alice", content="Lives in Bonn.").note_id
    loaded = reads.note("alice", id_).sha256
    notes.update(by=by, owner="alice", note_id=id_, content="Lives in Berlin.", loaded_sha256=loaded)
    for change in (
        lambda: notes.update(by=by, owner="alice", note_id=id_, content="Lives in Paris.", loaded_sha256=loaded),
        lambda: notes.supersede(by=by, owner="alice", note_id=id_, loaded_sha256=loaded),
        lambda: notes.reinstate(actor=alice, owner="alice", note_id=id_, loaded_sha256=loaded),
        lambda: notes.delete(by=by, owner="alice", note_id=id_, loaded_sha256=loaded),
    ):
        with pytest.raises(NotesChanged):
            change()
    note = reads.note("alice", id_)
    assert (note.content, note.is_superseded) == ("Lives in Berlin.", False)
    with pytest.raises(NoChange):
        notes.reinstate(actor=alice, owner="alice", note_id=id_, loaded_sha256=note.sha256)


def test_agents_find_a_note_that_holds_again(alice: User, worker: Any) -> None:
    id_ = notes.save(by=ChangeContext(actor=alice), owner="alice", content="Lives in Bonn.").note_id

    def found() -> list[str | None]:
        return [hit.note_id for hit in service.search("alice", "Where in Bonn?", sources=("user_memory",)).results]

    assert eventually(found) == [id_]
    notes.supersede(by=ChangeContext(actor=alice), owner="alice", note_id=id_)
    assert eventually(lambda: not found())
    superseded = reads.note("alice", id_).sha256
    notes.reinstate(actor=alice, owner="alice", note_id=id_, loaded_sha256=superseded)
    assert eventually(found) == [id_]


def test_only_who_may_write_a_memory_says_that_a_note_holds_again(alice: User, tim: User, admin: User) -> None:
    id_ = notes.save(by=ChangeContext(actor=alice), owner="alice", content="Lives in Bonn.").note_id
    notes.supersede(by=ChangeContext(actor=alice), owner="alice", note_id=id_)
    loaded = reads.note("alice", id_).sha256
    with refusing("not_allowed"):
        notes.reinstate(actor=tim, owner="alice", note_id=id_, loaded_sha256=loaded)
    notes.reinstate(actor=admin, owner="alice", note_id=id_, loaded_sha256=loaded)
    assert not reads.note("alice", id_).is_superseded


@pytest.mark.parametrize("who", ["scribe", "alice"])
def test_no_note_is_replaced_by_itself_not_even_in_a_circle(alice: User, scribe: Agent, who: str) -> None:
    by = ChangeContext(actor=alice if who == "alice" else scribe, may_apply=True)
    first, second, third = (notes.save(by=by, owner="alice", content=f"Statement {n}.").note_id for n in range(3))
    notes.supersede(by=by, owner="alice", note_id=first, replacement_id=second)
    notes.supersede(by=by, owner="alice", note_id=second, replacement_id=third)
    for wrong in (third, first, second):
        with refusing("note_invalid") as refused:
            notes.supersede(by=by, owner="alice", note_id=third, replacement_id=wrong)
        assert refused.value.details["field"] == "replacement_id"


def test_what_policy_applied_is_reverted_in_one_step(
    alice: User, tim: User, mallory: User, agent: ChangeContext
) -> None:
    made = notes.save(by=agent, owner="alice", content="Wrong.")
    with pytest.raises(ProposalNotFound):
        services.undo(actor=mallory, proposal_id=made.proposal.pk)
    services.undo(actor=tim, proposal_id=made.proposal.pk)
    assert_ledger(made.note_id, kind="note", action="reverted", actor="tim")
    assert reads.find_note("alice", made.note_id) is None
    with pytest.raises(AlreadyUndone):
        services.undo(actor=tim, proposal_id=made.proposal.pk)
    assert list(problems()) == []


def test_a_later_change_is_not_lost_by_reverting_an_earlier_one(alice: User, agent: ChangeContext) -> None:
    first = notes.save(by=agent, owner="alice", content="One.")
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=first.note_id, content="Two.")
    with refusing("undo_conflict"):
        services.undo(actor=alice, proposal_id=first.proposal.pk)
    assert reads.note("alice", first.note_id).content == "Two."


def test_people_write_their_own_notes_and_nobody_elses(alice: User, tim: User, admin: User) -> None:
    made = notes.save(
        by=ChangeContext(actor=alice, reasoning="For the tutor."), owner="alice", content="I am left-handed."
    )
    assert made.proposal is None
    assert reads.note("alice", made.note_id).source == "user"
    assert_ledger(made.note_id, kind="note", comment="For the tutor.")
    with refusing("not_allowed"):
        notes.save(by=ChangeContext(actor=tim), owner="alice", content="No.")
    notes.save(by=ChangeContext(actor=admin), owner="alice", content="Staff may.")


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"content": "  \n"}, "content"),
        ({"content": "x" * 2001}, "content"),
        ({"content": "x", "type": "gossip"}, "type"),
        ({"content": "x", "tags": ["y" * 65]}, "tags"),
        ({"content": "x", "note_id": "../etc"}, "note_id"),
    ],
)
def test_what_is_not_a_note_is_refused_by_field(
    alice: User, agent: ChangeContext, fields: dict[str, Any], field: str
) -> None:
    with refusing("note_invalid") as refused:
        notes.save(by=agent, owner="alice", **fields)
    assert refused.value.details["field"] == field
    assert not Proposal.objects.exists()


def test_two_owners_may_have_notes_of_one_id(alice: User, ben: User) -> None:
    id_ = "mem-1700000000000-ab3d"
    notes.save(by=ChangeContext(actor=alice), owner="alice", content="Alice's.", note_id=id_)
    notes.save(by=ChangeContext(actor=ben), owner="ben", content="Ben's.", note_id=id_)
    assert reads.note("alice", id_).content == "Alice's."
    assert reads.note("ben", id_).content == "Ben's."
    notes.delete(by=ChangeContext(actor=ben), owner="ben", note_id=id_)
    assert reads.note("alice", id_).content == "Alice's."


@pytest.mark.usefixtures("ask_first")
def test_equal_waiting_notes_are_one_and_the_cap_holds(alice: User, agent: ChangeContext, settings: Any) -> None:
    settings.PENDING_CAP = 2
    first = notes.save(by=agent, owner="alice", content="One.")
    again = notes.save(by=agent, owner="alice", content="One.")
    assert again.proposed
    assert (again.proposed.created, again.note_id) == (False, first.note_id)
    notes.save(by=agent, owner="alice", content="Two.")
    with refusing("too_many_pending"):
        notes.save(by=agent, owner="alice", content="Three.")


def test_the_same_operation_gives_the_same_note(alice: User, scribe: Agent) -> None:
    by = ChangeContext(actor=scribe, may_apply=True, operation="d" * 32)
    first = notes.save(by=by, owner="alice", content="Once.")
    again = notes.save(by=by, owner="alice", content="Once.")
    assert (again.note_id, again.commit) == (first.note_id, first.commit)
    assert len(reads.notes("alice")) == 1


def test_an_application_cut_short_is_finished(alice: User, agent: ChangeContext) -> None:
    made = notes.save(by=agent, owner="alice", content="Kept.")
    Proposal.objects.update(  # as a crash after the commit leaves it
        status=Status.PREPARING, merge_commit="", lease_expires_at=timezone.now() - timedelta(seconds=1)
    )
    services.recover()
    again = Proposal.objects.get()
    assert (again.status, again.merge_commit) == (Status.APPLIED, made.commit)
    assert len(reads.history("alice", "note", made.note_id)) == 1
    assert list(problems()) == []


def test_a_note_that_moved_while_policy_applied_a_change_leaves_nothing_behind(
    alice: User, agent: ChangeContext
) -> None:
    made = notes.save(by=ChangeContext(actor=alice), owner="alice", content="One.")
    before = reads.note("alice", made.note_id)
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=made.note_id, content="Two.")
    late = notes.NoteChange(made.note_id, before, notes.stamped(replace(before, content="Three."), timezone.now()))
    with pytest.raises(NotesChanged):
        notes.change_notes(by=agent, owner="alice", kind=Kind.UPDATE, changes=[late])
    assert reads.note("alice", made.note_id).content == "Two."
    assert not Proposal.objects.exists()
    assert services.recover() == services.RecoveryReport()
