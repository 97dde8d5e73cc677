"""Tasks by the clock where there is no beat: `settings.WITHOUT_BEAT` of its schedule, in a thread of this process.

`upkeep` looks after it. Every process with databases open does this, so the tasks have to bear running at the same
time in several of them, as all of ours do.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from functools import partial
from typing import Any

import structlog
from django.conf import settings

from memory_app.celery import app
from memory_app.runtime import background, workers

log = structlog.get_logger(__name__)

#: Seconds after the start of a process before the first run, so that short commands are over by then.
FIRST = 10.0
THREAD = "periodic tasks"


class PeriodicTasks:
    """When each task is to run next. The tasks have to be loaded: `upkeep.start` sees to it."""

    def __init__(self) -> None:
        self._next_at: dict[str, float] = {}

    def look(self) -> None:
        """Begin what is due, unless the last tasks are still at work: a mail server may be slow."""
        if workers.are_expected() or background.is_at_work(THREAD):
            return
        now = time.monotonic()
        due = [name for name in settings.WITHOUT_BEAT if self._next_at.setdefault(name, now + FIRST) <= now]
        if not due:
            return
        for name in due:
            self._next_at[name] = now + _entry(name)["schedule"]
        background.soon(THREAD, partial(_run, due))


def _run(names: list[str]) -> None:
    for name in names:
        task = _entry(name)["task"]
        try:
            app.tasks[task]()
        except Exception:  # the next run tries again
            log.exception("periodic_task_failed", task=task)


def _entry(name: str) -> Mapping[str, Any]:
    schedule: Mapping[str, Mapping[str, Any]] = settings.CELERY_BEAT_SCHEDULE
    return schedule[name]
