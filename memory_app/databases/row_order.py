"""Rows of `default` that are read from the last one on: no row becomes visible below one that was read.

PostgreSQL assigns ids when rows are inserted and shows rows when their transactions commit, so a row with a lower id
may become visible later, and a reader who goes on from the highest would never see it. Writers hold a shared lock until
they commit; a reader that gets the lock for itself knows that no lower id is under way. Writers never wait for each
other, and readers never wait: where a writer is at work, they come again. So nothing here can be part of a deadlock.
SQLite has a single writer, which inserts and commits before the next one begins.

Not here: the search index, whose writers may wait for each other (`memory_app.writing.ledger_lock`).
"""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction


def show_in_order(name: str) -> None:
    """Let the rows that this transaction inserts next be seen in the order of their ids, by readers of `name`.

    Call it in the transaction that inserts them, before it does. A reader holds it up for one query.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock_shared(hashtextextended(%s, 0))", [name])


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
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended(%s, 0))", [name])
            (is_settled,) = cursor.fetchone()
        yield bool(is_settled)
