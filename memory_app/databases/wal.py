"""The write-ahead log of an embedded `default`: how large it is, and moving it into the main file.

SQLite does that itself after 1,000 pages; the SQLite that DoltLite brings says `wal_autocheckpoint` 1000 and never does
(a contract test watches it): after 4,000 notes the log had 906 MB beside a main file of 0.8 MB. `upkeep` decides when.
"""

import sqlite3
from contextlib import closing
from pathlib import Path

from django.conf import settings

#: Seconds that a checkpoint may wait for readers; writers wait as long.
_PATIENCE = 0.02


def size() -> int:
    """Return the bytes of the log; 0 on PostgreSQL, which keeps its own."""
    if settings.DEFAULT_FILE is None:
        return 0
    try:
        return Path(f"{settings.DEFAULT_FILE}-wal").stat().st_size
    except FileNotFoundError:
        return 0


def checkpoint() -> bool:
    """Move the log into the main file and truncate it. Return whether that succeeded.

    It does not while a reader still uses an older state; what was committed before that state is moved anyway.
    Nearly all is moved while others read and write. They wait only for what was added in between.

    Raises:
        sqlite3.OperationalError: the file is not there, or the disk does not take it.
    """
    # Never created here: a restore or a migration would find an empty file.
    address = f"{settings.DATABASES['default']['NAME']}&mode=rw"
    with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE, isolation_level=None)) as connection:
        _, logged, moved = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        if moved < logged:
            return False
        (busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy
