"""Several notes are changed in one commit, and put back in one."""

import pytest

from approvals.models import Agent, User
from approvals.recovery.integrity import problems
from approvals.services import notes
from approvals.services.bulk_notes import BulkAction, BulkOutcome, NotABulkChange, change_many, take_back
from approvals.services.errors import NoChange, NotesChanged
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.connections import head_of_main
from memory_app.models import Change
from tests.support.refusals import refusing


@pytest.fixture
def three(alice: User) -> list[str]:
    """Ids of notes with the tags a, b and both."""
    by = ChangeContext(actor=alice)
    made = [("Likes tea.", ["a"]), ("Reads Dune.", ["b"]), ("Rides a bicycle.", ["a", "b"])]
    return [notes.save(by=by, owner="alice", content=text, tags=tags).note_id for text, tags in made]


def seen(ids: list[str]) -> dict[str, str]:
    return reads.note_sha256s("alice", ids)


def change(actor: User, action: BulkAction, ids: list[str], **fields: object) -> BulkOutcome:
    return change_many(actor=actor, owner="alice", action=action, seen=seen(ids), **fields)


def test_several_are_deleted_in_one_commit_and_come_back_in_one(alice: User, three: list[str]) -> None:
    before = reads.find_notes("alice", three)
    done = change(alice, BulkAction.DELETE, three, comment="Old.")
    assert reads.find_notes("alice", three) == {}
    rows = Change.objects.filter(commit=done.outcome.commit)
    assert {(row.action, row.actor, row.comment, row.target) for row in rows} == {
        ("deleted", "alice", "Old.", id_) for id_ in three
    }
    back = take_back(actor=alice, owner="alice", commit=done.outcome.commit)
    assert reads.find_notes("alice", three) == before
    assert {row.action for row in Change.objects.filter(commit=back.outcome.commit)} == {"reverted"}
    assert list(problems()) == []


def test_outdated_ones_keep_the_reason_and_those_that_are_so_already_are_counted(alice: User, three: list[str]) -> None:
    change(alice, BulkAction.OUTDATE, three[:1], comment="First.")
    done = change(alice, BulkAction.OUTDATE, three, comment="She moved.")
    assert (len(done.outcome.changes), done.unchanged) == (2, 1)
    assert [reads.note("alice", id_).superseded_reason for id_ in three] == ["First.", "She moved.", "She moved."]
    with pytest.raises(NoChange):
        change(alice, BulkAction.OUTDATE, three)


def test_tags_are_added_and_removed_and_a_wrong_one_changes_nothing(alice: User, three: list[str]) -> None:
    change(alice, BulkAction.RETAG, three, add_tags=["c", " c ", ""], remove_tags=["a"])
    assert [reads.note("alice", id_).tags for id_ in three] == [("c",), ("b", "c"), ("b", "c")]
    head = head_of_main()
    with refusing("note_invalid"):
        change(alice, BulkAction.RETAG, three, add_tags=["x" * 500])
    assert head_of_main() == head


def test_what_changed_or_is_gone_since_it_was_shown_is_left_out_and_named(alice: User, three: list[str]) -> None:
    shown = seen(three)
    by = ChangeContext(actor=alice)
    notes.update(by=by, owner="alice", note_id=three[0], content="Likes coffee.")
    notes.delete(by=by, owner="alice", note_id=three[1])
    done = change_many(actor=alice, owner="alice", action=BulkAction.DELETE, seen=shown)
    assert set(done.left_out) == set(three[:2])
    assert [change.id for change in done.outcome.changes] == [three[2]]
    assert reads.note("alice", three[0]).content == "Likes coffee."
    with pytest.raises(NotesChanged):
        change_many(actor=alice, owner="alice", action=BulkAction.DELETE, seen=shown)


def test_undoing_leaves_out_what_changed_again_and_is_not_done_twice(alice: User, three: list[str]) -> None:
    done = change(alice, BulkAction.RETAG, three, add_tags=["c"])
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=three[0], content="Likes coffee.")
    back = take_back(actor=alice, owner="alice", commit=done.outcome.commit)
    assert back.left_out == (three[0],)
    assert [reads.note("alice", id_).tags for id_ in three] == [("a", "c"), ("b",), ("a", "b")]
    with pytest.raises(NoChange):
        take_back(actor=alice, owner="alice", commit=done.outcome.commit)
    again = take_back(actor=alice, owner="alice", commit=back.outcome.commit)  # to undo the undoing
    assert len(again.outcome.changes) == 2
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=three[1], content="Reads Emma.")
    notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=three[2], content="Walks.")
    with pytest.raises(NotesChanged):
        take_back(actor=alice, owner="alice", commit=done.outcome.commit)


def test_only_what_its_owner_did_directly_is_put_back_here(
    alice: User, tim: User, scribe: Agent, three: list[str]
) -> None:
    made = notes.save(by=ChangeContext(actor=scribe, may_apply=True), owner="alice", content="Applied by policy.")
    for commit in (made.commit, "0" * 40, "nonsense"):
        with pytest.raises(NotABulkChange):
            take_back(actor=alice, owner="alice", commit=commit)
    done = change(alice, BulkAction.DELETE, three)
    with pytest.raises(NotABulkChange):
        take_back(actor=alice, owner="ben", commit=done.outcome.commit)
    with refusing("not_allowed"):
        take_back(actor=tim, owner="alice", commit=done.outcome.commit)
    with refusing("not_allowed"):
        change_many(actor=tim, owner="alice", action=BulkAction.DELETE, seen=seen([made.note_id]))
