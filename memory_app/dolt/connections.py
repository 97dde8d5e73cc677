"""Opening a branch or a commit as a connection, and the two kinds of transaction on one.

A branch *is* a connection ("A branch is a connection" in docs/architecture.md): there is no ambient checkout, so
nothing can be left checked out. `connections.settings` is never changed, because other threads iterate over it; only
this thread's slot is, and it is put back in `finally`.

The memory is one database or several, and an owner's rows are in one of them. So every function takes the owner, and
none has a default. What does something in every database goes over `placement.databases()`.
"""

import copy
import random
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TypeVar, cast

import environ
from django.conf import settings
from django.db import connections
from django.db.utils import InterfaceError, OperationalError

from memory_app.dolt.errors import DirtyMemory, EngineUnavailable, RevisionNotFound
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.placement import database_for, database_of, place_of
from memory_app.dolt.types import FIRST, KEPT, MAIN, MOVING
from memory_app.dolt.wrapper import MemoryWrapper
from memory_app.runtime import deadlines

MEMORY = "memory"

T = TypeVar("T")


def _slot() -> MemoryWrapper:
    """Return what stands in this thread's slot, which the ORM uses."""
    return cast(MemoryWrapper, connections[MEMORY])


def standing() -> str:
    """Return the database that the alias `memory` is for this thread: the first, unless inside `standing_on`."""
    return _slot().database


def connection_of(database: str) -> MemoryWrapper:
    """Return this thread's connection to a database: at main, unless inside `open_at`."""
    current, place = _slot(), place_of(database)
    if (current.database, current.server) == (database, place.server):
        return current
    first = current.first
    if (database, place.server) == (FIRST, first.server):
        return first
    found = first.beside.get(database)
    if found is None or found.server != place.server:
        if found is not None:  # it moved
            found.close()
        found = first.another(database, place.server, settings_of(database, place.server))
        first.beside[database] = found
        deadlines.watch(found)
    return found


def connect(database: str, server: str) -> AbstractContextManager[MemoryWrapper]:
    """Open another connection to a database on a server, wherever the table says that it is; without a name, to none
    of the server's databases."""
    return _another(database, server, settings_of(database or FIRST, server) | ({} if database else {"NAME": ""}))


@contextmanager
def _another(database: str, server: str, settings: dict[str, Any]) -> Iterator[MemoryWrapper]:
    made = _slot().another(database, server, settings)
    with deadlines.watching(made), closing(made):
        yield made


def settings_of(database: str, server: str) -> dict[str, Any]:
    """Return the settings of connections to a database on a server: those of the first one, with another name."""
    first: dict[str, Any] = connections.settings[MEMORY]
    own = copy.deepcopy(first)
    ending = database.removeprefix(FIRST)
    if settings.EMBEDDED_MEMORY:
        path = Path(first["NAME"])
        return own | {"NAME": str(path.with_name(f"{path.stem}{ending}{path.suffix}"))}
    if server and server not in settings.MEMORY_SERVERS:
        raise EngineUnavailable(f"ASSENT_MEMORY_SERVERS has no server {server}, which has {database}")
    where = environ.Env.db_url_config(settings.MEMORY_SERVERS[server]) if server else {}
    return own | {name: where[name] for name in _WHERE if name in where} | {"NAME": f"{first['NAME']}{ending}"}


_WHERE = ("HOST", "PORT", "USER", "PASSWORD")


def dolt_of(database: str) -> DoltOperations:
    """Return the verbs of this thread's connection to a database."""
    return connection_of(database).dolt


def dolt(owner: str) -> DoltOperations:
    """Return the verbs of this thread's connection to the database with this owner's memory."""
    return dolt_of(database_of(owner))


def require_reachable(owner: str) -> None:
    """Raise EngineUnavailable unless the database with this owner's memory answers: a ping, and no statement."""
    current = connection_of(database_of(owner))
    with current.dolt.named_errors():
        current.ensure_connection()
        if not current.is_usable():
            current.close()
            current.ensure_connection()


def branches(database: str) -> list[tuple[str, str, str]]:
    """Return database, name and head of each branch of a proposal. Slow with thousands of them: for checks."""
    found = dolt_of(database).branches().items()
    return [(database, name, head) for name, head in found if name not in (MAIN, MOVING) and not name.startswith(KEPT)]


def is_writable() -> bool:
    return _slot().writable


@contextmanager
def _in_slot(inner: MemoryWrapper) -> Iterator[None]:
    outer = _slot()
    connections[MEMORY] = inner
    try:
        yield
    finally:
        connections[MEMORY] = outer


@contextmanager
def standing_on(database: str) -> Iterator[DoltOperations]:
    """Let the alias `memory` be this database inside the block, for this thread: for the ORM, and for migrations."""
    inner = connection_of(database)
    with _in_slot(inner):
        yield inner.dolt


@contextmanager
def open_at(owner: str, revision: str) -> Iterator[DoltOperations]:
    """Work at a branch (readable and, in `dolt_transaction`, writable) or a commit hash (read-only).

    Inside the block the alias `memory` *is* that revision of the owner's database for this thread. Take frozen values
    out, never model instances or querysets: outside they would read and write main.

    Raises:
        RevisionNotFound: there is no such branch or commit.
        EngineUnavailable: the session was lost inside.
    """
    outer = connection_of(database_of(owner))
    if not outer.dolt.hash_pattern.fullmatch(revision):
        with _in_slot(outer), outer.dolt.checked_out(revision):
            yield outer.dolt
        return
    at_revision = copy.deepcopy(outer.settings_dict)
    at_revision |= {"NAME": outer.dolt.database_at(revision), "CONN_MAX_AGE": 0}
    with _another(outer.database, outer.server, at_revision) as inner, _in_slot(inner):
        try:
            with inner.dolt.named_errors():
                inner.ensure_connection()
            inner.dolt.head("HEAD")
        except RevisionNotFound as error:
            raise RevisionNotFound(revision) from error
        yield inner.dolt


def dolt_transaction(owner: str) -> AbstractContextManager[DoltOperations]:
    """Run ORM writes of an owner's rows and one Dolt verb between BEGIN and COMMIT; roll back on any error.

    Tried under errors, empty commits and bulk_create on both engines. On main it first makes sure that no
    uncommitted rows are there: the next commit would include them under another person's name.

    Raises:
        DirtyMemory: main has uncommitted rows; `recover` commits and reports them.
    """
    return transaction_on(database_for(owner))


@contextmanager
def transaction_on(database: str, *, takes_stray_rows: bool = False) -> Iterator[DoltOperations]:
    """`dolt_transaction` on a database, of whichever owners.

    Args:
        takes_stray_rows: the commit is made of uncommitted rows.
    """
    current = connection_of(database)
    verbs = current.dolt
    takes_turns = verbs.has_one_writer or verbs.branch == MAIN
    with _in_slot(current), _in_turn(database) if takes_turns else nullcontext():
        with verbs.named_errors():
            current.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        try:
            if not takes_stray_rows and verbs.branch == MAIN and (dirty := verbs.dirty_tables()):
                raise DirtyMemory(dirty)
            current.writable = True
            with verbs.named_errors():
                yield verbs
                current.commit()
        except BaseException:
            try:
                current.rollback()
            except (OperationalError, InterfaceError):
                current.close()  # so that the next use reconnects
            raise
        finally:
            current.writable = False
            if current.connection is not None:
                current.set_autocommit(True)


#: Database → whose turn it is to write it.
_writing: defaultdict[str, threading.RLock] = defaultdict(threading.RLock)
#: Seconds to wait for a turn. An import writes for longer, and other writers may finish before it.
_TURN = 0.25


@contextmanager
def _in_turn(database: str) -> Iterator[None]:
    """Let the threads of this process write a database one after the other, as a rule.

    Correctness is the engines' matter. But on Dolt the second of two merges is discarded and done again, and on
    DoltLite it polls every few milliseconds until the first is done.
    """
    turn = _writing[database]
    is_held = turn.acquire(timeout=max(0, min(_TURN, deadlines.remaining())))
    try:
        yield
    finally:
        if is_held:
            turn.release()


def one_after_another(owner: str) -> AbstractContextManager[None]:
    """Let the threads of this process do what changes branches one after the other, where the engine has one writer.

    Eight threads that each create a branch, commit to it and drop it were a fifth faster so.
    """
    database = database_for(owner)
    return _in_turn(database) if dolt_of(database).has_one_writer else nullcontext()


def retrying(work: Callable[[], T], attempts: int = 12) -> T:
    """Run `work`, and retry it from its BEGIN when another writer was first: 5 ms to 1 s apart, with jitter.

    Raises:
        EngineUnavailable: it stayed busy for all attempts.
        DeadlineExceeded: it stayed busy until this thread's time was up.
    """
    operations = _slot().dolt  # of whichever database: how an error looks is the engine's
    for attempt in range(attempts):
        try:
            return work()
        except Exception as error:
            if not operations.is_retryable(error):
                raise
            if attempt == attempts - 1:
                raise EngineUnavailable("the memory is busy") from error
        pause = random.uniform(0, min(1, 0.005 * 2**attempt))  # noqa: S311 (jitter)
        if pause >= deadlines.remaining():
            raise deadlines.DeadlineExceeded
        time.sleep(pause)
    raise ValueError("no attempts")


def head_of_main(owner: str) -> str:
    """Return the hash of main now, as the base of a write: an address for reading that stays valid while others write.

    An owner without a database gets one first: a hash means nothing in another.
    """
    return dolt_of(database_for(owner)).head(MAIN)
