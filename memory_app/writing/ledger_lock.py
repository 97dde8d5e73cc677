"""Keeping the numbers of an owner's rows in the order in which the rows can be seen.

The index follows the ledger and the conversations by the highest id it has taken up. PostgreSQL gives out ids when rows
are inserted and shows them when their transaction ends: an id that appears below that mark would never be looked at.
"""

from __future__ import annotations

from django.db import connection


def lock_owner(owner: str) -> None:
    """Wait until nobody else is inserting rows of this owner; call first in the transaction that inserts them.

    SQLite has one writer anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [owner])
