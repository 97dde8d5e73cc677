"""How long this thread may wait for its databases: a deadline that is really kept.

Belongs here: refusing statements once time is up, and ending the one that is under way then. What a caller is
told about it is for whoever set the deadline. Bound to the thread as Django's connections are, since it is they
that wait; why nothing runs in a thread of its own: docs/decisions/0010.
"""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import structlog
from django.db import OperationalError, connections
from django.db.backends.base.base import BaseDatabaseWrapper

log = structlog.get_logger(__name__)

#: Seconds to put down what came of a call whose time is up.
GRACE = 2.0
#: Seconds after which what was cut and still runs is cut again.
_AGAIN = 0.25
#: Milliseconds by which the time that a lock is waited for may be wrong: setting SQLite's limit anew before each
#: statement would cost 2 µs every time.
_SLACK = 100


class DeadlineExceeded(OperationalError):
    """The time is up: the statement was not sent, or given up."""

    def __init__(self) -> None:
        super().__init__("the time for this call is up")


class Deadline:
    """A moment, and the connections that must not wait past it."""

    def __init__(self, seconds: float) -> None:
        self.at = time.monotonic() + seconds
        self._lock = threading.Lock()
        self._watched: dict[int, _Watched] = {}
        self._is_over = self._has_cut = self._has_passed = False

    @property
    def remaining(self) -> float:
        """Seconds left; negative afterwards."""
        return self.at - time.monotonic()

    @property
    def has_passed(self) -> bool:
        """Whether the time was up at some moment, an extension or not."""
        return self._has_passed or self.remaining <= 0

    def extend(self) -> None:
        """Give a moment more when the time is up; nothing happens before."""
        if self.remaining > 0:
            return
        with self._lock:
            self._has_passed = True
            self._renew_what_was_cut()
            self.at = time.monotonic() + GRACE
        _watchdog.watch(self)

    def allow(self, seconds: float) -> None:
        """Let it be so long from now on, if that is longer and the time is not up."""
        if seconds <= self.remaining or self.has_passed:
            return
        with self._lock:
            self.at = time.monotonic() + seconds
        _watchdog.watch(self)

    def watch(self, connection: BaseDatabaseWrapper) -> None:
        """Hold for this connection too, from now on."""
        connection.execute_wrappers.append(self._before_each_statement)
        with self._lock:
            self._watched[id(connection)] = watched = _Watched(connection)
            watched.look()

    def let_go(self, connection: BaseDatabaseWrapper, *, is_last: bool = False) -> None:
        connection.execute_wrappers.remove(self._before_each_statement)
        with self._lock:
            self._watched.pop(id(connection)).let_go(is_last=is_last)

    def end(self, *, is_last: bool) -> None:
        with self._lock:
            self._is_over = True
            self._renew_what_was_cut()
        for watched in list(self._watched.values()):
            self.let_go(watched.connection, is_last=is_last)

    def cut(self) -> bool:
        """End what waits, if the time is up by now; called by the watchdog. Whether to come again: a statement may
        be about to start this moment, which an interruption does not reach."""
        with self._lock:
            if self._is_over or self.remaining > 0:
                return False
            self._has_cut = True
            for watched in self._watched.values():
                watched.interrupt()
            return True

    def _renew_what_was_cut(self) -> None:
        # What interrupts one statement might reach the next one on the same connection.
        if self._has_cut:
            for watched in self._watched.values():
                watched.connection.close()
            self._has_cut = False

    def _before_each_statement(
        self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: dict[str, Any]
    ) -> Any:
        now = time.monotonic()
        if now >= self.at:
            raise DeadlineExceeded
        watched = self._watched[id(context["connection"])]
        if watched.raw is not watched.connection.connection:
            with self._lock:
                watched.look()
        watched.limit_locks(now, self.at)
        return execute(sql, params, many, context)


class _Watched:
    """One connection of Django's, and what it takes to end its waiting from another thread."""

    def __init__(self, connection: BaseDatabaseWrapper) -> None:
        self.connection = connection
        self.raw: Any = None
        self._waits: _Waits | None = None
        self._is_sqlite = connection.vendor == "sqlite"
        database: Any = connection
        self._error: type[Exception] = database.Database.Error  # the driver's own
        self._line: socket.socket | None = None

    def look(self) -> None:
        """Take the driver's connection as it is now; in the thread it belongs to."""
        self._hang_up()
        self.raw = self.connection.connection
        self._waits = None
        if self.raw is None or self._is_sqlite:
            return
        # A handle of our own: the driver's may not be touched from another thread, and its number may by then
        # stand for something else.
        with contextlib.suppress(self._error, OSError):
            self._line = socket.socket(fileno=os.dup(self.raw.fileno()))

    def interrupt(self) -> None:
        """Make whatever runs on it end at once; from another thread, and without waiting.

        SQLite has a call for it. A server may not answer any more, so its line is cut: the client gets an error,
        and the server rolls back what was not committed.
        """
        if self._is_sqlite:
            with contextlib.suppress(self._error):  # closed this moment
                if self.raw is not None:
                    self.raw.interrupt()
        elif self._line is not None:
            with contextlib.suppress(OSError):  # the server was first
                self._line.shutdown(socket.SHUT_RDWR)

    def limit_locks(self, now: float, until: float) -> None:
        """Have SQLite wait for a lock no longer than that: an interruption does not reach it there."""
        if not self._is_sqlite:
            return
        waits = self._waits
        if waits is None:
            with self.connection.wrap_database_errors:  # this may be interrupted as well
                waits = self._waits = _waits_of(self.connection, self.raw)
        wanted = min(math.ceil((until - now) * 1000) + 10, waits.usual)
        if abs(wanted - waits.now) > _SLACK:
            with self.connection.wrap_database_errors:
                waits.set(wanted)

    def let_go(self, *, is_last: bool) -> None:
        """End here.

        Args:
            is_last: no other deadline holds for this connection, so that locks are waited for as usual again.
        """
        self._hang_up()
        if is_last and self._waits and self._waits.is_short and self.raw is self.connection.connection:
            with contextlib.suppress(self._error):  # an outer deadline's interruption, which closes it
                self._waits.set(self._waits.usual)

    def _hang_up(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None


class _Waits:
    """How long a connection to SQLite waits for a lock, in milliseconds: usually, and now."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.usual: int = raw.execute("PRAGMA busy_timeout").fetchone()[0]
        self.now = self.usual

    @property
    def is_short(self) -> bool:
        """Whether it is too short to be left so; most calls leave seconds, and the next one begins with as many."""
        return bool(self.now < self.usual // 8)

    def set(self, milliseconds: int) -> None:
        self.raw.execute(f"PRAGMA busy_timeout = {milliseconds}")
        self.now = milliseconds


_WAITS = "assent_lock_waits"


def _waits_of(connection: BaseDatabaseWrapper, raw: Any) -> _Waits:
    """What is known of this connection; kept with Django's wrapper, since each deadline would ask anew."""
    known: _Waits | None = getattr(connection, _WAITS, None)
    if known is None or known.raw is not raw:
        known = _Waits(raw)
        setattr(connection, _WAITS, known)
    return known


_thread = threading.local()


@contextlib.contextmanager
def within(seconds: float) -> Iterator[Deadline]:
    """Let this thread's databases take no longer; inside another deadline, the earlier one counts.

    Inside, a database that would wait longer raises an error of Django's (`DeadlineExceeded`, or what the engine
    says to being interrupted) near that moment, never later than a moment after it.
    """
    outer = _current()
    deadline = Deadline(seconds if outer is None else min(seconds, outer.remaining))
    try:
        for alias in connections:
            deadline.watch(connections[alias])
        _thread.deadline = deadline
        _watchdog.watch(deadline)
        yield deadline
    finally:
        _thread.deadline = outer
        deadline.end(is_last=outer is None)


@contextlib.contextmanager
def watching(connection: BaseDatabaseWrapper) -> Iterator[None]:
    """Have the deadline, when there is one, hold for a connection opened on the way."""
    deadline = _current()
    if deadline is None:
        yield
        return
    deadline.watch(connection)
    try:
        yield
    finally:
        deadline.let_go(connection)


def remaining() -> float:
    """Seconds this thread has left; infinite without a deadline."""
    deadline = _current()
    return math.inf if deadline is None else deadline.remaining


def at_most(seconds: int) -> int:
    """So many seconds, or what is left of this thread's, in whole ones: for drivers that can count no other."""
    left = remaining()
    return seconds if left >= seconds else max(1, math.ceil(left))


def require() -> None:
    """Raise DeadlineExceeded when the time is up: before what may take long and asks no database."""
    if remaining() <= 0:
        raise DeadlineExceeded


def extend() -> None:
    """A moment more, when the time is up, to put down what came of a call."""
    deadline = _current()
    if deadline is not None:
        deadline.extend()


def allow(seconds: float) -> None:
    """Let what this thread does take so long, where whoever set the deadline could not know that it may."""
    deadline = _current()
    if deadline is not None:
        deadline.allow(seconds)


def _current() -> Deadline | None:
    return getattr(_thread, "deadline", None)


# -- ending what waits ----------------------------------------------------------------------------


class _Watchdog:
    """One thread of the process, which sleeps until the next deadline. It is started by the first one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._waiting: list[tuple[float, int, Deadline]] = []
        self._numbers = itertools.count()
        self._thread: threading.Thread | None = None

    def watch(self, deadline: Deadline) -> None:
        self._push(deadline.at, deadline)

    def _push(self, at: float, deadline: Deadline) -> None:
        entry = (at, next(self._numbers), deadline)
        with self._changed:
            heapq.heappush(self._waiting, entry)
            if self._thread is None or not self._thread.is_alive():  # the second: after a fork
                self._thread = threading.Thread(target=self._run, name="deadlines", daemon=True)
                self._thread.start()
            elif self._waiting[0] is entry:
                self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                at, _, deadline = self._waiting[0]
                if (left := at - time.monotonic()) > 0:
                    self._changed.wait(left)
                    continue
                heapq.heappop(self._waiting)
            if deadline.cut():
                self._push(time.monotonic() + _AGAIN, deadline)


_watchdog = _Watchdog()
