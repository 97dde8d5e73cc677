"""A lock per owner that makes rows visible in the order of their ids.

The search index reads the ledger and the conversations from the highest id it has indexed. PostgreSQL assigns ids at
insertion and shows rows at commit: a lower id that becomes visible later would never be indexed.
"""

from django.db import connection


def lock_owner(owner: str) -> None:
    """Wait until no other transaction is inserting rows of this owner; call first in the inserting transaction.

    SQLite has a single writer anyway.
    """
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [owner])
