"""The catalogue of an owner's notes: always what the memory says, however it came to be held."""

import sys
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from approvals.models import User
from approvals.recovery.ledger import rebuild_ledger
from approvals.recovery.recover import recover
from approvals.services import notes
from approvals.services.notes import ChangeContext
from memory_app import reads
from memory_app.dolt.placement import database_of
from memory_app.models import Change, DirectWrite
from memory_app.reads.catalogue import catalogue
from memory_app.text.context_budget import worth
from memory_app.writing.ledger import MOST_TARGETS, LedgerEntry, announce
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
    assert (held.current, held.superseded, held.sources) == (1, 1, {"user"})
    assert (held.tags(), held.tags("fact"), held.tags("note")) == ({"books": 1}, {"books": 1}, {})
    assert held.every_tag == {"books", "kitchen"}
    notes.delete(by=by, owner="alice", note_id=second)
    assert ids() == [first]


def test_nothing_is_read_while_nothing_changes(alice: User, django_assert_num_queries: Any) -> None:
    save(alice)
    held = catalogue("alice")
    with django_assert_num_queries(1), django_assert_num_queries(0, using="memory"):  # her part of the ledger
        assert catalogue("alice") is held


@pytest.fixture
def cost(monkeypatch: pytest.MonkeyPatch) -> Callable[[], tuple[int, int, int]]:
    """Look at alice's list, and return the statements, the notes and the rows of the ledger that were read for it."""
    module = sys.modules["memory_app.reads.catalogue"]  # the package has a function of this name
    entry, look, read = module._entry, module._look, Counter[str]()

    def count_note(row: Any) -> Any:
        read["note"] += 1
        return entry(row)

    def count_ledger(owner: str, since: int) -> Any:
        recorded, pending = look(owner, since)
        read["ledger"] += len(recorded) + len(pending)
        return recorded, pending

    def look_at_the_list() -> tuple[int, int, int]:
        read.clear()
        with CaptureQueriesContext(connection) as default, CaptureQueriesContext(connections["memory"]) as memory:
            catalogue("alice")
        return len(default) + len(memory), read["note"], read["ledger"]

    monkeypatch.setattr(module, "_entry", count_note)
    monkeypatch.setattr(module, "_look", count_ledger)
    return look_at_the_list


@pytest.mark.slow
def test_what_others_change_costs_nothing_however_much(
    alice: User, ben: User, cost: Callable[[], tuple[int, int, int]]
) -> None:
    """Behind a hundred commits of others all 20,000 notes were read again, each time: 0.6 s."""
    imported(alice, 30, "Memory {}")
    cost()
    unchanged = cost()
    for others in (1, 120):
        for _ in range(others):
            save(ben)
        assert cost() == unchanged == (1, 0, 1)
    for own in (1, 7):
        for note_id in ids()[:own]:
            notes.update(by=ChangeContext(actor=alice), owner="alice", note_id=note_id, content=f"{note_id} {own}")
        assert cost() == (2, own, 1 + own)
    assert len(ids()) == 30


def test_it_takes_an_import_which_does_not_name_its_notes(alice: User) -> None:
    imported(alice, 3, "Memory {}")
    ids()
    imported(alice, MOST_TARGETS + 1, "Memory {}", first=10)
    assert len(ids()) == MOST_TARGETS + 4


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
    assert catalogue("alice").find(old).is_superseded


def test_a_memory_that_was_put_back_is_read_anew(alice: User) -> None:
    first = save(alice)
    before = reads.head("alice")
    save(alice, "Another.")
    assert len(ids()) == 2
    reset_hard(before)
    rebuild_ledger(database_of("alice"))
    assert ids() == [first]
    third = save(alice, "A third.")
    assert ids() == [third, first]


@pytest.mark.slow
def test_an_import_whose_writer_died_before_the_ledger_knew_is_followed(alice: User) -> None:
    save(alice)
    ids()
    killed(
        """
        from approvals.models import User
        from memory_app.writing import commits
        from tests.support.acts import imported
        commits.record = die
        imported(User.objects.get(username="alice"), 3, "Memory {}")
        """
    )
    assert len(ids()) == 4
    recover()
    assert len(ids()) == 4
    assert not catalogue("alice").under_way


def test_what_was_announced_and_never_written_is_given_up(
    alice: User, cost: Callable[[], tuple[int, int, int]]
) -> None:
    held = save(alice)
    cost()
    entry = LedgerEntry(
        action=Change.Action.EDITED, owner="alice", targets=(("note", held),), operation="0" * 32, actor="alice"
    )
    announce(entry)
    assert cost() == (2, 1, 2)
    assert catalogue("alice").under_way == {held}
    recover()
    assert catalogue("alice").under_way == {held}, "somebody may still be about to write it"
    DirectWrite.objects.filter(pk=entry.operation).update(at=datetime(2025, 1, 1, tzinfo=UTC))
    recover()
    assert cost() == (1, 0, 1)
    assert not catalogue("alice").under_way


@pytest.mark.slow
def test_rows_of_several_owners_found_uncommitted_are_followed(alice: User, ben: User) -> None:
    hers, his = save(alice), save(ben)
    ids(), ids("ben")
    with connections["memory"].cursor() as cursor:
        cursor.execute("UPDATE memory_app_note SET type = 'fact'")
    recover()
    assert [catalogue(owner).entries[0].type for owner in ("alice", "ben")] == ["fact", "fact"]
    assert (ids(), ids("ben")) == ([hers], [his])


@pytest.mark.slow
def test_what_fits_is_found_in_the_same_order_without_passing_over_the_rest(alice: User) -> None:
    for first, content in (
        (1_000, "{}"),
        (2_000, "Long " * 40 + "{}"),
        (3_000, "彼女は{}"),
        (4_000, "Long " * 60 + "{}"),
    ):
        imported(alice, 300, content, first=first)
    every = catalogue("alice")
    recalled = {entry.id: number % 5 for number, entry in enumerate(every.entries[::7])}
    inorder = list(every.by_worth(recalled))
    assert inorder == sorted(every.entries, key=lambda each: worth(each.id, each.created_at, recalled), reverse=True)
    for limit in (0, 110, 130, 300, 10_000):
        found = list(every.by_worth(recalled, lambda: limit, "json"))  # noqa: B023 (called here)
        assert [each for each in found if each.sizes[1] <= limit] == [
            each for each in inorder if each.sizes[1] <= limit
        ]
        assert len(found) < 1_100 or limit == 10_000


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
    look, read = module._look, module._read
    calls: list[str] = []
    saved: list[str] = []

    def save_and_bring_up_after_the_first_look(owner: str, since: int) -> Any:
        seen = look(owner, since)
        if not saved:
            saved.append("")
            saved[0] = save(alice, "Another.")
            catalogue("alice")
        return seen

    def count_and_read(owner: str) -> Any:
        calls.append(owner)
        return read(owner)

    monkeypatch.setattr(module, "_look", save_and_bring_up_after_the_first_look)
    monkeypatch.setattr(module, "_read", count_and_read)
    assert catalogue("alice").find(first)
    assert ids() == [saved[0], first], "the one that crossed must not hide what is newer"
    assert calls == []
