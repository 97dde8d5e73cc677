"""Rows of `default` that are read from the last one on: no row becomes visible below one that was read.

PostgreSQL assigns ids when rows are inserted and shows rows when their transactions commit, so a row with a lower id
may become visible later, and a reader who goes on from the highest would never see it. Writers hold a shared lock until
they commit; a reader that gets the lock for itself knows that no lower id is under way. Writers never wait for each
other, and readers never wait: where a writer is at work, they come again. So nothing here can be part of a deadlock.
SQLite has a single writer, which inserts and commits before the next one begins.

The search index reads on from the highest id, too, but its writers may wait for each other: `lock_owner`.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction

from memory_app.models import SearchIndex


def lock_owner(owner: str) -> None:
    """Wait until no other transaction is inserting rows of this owner, of the ledger or of conversations.

    Call it first in the inserting transaction, and `count_write` next.
    """
    lock(owner)


def lock(name: str) -> None:
    """Wait until no other transaction has this name locked, and lock it until this one ends.

    SQLite has a single writer anyway.
    """
    _lock("pg_advisory_xact_lock", name)


def count_write(owner: str, insert: str = "", row: Sequence[Any] = ()) -> None:
    """Count a transaction that inserts rows of this owner in the row of the search index, if there is one: that is
    behind until it has followed (`search.index_state`).

    Args:
        insert: a statement that inserts `row`, made in the same one where the database takes that.
    """
    count = f"UPDATE {SearchIndex._meta.db_table} SET writes = writes + 1 WHERE owner = %s"  # noqa: S608
    with connection.cursor() as cursor:
        if insert and connection.vendor == "postgresql":
            cursor.execute(f"WITH counted AS ({count}) {insert}", [owner, *row])
            return
        cursor.execute(count, [owner])
        if insert:
            cursor.execute(insert, row)


def show_in_order(name: str) -> None:
    """Let the rows that this transaction inserts next be seen in the order of their ids, by readers of `name`.

    Call it in the transaction that inserts them, before it does. A reader holds it up for one query.
    """
    _lock("pg_advisory_xact_lock_shared", name)


def _lock(function: str, name: str) -> bool:
    """Lock this name until the transaction ends, on PostgreSQL. Return whether that succeeded."""
    if connection.vendor != "postgresql":
        return True
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT {function}(hashtextextended(%s, 0))", [name])
        return cursor.fetchone()[0] is not False


@contextmanager
def settled(name: str) -> Iterator[bool]:
    """Whether every row under `name` with an id up to the highest that is visible can be seen, inside this block.

    Where it cannot, read again in a moment. Keep the block short: on PostgreSQL it is a transaction that holds up
    whoever inserts such a row.
    """
    if connection.vendor != "postgresql":
        yield True
        return
    with transaction.atomic():
        yield _lock("pg_try_advisory_xact_lock", name)
