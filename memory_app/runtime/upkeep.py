"""The upkeep of embedded databases, beside the work of every process that opens one.

DoltLite leaves two chores to the process: emptying the log of `default` (`wal`) and collecting the garbage of `memory`
(`dolt.maintenance`). Tasks by the clock are a third where there are no workers (`PeriodicTasks`). One daemon thread per
process looks after them, so that no request does. It starts with the process's first connection rather than from each
entry point: so web workers, Celery's children after their fork, long commands and the `memory` command have it, and
the web server's first process and Celery's parent, which open nothing, do not.
"""

import atexit
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import structlog
from celery import signals
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connections

from memory_app.celery import app, load_tasks
from memory_app.databases import wal
from memory_app.dolt import maintenance
from memory_app.dolt.errors import DoltError
from memory_app.dolt.placement import databases
from memory_app.runtime import background, workers

log = structlog.get_logger(__name__)

#: Seconds between two looks; a look is two `stat`s.
TICK = 0.5
#: Bytes from which the log is emptied at once: SQLite's own 1,000 pages.
LARGE = 4 * 1024 * 1024
#: Seconds after which a smaller log is emptied too, so that the main file is never far behind.
SETTLED = 15.0
#: Seconds until another try when a reader was in the way, doubled each time.
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
#: Bytes from which a log that cannot be emptied is reported.
_WORRYING = 64 * 1024 * 1024
#: Seconds between two looks at the memory's garbage; a command that ends sooner leaves it to others.
GARBAGE_TICK = 10.0
#: Seconds to let a chore finish when the process stops.
_LAST_CHORE = 10.0


class _Log:
    """When the log is to be emptied."""

    def __init__(self) -> None:
        self._seen_at: float | None = None
        self._not_before = 0.0
        self._pause = _FIRST_PAUSE

    def look(self) -> None:
        size, now = wal.size(), time.monotonic()
        if size == 0:
            self._seen_at = None
            return
        if self._seen_at is None:
            self._seen_at = now
        if now < self._not_before or (size < LARGE and now - self._seen_at < SETTLED):
            return
        if wal.checkpoint():
            self._seen_at, self._pause = None, _FIRST_PAUSE
            return
        self._not_before = now + self._pause
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)
        if size >= _WORRYING:
            log.warning("log_not_emptied", bytes=size, hint="a connection has been reading since before it grew")


#: Seconds after the start of a process before the first tasks by the clock, so that short commands are over by then.
FIRST = 10.0
TASKS = "periodic tasks"


class PeriodicTasks:
    """When each of `settings.WITHOUT_BEAT` is to run next: tasks of beat's schedule, for where there is no beat.

    Every process with databases open runs them, so they have to bear running at the same time in several of them, as
    all of ours do.
    """

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}

    def look(self) -> None:
        """Begin what is due, unless the last tasks are still at work: a mail server may be slow."""
        if workers.are_expected() or background.is_at_work(TASKS):
            return
        now = time.monotonic()
        schedule: dict[str, dict[str, Any]] = settings.CELERY_BEAT_SCHEDULE
        due = [name for name in settings.WITHOUT_BEAT if self._next_at.setdefault(name, now + FIRST) <= now]
        if due:
            self._next_at |= {name: now + schedule[name]["schedule"] for name in due}
            background.soon(TASKS, partial(_run, [schedule[name]["task"] for name in due]))


def _run(tasks: list[str]) -> None:
    for task in tasks:
        try:
            app.tasks[task]()
        except Exception:  # the next run tries again
            log.exception("periodic_task_failed", task=task)


def _look_after() -> None:
    log_of_default, tasks = _Log(), PeriodicTasks()
    if wal.size():
        _survive(wal.checkpoint)  # what the last process left
    garbage_at = time.monotonic() + GARBAGE_TICK
    while not _stopping.wait(TICK):
        _survive(log_of_default.look)
        _survive(tasks.look)
        if settings.EMBEDDED_MEMORY and time.monotonic() >= garbage_at:
            _survive(_collect_garbage)
            garbage_at = time.monotonic() + GARBAGE_TICK
    background.settle(TASKS, _LAST_CHORE / 2)


def _collect_garbage() -> None:
    try:
        for database in databases():
            maintenance.collect_garbage(database)
    finally:
        connections.close_all()  # this thread's alone


def _survive(chore: Any) -> None:
    """Do a chore. What goes wrong is logged and tried again at the next look: a full disk may have space then."""
    try:
        chore()
    except (sqlite3.Error, DatabaseError, DoltError, OSError) as error:
        log.warning("upkeep_failed", chore=chore.__qualname__, error=f"{type(error).__name__}: {error}")


_THREAD = "upkeep"
_lock, _stopping, _is_paused = threading.Lock(), threading.Event(), threading.Event()


def start(**kwargs: Any) -> None:
    """Start in this process, unless it is running, or there is neither an embedded database nor a want of workers.

    Receives Django's `connection_created`.
    """
    has_work = settings.DEFAULT_FILE is not None or settings.EMBEDDED_MEMORY or not workers.are_expected()
    if not has_work or _is_paused.is_set() or background.is_at_work(_THREAD):
        return
    with _lock:
        if not background.is_at_work(_THREAD):
            load_tasks()  # here, not in the thread: while it ran, this process could import the same modules
            _stopping.clear()
            background.soon(_THREAD, _look_after)


@signals.worker_process_shutdown.connect  # children of a pool of Celery's end without Python's `atexit`
def stop(**kwargs: Any) -> None:
    """Stop in this process, emptying the log once more; before its files are replaced, and when it exits."""
    with _lock:
        _stopping.set()
    if background.is_at_work(_THREAD):
        background.settle(_THREAD, _LAST_CHORE)
        if wal.size():
            _survive(wal.checkpoint)


@contextmanager
def paused() -> Iterator[None]:
    """Look after nothing in this process during the block: its databases are being migrated or restored.

    A task by the clock would open files that are to be empty, look for tables that are yet to come, take half a
    migration of the memory for a change that nobody recorded, or mail what a backup says is news.
    """
    was_paused = _is_paused.is_set()  # a restore migrates
    _is_paused.set()
    stop()
    try:
        yield
    finally:
        if not was_paused:
            _is_paused.clear()


atexit.register(stop)
