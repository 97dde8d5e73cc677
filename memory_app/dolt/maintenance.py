"""Garbage collection of the embedded engine; Dolt's server does its own."""

from __future__ import annotations

from pathlib import Path

import structlog

from memory_app.dolt.connections import connection, dolt, retrying

log = structlog.get_logger(__name__)

#: Collect when the file is this many times as large as after the last collection, and at least this
#: many bytes larger: every write leaves old pages behind, and a collection rewrites the file.
GROWTH = 2
SLACK = 16 * 1024 * 1024


def collect_garbage(*, force: bool = False) -> bool:
    """Give back the space of dropped branches when there is much of it; whether it was done.

    The size after the last collection is kept in a small file beside the database.
    """
    verbs = dolt()
    if not verbs.collects_by_hand:
        return False
    path = Path(str(connection().settings_dict["NAME"]))
    record = path.with_name(f"{path.name}.gc-size")
    size = path.stat().st_size
    live = int(record.read_text()) if record.exists() else 0
    if not force and size < GROWTH * live + SLACK:
        return False
    retrying(verbs.gc)
    after = path.stat().st_size
    record.write_text(str(after))
    log.info("garbage_collected", before_bytes=size, after_bytes=after)
    return True
