"""Making a memory database, and moving one whole to another server.

A move copies with Dolt's own backup, so no hash changes. Its steps, of which each may be the last one before a crash:

1. A lease in the row says that it moves: writers of its owners are refused at once. A thread renews it; once it ran
   out, writers go on where the database still is, and the move has to begin again.
2. The epoch is increased under the lock of all who acknowledge a write. What began before is not acknowledged any more.
3. The database is copied, and the heads of both copies are compared.
4. The row names the new server, and the epoch increases again, if the lease still holds.
"""

import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import structlog
from django.conf import settings
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from memory_app.dolt import placement
from memory_app.dolt.connections import connect, settings_of
from memory_app.dolt.errors import EngineUnavailable
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.placement import LEASE, marker_of
from memory_app.models import MemoryDatabase
from memory_app.runtime import background

log = structlog.get_logger(__name__)

#: Seconds after which every process knows that a database moves, and what it had begun before has mostly ended.
SETTLES = 3 * placement.FRESH


def create_database(database: str, server: str) -> None:
    """Make an empty database, unless it is there."""
    if settings.EMBEDDED_MEMORY:
        Path(settings_of(database, server)["NAME"]).touch(mode=0o600)
        return
    _on_server(server, "CREATE DATABASE IF NOT EXISTS", settings_of(database, server)["NAME"])


def drop_database(name: str, server: str) -> None:
    """Drop what a server knows by this name, if it is there."""
    _on_server(server, "DROP DATABASE IF EXISTS", name)


def _on_server(server: str, verb: str, name: str) -> None:
    with connect("", server) as session, session.cursor() as cursor:
        cursor.execute(f"{verb} {session.ops.quote_name(name)}")


def move(database: str, to: str, folder: Path) -> str:
    """Move a database to another server, and return what the old one knows it by, which is left there.

    Args:
        to: the server, as in `MemoryDatabase.server`; another than the one it is on.
        folder: both servers see it under this path; a folder for the copy is made in it, and removed.

    Raises:
        EngineUnavailable: it could not be finished; the database is where it was.
    """
    was = MemoryDatabase.objects.get(name=database)
    name = str(settings_of(database, was.server)["NAME"])
    for left in folder.glob(f"moving-{name}-*"):  # by one that died
        shutil.rmtree(left, ignore_errors=True)
    # A new name each time: a Dolt server goes on to read what it once found in a folder, though there is another now.
    copied = folder / f"moving-{name}-{secrets.token_hex(4)}"
    create_database(database, to)
    try:
        with connect(database, was.server) as here, connect(database, to) as there:
            if there.dolt.contents() and not _is_ours(here.dolt, there.dolt):
                raise EngineUnavailable(f"server {to or 'first'} has another database of this name: drop it.")
            here.dolt.back_up(copied)  # while others write, so that less is left for the time when they wait
            _switch(was, to, copied, here.dolt, there.dolt)
    finally:
        shutil.rmtree(copied, ignore_errors=True)
    log.info("memory_moved", database=database, server=to or "first")
    return name


def _is_ours(here: DoltOperations, there: DoltOperations) -> bool:
    """Whether what a server has under the name is what an earlier move left."""
    head = there.head()
    return here.exists(head) and here.is_ancestor(head)


def _switch(was: MemoryDatabase, to: str, copied: Path, here: DoltOperations, there: DoltOperations) -> None:
    """Copy what was written last, and name the new server, while nothing is written."""
    with held(was) as row:
        time.sleep(SETTLES)
        here.back_up(copied)
        there.restore(copied)
        if here.branches() != there.branches():
            raise EngineUnavailable(f"{was.name} was still written while it was copied.")
        if not row.filter(moving_until__gt=Now()).update(server=to, epoch=F("epoch") + 1, moving_until=None):
            raise EngineUnavailable("the move took so long that others write again where the database was.")


#: When the lease ends, by the clock of the database.
_LATER = Now() + timedelta(seconds=LEASE)


@contextmanager
def held(was: MemoryDatabase) -> Iterator[QuerySet[MemoryDatabase]]:
    """Refuse writes of a database's owners in this block, and yield its row as it then is."""
    rows = MemoryDatabase.objects.filter(name=was.name)
    free = rows.filter(epoch=was.epoch).exclude(moving_until__gt=Now())
    # This waits for the transactions that acknowledge a write, and hold the row.
    if not free.update(epoch=was.epoch + 1, moving_until=_LATER):
        raise EngineUnavailable(f"another process moves {was.name}, or died in the last {LEASE} seconds.")
    row, marker, name = rows.filter(epoch=was.epoch + 1), marker_of(was.name), f"moving {was.name}"
    if settings.EMBEDDED_MEMORY:
        marker.touch()

    def renew() -> bool:
        row.filter(moving_until__gt=Now()).update(moving_until=_LATER)
        if settings.EMBEDDED_MEMORY:
            marker.touch()
        return True

    placement.look_again()
    try:
        with background.while_it_lasts(name, renew, every=LEASE / 4):
            yield row
    finally:
        background.settle(name)
        marker.unlink(missing_ok=True)
        row.update(moving_until=None)
        placement.look_again()
