"""The catalogue of an owner's notes: always what the memory says, however it came to be held."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from approvals.services import notes
from approvals.services.imports import import_memories
from approvals.services.notes import By
from memory_app import memories_md, recall
from memory_app.models import Change
from memory_app.recall.catalogue import MANY


def ids(owner: str = "alice") -> list[str]:
    """As listed; the notes themselves say the same."""
    listed = recall.catalogue(owner).entries
    assert [entry.id for entry in listed] == [note.id for note in recall.notes(owner)]
    assert [entry.type for entry in listed] == [note.type for note in recall.notes(owner)]
    assert [entry.is_superseded for entry in listed] == [note.is_superseded for note in recall.notes(owner)]
    return [entry.id for entry in listed]


def save(user: Any, content: str = "Reads on Mondays.", **fields: Any) -> str:
    return notes.save(by=By(actor=user), owner=user.username, content=content, **fields).note_id


def bring(user: Any, count: int, first: int = 0) -> None:
    text = "".join(f"### mem-{number}-aaaa\n> memory {number}\n" for number in range(first, first + count))
    import_memories(by=By(actor=user), owner=user.username, parsed=memories_md.parse(text))


def test_it_follows_what_is_saved_changed_superseded_and_deleted(alice: Any) -> None:
    assert ids() == []
    first, second = save(alice), save(alice, "Bakes bread.", tags=["kitchen"])
    assert ids() == [second, first]
    by = By(actor=alice)
    notes.update(by=by, owner="alice", note_id=first, type="fact", tags=["books"])
    notes.supersede(by=by, owner="alice", note_id=second)
    assert ids() == [second, first]
    held = recall.catalogue("alice")
    assert (held.superseded, held.types, dict(held.tags)) == (
        1,
        frozenset({"note", "fact"}),
        {"books": 1, "kitchen": 1},
    )
    notes.delete(by=by, owner="alice", note_id=second)
    assert ids() == [first]


def test_nothing_is_read_while_nothing_changes(alice: Any, django_assert_num_queries: Any) -> None:
    save(alice)
    held = recall.catalogue("alice")
    with django_assert_num_queries(0, using="memory"):
        assert recall.catalogue("alice") is held


def test_it_takes_more_changes_than_it_follows_one_by_one(alice: Any) -> None:
    bring(alice, 3)
    ids()
    bring(alice, MANY + 1, first=10)
    assert len(ids()) == MANY + 4


def test_a_change_of_a_block_leaves_the_notes(alice: Any, make_block: Any) -> None:
    note = save(alice)
    ids()
    make_block(alice, "goals", "Pass the exam.\n")
    assert ids() == [note]


def test_each_owner_has_their_own(alice: Any, ben: Any) -> None:
    hers, his = save(alice), save(ben)
    assert (ids(), ids("ben")) == ([hers], [his])


def test_a_ledger_made_anew_is_followed(alice: Any) -> None:
    save(alice)
    ids()
    Change.objects.update(at=datetime(2025, 1, 1, tzinfo=UTC))
    rows = list(Change.objects.all())
    Change.objects.all().delete()
    save(alice, "Another.")
    for row in rows:
        row.pk = None
    Change.objects.bulk_create(rows)
    assert len(ids()) == 2
