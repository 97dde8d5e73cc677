"""The catalogue of an owner's notes: always what the memory says, however it came to be held."""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest

from approvals.models import User
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.types import Commit
from memory_app.models import Change
from memory_app.reads.catalogue import MANY, catalogue
from memory_app.writing.ledger import MOST_TARGETS
from tests.databases import reset_hard
from tests.support.acts import imported, save
from tests.support.crashing import killed
from tests.support.fixtures import MakeBlock


def ids(owner: str = "alice") -> list[str]:
    """As listed; the notes themselves say the same."""
    listed, read = catalogue(owner).entries, reads.notes(owner)
    assert [(entry.id, entry.type, entry.is_superseded) for entry in listed] == [
        (note.id, note.type, note.is_superseded) for note in read
    ]
    return [entry.id for entry in listed]


def test_it_follows_what_is_saved_changed_superseded_and_deleted(alice: User) -> None:
    assert ids() == []
    first, second = save(alice), save(alice, "Bakes bread.", tags=["kitchen"])
    assert ids() == [second, first]
    by = ChangeContext(actor=alice)
    notes.update(by=by, owner="alice", note_id=first, type="fact", tags=["books"])
    notes.supersede(by=by, owner="alice", note_id=second)
    assert ids() == [second, first]
    held = catalogue("alice")
    assert (held.superseded, held.types) == (1, frozenset({"note", "fact"}))
    assert dict(held.tags) == {"books": 1, "kitchen": 1}
    notes.delete(by=by, owner="alice", note_id=second)
    assert ids() == [first]


def test_nothing_is_read_while_nothing_changes(alice: User, django_assert_num_queries: Any) -> None:
    save(alice)
    held = catalogue("alice")
    with django_assert_num_queries(0), django_assert_num_queries(1, using="memory"):  # where main is
        assert catalogue("alice") is held


def test_it_takes_an_import_which_does_not_name_its_notes(alice: User) -> None:
    imported(alice, 3, "Memory {}")
    ids()
    imported(alice, MOST_TARGETS + 1, "Memory {}", first=10)
    assert len(ids()) == MOST_TARGETS + 4


@pytest.mark.slow
def test_it_takes_more_commits_than_it_follows_one_by_one(alice: User, ben: User) -> None:
    save(alice)
    ids()
    save(alice)
    for _ in range(MANY):
        save(ben)
    assert len(ids()) == 2


@pytest.mark.slow
@pytest.mark.parametrize("others", [0, 1])
def test_a_change_whose_writer_died_before_the_ledger_knew_is_followed(alice: User, ben: User, others: int) -> None:
    old = save(alice)
    ids()
    killed(
        f"""
        from approvals.models import User
        from approvals.services import notes
        from approvals.services.notes import ChangeContext
        from memory_app.writing import commits
        by = ChangeContext(actor=User.objects.get(username="alice"))
        new = notes.save(by=by, owner="alice", content="Sails.").note_id
        commits.record = die
        notes.supersede(by=by, owner="alice", note_id="{old}", replacement_id=new)
        """
    )
    for _ in range(others):
        save(ben)  # whose commit the ledger knows
    assert len(ids()) == 2
    assert catalogue("alice").by_id[old].is_superseded


def test_a_memory_that_was_put_back_is_read_anew(alice: User) -> None:
    first = save(alice)
    before = reads.head("alice")
    save(alice, "Another.")
    assert len(ids()) == 2
    reset_hard(before)
    assert ids() == [first]


def test_what_it_takes_is_counted_in_bytes(alice: User) -> None:
    save(alice, "a" * 2_000)
    ascii = catalogue("alice").nbytes
    save(alice, "\U0001f40b" * 2_000)
    assert catalogue("alice").nbytes - ascii > 8_000


def test_a_change_of_a_block_or_of_another_owner_leaves_the_notes(
    alice: User, ben: User, make_block: MakeBlock
) -> None:
    hers, his = save(alice), save(ben)
    assert (ids(), ids("ben")) == ([hers], [his])
    make_block(alice, "goals", "Pass the exam.\n")
    assert ids() == [hers]


def test_a_ledger_made_anew_is_followed(alice: User) -> None:
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


def test_a_catalogue_that_another_thread_brought_up_is_followed_and_not_read_anew(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At 10,000 notes each reader that crossed a save took 1.2 s."""
    module = sys.modules["memory_app.reads.catalogue"]  # the package has a function of this name
    first = save(alice)
    ids()
    newest, read = module.retrying, module._read
    calls: list[str] = []
    saved: list[str] = []

    def save_and_bring_up_after_the_first_look(look: Callable[[], Commit]) -> Commit:
        seen: Commit = newest(look)
        if not saved:
            saved.append("")
            saved[0] = save(alice, "Another.")
            catalogue("alice")
        return seen

    def count_and_read(owner: str, commit: str) -> Any:
        calls.append(owner)
        return read(owner, commit)

    monkeypatch.setattr(module, "retrying", save_and_bring_up_after_the_first_look)
    monkeypatch.setattr(module, "_read", count_and_read)
    assert first in catalogue("alice").by_id
    assert ids() == [saved[0], first], "the one that crossed must not hide what is newer"
    assert calls == []
