"""How both databases are opened: engine, isolation, waiting for locks, and what each connection may use."""

from pathlib import Path
from typing import Any

import environ

#: How long a connection to a server stays open, in seconds, and how it is known to be one still. A new one costs Dolt 1
#: to 11 ms of processor, the more branches there are. For ever would keep what a session gathers in the server.
_KEPT: dict[str, Any] = {"CONN_MAX_AGE": 3600, "CONN_HEALTH_CHECKS": True}


def memory_database(url: str, file: Path) -> dict[str, Any]:
    """Return the entry of DATABASES for the versioned memory: a Dolt server at `url`, or DoltLite in `file`."""
    if not url:
        return {
            "ENGINE": "memory_app.dolt.doltlite",
            "NAME": str(file),
            "OPTIONS": {
                # One writer per file: wait for it, and take the lock at BEGIN rather than half-way.
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # DoltLite's own 64 MB for each connection would be 512 MB for eight threads, and fills with what is
                # written: 28 kB a note. Reads of 2,000 rows and by key are as fast with 4 MB.
                "init_command": "PRAGMA cache_size=-4096;",
            },
            # Its index of the file grows with each commit, 0.5 kB for each connection, and is small again in a new one.
            "CONN_MAX_AGE": 300,
        }
    server: dict[str, Any] = environ.Env.db_url_config(url, engine="memory_app.dolt.server")
    return server | {
        # REPEATABLE READ is the only level Dolt has; it would ignore another silently.
        "OPTIONS": {"isolation_level": "repeatable read", "charset": "utf8mb4", "connect_timeout": 5},
        **_KEPT,
    }


def default_database(url: str, file: Path | None) -> dict[str, Any]:
    """Return the entry of DATABASES for everything else: PostgreSQL at `url`, or SQLite in `file`."""
    if file:
        return {
            "ENGINE": "memory_app.databases.sqlite",
            # Where DoltLite stands in for SQLite, the parameter asks it for stock SQLite; SQLite itself ignores it.
            # Always given: with the memory on a server, DoltLite may be preloaded all the same.
            "NAME": f"file:{file}?doltlite_engine=sqlite",
            "OPTIONS": {
                "transaction_mode": "IMMEDIATE",
                "timeout": 20,
                # Without secure_delete the text of deleted rows stays in the file until its pages are used again.
                # Statements that triggers or several indexes make undoable keep what they change in a temporary file:
                # in memory, an INSERT of a proposal takes half, and an UPDATE a third.
                "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA secure_delete=ON; "
                "PRAGMA temp_store=MEMORY;",
            },
            "CONN_MAX_AGE": None,
        }
    server: dict[str, Any] = environ.Env.db_url_config(url)
    if server["ENGINE"] == "django.db.backends.postgresql":
        server["ENGINE"] = "memory_app.databases.postgresql"
    # So that the server stops waiting for a lock when its client is cut off (memory_app.runtime.deadlines).
    options = {"connect_timeout": 3, "options": "-c client_connection_check_interval=1s"}
    return server | {"OPTIONS": options | server.get("OPTIONS", {}), **_KEPT}
