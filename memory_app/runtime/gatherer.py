"""Debouncing: work that may be done a moment later is done together, in a thread of this process."""

from __future__ import annotations

import atexit
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

import structlog
from django.db import connections

log = structlog.get_logger(__name__)

Item = TypeVar("Item")

#: Seconds to wait for more items: a run takes as long for twenty as for one.
_GATHERING = 0.1
#: Seconds after which the thread ends, and with it its connections.
_IDLE = 5.0
#: Seconds to let a run finish when the process ends.
_LAST_RUN = 5.0


class Gatherer(Generic[Item]):
    """One thread that processes what was added since its last run. The first item starts it.

    A process that ends in order processes the rest first. What a killed one had left is lost: each user of this
    class says what makes up for it.

    Args:
        work: called with what was added, in order. What it raises is logged.
        pause: seconds between two runs, beside the tenth of a second that it waits for more.
    """

    def __init__(self, name: str, work: Callable[[list[Item]], None], pause: Callable[[], float] = lambda: 0.0) -> None:
        self._name = name
        self._work = work
        self._pause = pause
        self._changed = threading.Condition()
        self._items: list[Item] = []
        self._thread: threading.Thread | None = None
        self._settling = 0
        atexit.register(self.settle, _LAST_RUN)

    def add(self, item: Item) -> None:
        with self._changed:
            self._items.append(item)
            if self._thread is None or not self._thread.is_alive():  # the second: after a fork
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            elif len(self._items) == 1:
                self._changed.notify_all()

    def settle(self, seconds: float | None = None) -> None:
        """Wait until nothing that was added in this process is left to do."""
        with self._changed:
            thread = self._thread
            self._settling += 1
            self._changed.notify_all()
        try:
            if thread is not None:
                thread.join(seconds)
        finally:
            with self._changed:
                self._settling -= 1

    def _run(self) -> None:
        try:
            while items := self._next():
                try:
                    self._work(items)
                except Exception:
                    log.exception("background_work_failed", what=self._name)
                if pause := self._pause():
                    self._wait(pause)
        finally:
            connections.close_all()

    def _next(self) -> list[Item]:
        """Return what there is to do; nothing when nothing came for a while, or the thread is to end."""
        with self._changed:
            self._changed.wait_for(lambda: self._items or self._settling, timeout=_IDLE)
        self._wait(_GATHERING)
        with self._changed:
            items, self._items = self._items, []
            if not items:
                self._thread = None
            return items

    def _wait(self, seconds: float) -> None:
        """Wait for so long, or until the thread is to end."""
        end = time.monotonic() + seconds
        with self._changed:
            self._changed.wait_for(lambda: self._settling or time.monotonic() >= end, timeout=seconds)
