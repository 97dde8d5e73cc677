"""Making a memory database, and moving one whole to another server.

A move copies with Dolt's own backup, so no hash changes. Its steps, of which each may be the last one before a crash:

1. A lease in the row says that it moves: writers of its owners are refused at once. A thread renews it; once it ran
   out, writers go on where the database still is, and the move has to begin again.
2. The epoch is increased under the lock of all who acknowledge a write. What began before is not acknowledged any more.
3. The database is copied, and the heads of both copies are compared.
4. The row names the new server, and the epoch increases again, if the lease still holds.
"""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connections
from django.db.models import QuerySet
from django.db.models.functions import Now

from memory_app.dolt import placement
from memory_app.dolt.connections import connect, settings_of
from memory_app.dolt.errors import EngineUnavailable
from memory_app.dolt.operations import DoltOperations
from memory_app.models import MemoryDatabase

log = structlog.get_logger(__name__)

#: Seconds until others may write again where a move died.
LEASE = 30
#: Seconds after which every process knows that a database moves, and what it had begun before has mostly ended.
SETTLES = 3 * placement.FRESH
#: Copies until nothing was written in between.
ATTEMPTS = 3


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


def move(database: str, to: str, folder: Path, *, drop: bool, say: Callable[[str], object]) -> str:
    """Move a database to another server, and return what is left where it was, in a sentence.

    Args:
        to: the server, as in `MemoryDatabase.server`.
        folder: both servers see it under this path; a folder for the copy is made in it, and removed.
        drop: drop what is left.

    Raises:
        EngineUnavailable: it could not be finished; the database is where it was.
    """
    was = MemoryDatabase.objects.get(name=database)
    if was.server == to:
        return "It was there already."
    copied = folder / f"moving-{settings_of(database, was.server)['NAME']}"
    shutil.rmtree(copied, ignore_errors=True)
    create_database(database, to)
    try:
        with connect(database, was.server) as here, connect(database, to) as there:
            if there.dolt.contents() and not _is_ours(here.dolt, there.dolt):
                raise EngineUnavailable(f"server {to or 'first'} has another database of this name: drop it")
            here.dolt.back_up(copied)  # while others write, so that less is left for the time when they wait
            _move(was, to, copied, here.dolt, there.dolt, say)
    finally:
        shutil.rmtree(copied, ignore_errors=True)
    placement.look_again()
    log.info("memory_moved", database=database, server=to or "first")
    name, where = settings_of(database, was.server)["NAME"], was.server or "first"
    if not drop:
        return f"What was there is left on server {where}, as `{name}`: drop it once you trust the new place."
    time.sleep(SETTLES)  # others may still read it
    drop_database(name, was.server)
    return f"`{name}` on server {where} is dropped."


def _is_ours(here: DoltOperations, there: DoltOperations) -> bool:
    """Whether what a server has under the name is what an earlier move left."""
    head = there.head()
    return here.exists(head) and here.is_ancestor(head)


def _move(
    was: MemoryDatabase,
    to: str,
    copied: Path,
    here: DoltOperations,
    there: DoltOperations,
    say: Callable[[str], object],
) -> None:
    with _held(was) as epoch:
        say(f"{was.name} is being moved; its owners can read, and write again in a moment.")
        time.sleep(SETTLES)
        for _ in range(ATTEMPTS):
            here.back_up(copied)
            there.restore(copied)
            if here.branches() == there.branches():
                break
        else:
            raise EngineUnavailable(f"{was.name} was still written while it was copied")
        if (
            not _row(was.name, epoch)
            .filter(moving_until__gt=Now())
            .update(server=to, epoch=epoch + 1, moving_until=None)
        ):
            raise EngineUnavailable("the move took so long that others write again where the database was")


@contextmanager
def _held(was: MemoryDatabase) -> Iterator[int]:
    """Refuse writes of a database's owners in this block, and yield its epoch, under which none is acknowledged."""
    # This waits for the transactions that acknowledge a write, and hold the row.
    free = _row(was.name, was.epoch).exclude(moving_until__gt=Now())
    if not free.update(epoch=was.epoch + 1, moving_until=_until()):
        raise EngineUnavailable(f"another process moves {was.name}, or died in the last {LEASE} seconds")
    epoch, ended = was.epoch + 1, threading.Event()

    def renew() -> None:
        try:
            while not ended.wait(LEASE / 4):
                _row(was.name, epoch).filter(moving_until__gt=Now()).update(moving_until=_until())
        finally:
            connections.close_all()

    thread = threading.Thread(target=renew, name="moving", daemon=True)
    thread.start()
    try:
        yield epoch
    finally:
        ended.set()
        thread.join()
        _row(was.name, epoch).update(moving_until=None)


def _row(database: str, epoch: int) -> QuerySet[MemoryDatabase]:
    return MemoryDatabase.objects.filter(name=database, epoch=epoch)


def _until() -> Any:
    return Now() + timedelta(seconds=LEASE)
