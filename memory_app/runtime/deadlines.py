"""How long this thread may wait for its databases: an exact deadline.

Belongs here: refusing statements after the deadline, and interrupting the one that runs when it passes. The code that
sets a deadline decides what its caller is told. A deadline is bound to one thread, as Django's connections are.
Why no tool runs in a thread of its own: docs/decisions/0010. Why fixed limits do not replace this: 0019.
"""

from __future__ import annotations

import contextlib
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import structlog
from django.db import Error as DatabaseError
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

log = structlog.get_logger(__name__)

#: Seconds to record the outcome of a call whose deadline has passed.
GRACE = 2.0
#: Seconds after which the watchdog looks at the latest.
_LOOK = 1.0
#: Seconds between two interruptions of the same deadline.
_INTERRUPT_EVERY = 0.25
#: Milliseconds by which SQLite's lock timeout may be longer than the time left: two deadlines, one inside the other,
#: that each set it before each statement took an eighth of the time of a call.
_LOCK_TIMEOUT_TOLERANCE = 100


class DeadlineExceeded(OperationalError):
    """The deadline has passed: the statement was not sent, or was interrupted."""

    def __init__(self) -> None:
        super().__init__("the time for this call is up")


@contextlib.contextmanager
def briefly(seconds: float, failed: str, **about: object) -> Iterator[None]:
    """Write in this block what nothing has to wait for; log `failed` where the database does not take it in time."""
    try:
        with within(seconds):
            yield
    except DatabaseError as error:
        log.warning(failed, **about, error=type(error).__name__)


class Deadline:
    """A point in time, and the connections that must not wait past it.

    A deadline inside another never ends later, so the innermost one speaks for all: it shares the connections of the
    others, and each statement asks one. As a context manager it applies to this thread for the block (`within`).
    """

    def __init__(self, seconds: float, outer: Deadline | None = None, *, waits_for_locks: bool = True) -> None:
        self._outer = outer
        self._waits_for_locks = waits_for_locks
        self._latest: float = math.inf if outer is None else outer.at
        self.at: float = min(time.monotonic() + seconds, self._latest)
        self._lock: threading.Lock = threading.Lock() if outer is None else outer._lock
        self._watched: dict[int, _Watched] = {} if outer is None else outer._watched
        self._has_ended = self._has_interrupted = self._has_passed = False

    def __enter__(self) -> Deadline:
        try:
            if self._outer is None:
                for alias in connections:
                    for connection in connections_of(alias):
                        self.watch(connection)
            _thread.deadline = self
            _watchdog.watch(self)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *raised: object) -> None:
        _watchdog.forget(self)
        self.end()
        _thread.deadline = self._outer

    @property
    def remaining(self) -> float:
        """Return the seconds left; negative once the deadline has passed."""
        return self.at - time.monotonic()

    @property
    def has_passed(self) -> bool:
        """Whether the deadline has passed, even when it was extended afterwards."""
        return self._has_passed or self.remaining <= 0

    def extend(self) -> None:
        """Allow `GRACE` seconds more once the deadline has passed; do nothing before that."""
        if self.remaining > 0:
            return
        with self._lock:
            self._has_passed = True
            self._close_interrupted()
            self.at = min(time.monotonic() + GRACE, self._latest)
        _watchdog.watch(self)

    def allow(self, seconds: float) -> None:
        """Move the deadline to `seconds` from now, if that is later and it has not passed."""
        if seconds <= self.remaining or self.has_passed:
            return
        with self._lock:
            self.at = min(time.monotonic() + seconds, self._latest)
        _watchdog.watch(self)

    def watch(self, connection: BaseDatabaseWrapper) -> None:
        """Apply this deadline to the connection too."""
        connection.execute_wrappers.append(_before_each_statement)
        # Kept with the connection: or each deadline would ask for its lock timeout.
        watched: _Watched = vars(connection).get(_WATCHED) or _Watched(connection)
        vars(connection)[_WATCHED] = watched
        with self._lock:
            self._watched[id(connection)] = watched
            watched.attach()

    def unwatch(self, connection: BaseDatabaseWrapper) -> None:
        """Stop applying this deadline to the connection."""
        connection.execute_wrappers.remove(_before_each_statement)
        with self._lock:
            self._watched.pop(id(connection)).detach()

    def end(self) -> None:
        """Stop applying this deadline; without another around it, its connections are as before."""
        with self._lock:
            self._has_ended = True
            self._close_interrupted()
        if self._outer is None:
            for watched in list(self._watched.values()):
                self.unwatch(watched.connection)

    def interrupt_all(self) -> None:
        """Interrupt the connections if the deadline has passed; called by the watchdog, again and again, since an
        interruption does not reach a statement that is just about to start."""
        with self._lock:
            if self._has_ended or self.remaining > 0:
                return
            self._has_interrupted = True
            for watched in self._watched.values():
                watched.interrupt()

    def _close_interrupted(self) -> None:
        """Close interrupted connections: the interruption might reach the next statement on the same connection."""
        if self._has_interrupted:
            for watched in self._watched.values():
                watched.connection.close()
            self._has_interrupted = False


def _before_each_statement(
    execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Refuse the statement after the deadline of this thread; one comparison for most, as each statement comes here."""
    deadline: Deadline = _thread.deadline
    left = deadline.at - time.monotonic()
    if left <= 0:
        raise DeadlineExceeded
    watched = deadline._watched[id(context["connection"])]
    if watched.raw is not watched.connection.connection:
        with deadline._lock:
            watched.attach()
    if watched.is_sqlite and deadline._waits_for_locks:
        watched.limit_locks(left)
    return execute(sql, params, many, context)


_WATCHED = "assent_watched"


class _Watched:
    """One of Django's connections, and what another thread needs to interrupt it."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.raw: Any = None
        #: How long SQLite waits for a lock, in milliseconds: as configured, 0 when not asked for yet, and now.
        self._configured = self._current = 0
        self.is_sqlite = connection.vendor == "sqlite"
        database: Any = connection
        self._error: type[Exception] = database.Database.Error  # the driver's own
        self._socket: socket.socket | None = None

    def attach(self) -> None:
        """Take the driver's current connection; call this in the thread it belongs to."""
        self._close_socket()
        if self.raw is not self.connection.connection:
            self.raw = self.connection.connection
            self._configured = 0
        if self.raw is None or self.is_sqlite:
            return
        # A duplicate handle: another thread must not use the driver's, whose number may be reused for another file.
        with contextlib.suppress(self._error, OSError):
            self._socket = socket.socket(fileno=os.dup(self.raw.fileno()))

    def interrupt(self) -> None:
        """End the statement that runs on the connection; called from another thread, returns at once.

        SQLite has a call for this. A server may have stopped answering, so its socket is shut down: the client gets an
        error, and the server rolls back what was not committed.
        """
        if self.is_sqlite:
            with contextlib.suppress(self._error):  # the connection was closed at the same time
                if self.raw is not None:
                    self.raw.interrupt()
        elif self._socket is not None:
            with contextlib.suppress(OSError):  # the server closed it first
                self._socket.shutdown(socket.SHUT_RDWR)

    def limit_locks(self, left: float) -> None:
        """Limit how long SQLite waits for a lock: an interruption does not end that wait.

        The limit is set anew where it is too long, or shorter than half of what is left. Between two nested deadlines
        it stays.
        """
        if not self._configured:
            with self.connection.wrap_database_errors:  # the PRAGMA may be interrupted as well
                self._configured = self._current = self.raw.execute("PRAGMA busy_timeout").fetchone()[0]
        wanted = int(left * 1000) + 11
        if wanted > self._configured:
            wanted = self._configured
        if self._current - wanted > _LOCK_TIMEOUT_TOLERANCE or 2 * self._current < wanted:
            with self.connection.wrap_database_errors:
                self._set_lock_timeout(wanted)

    def _set_lock_timeout(self, milliseconds: int) -> None:
        self.raw.execute(f"PRAGMA busy_timeout = {milliseconds}")
        self._current = milliseconds

    def detach(self) -> None:
        """Close our handle, and restore the lock timeout where it was shortened much."""
        self._close_socket()
        # Most calls leave seconds, which the next deadline adjusts anyway.
        if self._current < self._configured // 8 and self.raw is self.connection.connection:
            with contextlib.suppress(self._error):  # interrupted by the deadline, which closes the connection
                self._set_lock_timeout(self._configured)

    def _close_socket(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


_thread = threading.local()
#: Where this thread has no deadline.
_NEVER = Deadline(math.inf)


def within(seconds: float, *, waits_for_locks: bool = True) -> Deadline:
    """Limit how long this thread waits for its databases in a block; of nested deadlines, the earlier one counts.

    Args:
        waits_for_locks: False where all statements read `default`, which waits for no lock of SQLite.

    A database that would wait longer raises one of Django's errors at the deadline, or a moment later:
    `DeadlineExceeded`, or the engine's error for an interrupted statement.
    """
    return Deadline(seconds, _current(), waits_for_locks=waits_for_locks)


def connections_of(alias: str) -> list[BaseDatabaseWrapper]:
    """Return this thread's connections under an alias: `memory` may have one to each of its databases."""
    current = connections[alias]
    return list(getattr(current, "family", lambda: [current])())


def watch(connection: BaseDatabaseWrapper) -> None:
    """Apply the current deadline, when there is one, to a connection that stays open after it."""
    if deadline := _current():
        deadline.watch(connection)


@contextlib.contextmanager
def watching(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Apply the current deadline, when there is one, to a connection opened inside it."""
    deadline = _current()
    if deadline is None:
        yield
        return
    deadline.watch(connection)
    try:
        yield
    finally:
        deadline.unwatch(connection)


def remaining() -> float:
    """Return the seconds this thread has left; infinite without a deadline."""
    return (_current() or _NEVER).remaining


def connecting(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return a driver's parameters with no longer a `connect_timeout` than this thread has left, in whole seconds.

    Connecting to a server that hangs takes seconds, so it is not begun after the deadline: raises DeadlineExceeded.
    """
    require()
    left, seconds = remaining(), parameters["connect_timeout"]
    return parameters if left >= seconds else parameters | {"connect_timeout": max(1, math.ceil(left))}


def require() -> None:
    """Raise DeadlineExceeded once the deadline has passed: call it before long work that queries no database."""
    if remaining() <= 0:
        raise DeadlineExceeded


def extend() -> None:
    """Allow `GRACE` seconds more once the deadline has passed, to record the outcome of a call."""
    (_current() or _NEVER).extend()


def allow(seconds: float) -> None:
    """Move this thread's deadline to `seconds` from now, where the code that set it did not know the work."""
    (_current() or _NEVER).allow(seconds)


def _current() -> Deadline | None:
    return getattr(_thread, "deadline", None)


class _Watchdog:
    """One thread of the process, which sleeps until the next deadline. The first deadline starts it.

    Most deadlines end long before they pass, and a thread that woke for each of those would take turns with the calls:
    with eight clients, hundreds of times a second. So those that ended are forgotten.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        #: The deadlines that apply, and when to interrupt them.
        self._running: dict[Deadline, float] = {}
        self._looks_at = 0.0
        self._thread: threading.Thread | None = None

    def watch(self, deadline: Deadline) -> None:
        with self._changed:
            self._running[deadline] = deadline.at
            if self._thread is None or not self._thread.is_alive():  # the second: after a fork
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif deadline.at < self._looks_at:
                self._changed.notify()

    def forget(self, deadline: Deadline) -> None:
        with self._changed:
            self._running.pop(deadline, None)

    def _run(self) -> None:
        while True:
            with self._changed:
                now = time.monotonic()
                self._looks_at = min([now + _LOOK, *self._running.values()])
                self._changed.wait(max(0.0, self._looks_at - now))
                now = time.monotonic()
                passed = [deadline for deadline, at in self._running.items() if at <= now]
                for deadline in passed:
                    self._running[deadline] = now + _INTERRUPT_EVERY
            for deadline in passed:
                deadline.interrupt_all()


_watchdog = _Watchdog()
