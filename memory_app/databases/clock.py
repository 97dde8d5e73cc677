"""The clock of `default`, by which leases are taken, renewed and judged.

Machines need not agree on the time: one that is half a minute ahead would finish what another is still at work on.
PostgreSQL has the time for all of them. SQLite's is the clock of its one machine.
"""

import time
from datetime import UTC, datetime, timedelta

from django.db import connection

#: Seconds for which a time that the server told is reckoned on, by what cannot be set, before it is asked again.
_KEPT = 10.0
#: What the server told last, and when that was.
_told: tuple[datetime, float] | None = None


def now() -> datetime:
    """Return the time of `default`, or a moment before it: a lease is judged late rather than early."""
    if connection.vendor != "postgresql":
        return datetime.now(UTC)
    told, since = _told or _ask()
    passed = time.monotonic() - since
    if passed > _KEPT:
        (told, since), passed = _ask(), 0.0
    return told + timedelta(seconds=passed)


def _ask() -> tuple[datetime, float]:
    global _told
    connection.ensure_connection()
    # By the driver: it is asked at times that depend on no call, whose statements are counted.
    with connection.wrap_database_errors:
        (told,) = connection.connection.execute("SELECT clock_timestamp()").fetchone()
    _told = told, time.monotonic()
    return _told
