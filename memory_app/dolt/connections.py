"""Opening a branch or a commit as a connection, and the two kinds of transaction on one.

A branch *is* a connection ("A branch is a connection" in docs/architecture.md): there is no ambient checkout, so
nothing can be left checked out. `connections.settings` is never changed, because other threads iterate over it; only
this thread's slot is, and it is put back in `finally`.
"""

import copy
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Protocol, TypeVar, cast

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.utils import InterfaceError, OperationalError

from memory_app.dolt.errors import DirtyMemory, EngineUnavailable, RevisionNotFound
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import MAIN
from memory_app.runtime import deadlines

MEMORY = "memory"

T = TypeVar("T")


class DoltConnection(Protocol):
    """What the two backends' wrappers have beyond Django's."""

    dolt: DoltOperations
    writable: bool


def connection() -> BaseDatabaseWrapper:
    """Return this thread's connection to the memory: main, unless inside `open_at`."""
    return connections[MEMORY]


def dolt() -> DoltOperations:
    """Return the verbs of this thread's connection."""
    return cast(DoltConnection, connections[MEMORY]).dolt


def is_writable() -> bool:
    return cast(DoltConnection, connections[MEMORY]).writable


@contextmanager
def open_at(revision: str) -> Iterator[DoltOperations]:
    """Work at a branch (readable and, in `dolt_transaction`, writable) or a commit hash (read-only).

    Inside the block the alias `memory` *is* that revision for this thread. Take frozen values out,
    never model instances or querysets: outside they would read and write main.

    Raises:
        RevisionNotFound: there is no such branch or commit.
        EngineUnavailable: the session was lost inside.
    """
    if not dolt().hash_pattern.fullmatch(revision):
        with dolt().checked_out(revision):
            yield dolt()
        return
    outer = connections[MEMORY]
    settings = copy.deepcopy(outer.settings_dict)
    settings["NAME"] = cast(DoltConnection, outer).dolt.database_at(revision)
    settings["CONN_MAX_AGE"] = 0
    inner = outer.__class__(settings, MEMORY)
    verbs = cast(DoltConnection, inner).dolt
    connections[MEMORY] = inner
    try:
        with deadlines.watching(inner):
            try:
                with verbs.named_errors():
                    inner.ensure_connection()
                verbs.head("HEAD")
            except RevisionNotFound as error:
                raise RevisionNotFound(revision) from error
            yield verbs
    finally:
        connections[MEMORY] = outer
        inner.close()


@contextmanager
def dolt_transaction(*, takes_stray_rows: bool = False) -> Iterator[DoltOperations]:
    """Run ORM writes and one Dolt verb between BEGIN and COMMIT; roll back on any error.

    Tried under errors, empty commits and bulk_create on both engines. On main it first makes sure that no
    uncommitted rows are there: the next commit would include them under another person's name.

    Args:
        takes_stray_rows: the commit is made of those rows.

    Raises:
        DirtyMemory: main has uncommitted rows; `recover` commits and reports them.
    """
    current = connection()
    wrapper = cast(DoltConnection, current)
    with _in_turn() if wrapper.dolt.has_one_writer or wrapper.dolt.branch == MAIN else nullcontext():
        yield from _transaction(current, wrapper, takes_stray_rows)


def _transaction(
    current: BaseDatabaseWrapper, wrapper: DoltConnection, takes_stray_rows: bool
) -> Iterator[DoltOperations]:
    with wrapper.dolt.named_errors():
        current.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        if not takes_stray_rows and wrapper.dolt.branch == MAIN and (dirty := wrapper.dolt.dirty_tables()):
            raise DirtyMemory(dirty)
        wrapper.writable = True
        with wrapper.dolt.named_errors():
            yield wrapper.dolt
            current.commit()
    except BaseException:
        _roll_back(current)
        raise
    finally:
        wrapper.writable = False
        if current.connection is not None:
            current.set_autocommit(True)


_writing = threading.RLock()
#: Seconds to wait for a turn. An import writes for longer, and other writers may finish before it.
_TURN = 0.25


@contextmanager
def _in_turn() -> Iterator[None]:
    """Let the threads of this process write one after the other, as a rule.

    Correctness is the engines' matter. But on Dolt the second of two merges is discarded and done again, and on
    DoltLite it polls every few milliseconds until the first is done.
    """
    is_held = _writing.acquire(timeout=max(0, min(_TURN, deadlines.remaining())))
    try:
        yield
    finally:
        if is_held:
            _writing.release()


def one_after_another() -> AbstractContextManager[None]:
    """Let the threads of this process do what changes branches one after the other, where the engine has one writer.

    Eight threads that each create a branch, commit to it and drop it were a fifth faster so.
    """
    return _in_turn() if dolt().has_one_writer else nullcontext()


def _roll_back(current: BaseDatabaseWrapper) -> None:
    """Roll back. A connection that cannot is closed, so the next use reconnects."""
    try:
        current.rollback()
    except (OperationalError, InterfaceError):
        current.close()


def retrying(work: Callable[[], T], attempts: int = 12) -> T:
    """Run `work`, and retry it from its BEGIN when another writer was first: 5 ms to 1 s apart, with jitter.

    Raises:
        EngineUnavailable: it stayed busy for all attempts.
        DeadlineExceeded: it stayed busy until this thread's time was up.
    """
    operations = dolt()
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


def head_of_main() -> str:
    """Return the hash of main now: an address for reading that stays valid while others write."""
    return dolt().head(MAIN)
