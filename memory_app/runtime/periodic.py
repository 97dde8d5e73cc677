"""Tasks by the clock where there is no beat: `settings.WITHOUT_BEAT` of its schedule, in a thread of this process.

`upkeep` looks after it. Every process with databases open does this, so the tasks have to bear running at the same
time in several of them, as all of ours do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import structlog
from django.conf import settings
from django.db import connections

from memory_app.celery import app
from memory_app.runtime import workers

log = structlog.get_logger(__name__)

#: Seconds after the start of a process before the first run, so that short commands are over by then.
FIRST = 10.0


class PeriodicTasks:
    """The thread, and when each task is to run next. The tasks have to be loaded: `upkeep.start` sees to it."""

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}
        self._thread: threading.Thread | None = None

    def look(self) -> None:
        """Begin what is due, unless the last tasks are still at work: a mail server may be slow."""
        if workers.are_expected() or (self._thread is not None and self._thread.is_alive()):
            return
        now = time.monotonic()
        due = [name for name in settings.WITHOUT_BEAT if self._next_at.setdefault(name, now + FIRST) <= now]
        if not due:
            return
        for name in due:
            self._next_at[name] = now + _entry(name)["schedule"]
        self._thread = threading.Thread(target=_run, args=[due], name="periodic tasks", daemon=True)
        self._thread.start()

    def settle(self, seconds: float) -> None:
        """Wait so long for what is at work."""
        if self._thread is not None:
            self._thread.join(seconds)


def _run(names: list[str]) -> None:
    for name in names:
        task = _entry(name)["task"]
        try:
            app.tasks[task]()
        except Exception:  # the next run tries again
            log.exception("periodic_task_failed", task=task)
        finally:
            connections.close_all()  # this thread's alone


def _entry(name: str) -> Mapping[str, Any]:
    schedule: Mapping[str, Mapping[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    return schedule[name]
