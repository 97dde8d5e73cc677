"""Work beside requests, in threads of this process: once soon (`soon`), what comes within a moment together
(`Gatherer`), and now and then while something lasts (`while_it_lasts`, for leases). What is done by the clock is
`upkeep`'s, which runs its tasks through `soon`.

Belongs here: starting a thread, logging what fails in it, and closing its connections. What the work is, and whether a
worker of Celery's does it instead (`workers.enqueue`), its module says. Threads are daemons: a process that ends does
not wait for a mail server; who has to, calls `settle`.
"""

import atexit
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Generic, TypeVar

import structlog
from django.db import connections

log = structlog.get_logger(__name__)

_lock = threading.Lock()
#: The threads at work by name, and those asked for again while they are.
_at_work: dict[str, threading.Thread] = {}
_again: set[str] = set()


def soon(name: str, work: Callable[[], object]) -> threading.Thread:
    """Run `work` in a thread of this name. If one is at work, it runs once more when it is done."""
    with _lock:
        thread = _at_work.get(name)
        if thread is not None and thread.is_alive():  # a forked child has none
            _again.add(name)
            return thread
        thread = threading.Thread(target=_run, args=[name, work], name=name, daemon=True)
        _at_work[name] = thread
        thread.start()
        return thread


def is_at_work(name: str) -> bool:
    """Whether a thread of this name is at work."""
    with _lock:
        return name in _at_work and _at_work[name].is_alive()


def settle(beginning: str, seconds: float = threading.TIMEOUT_MAX) -> None:
    """Wait until every thread whose name begins so has ended, its connections closed, at most so long."""
    until = time.monotonic() + seconds
    while threads := [thread for thread in threading.enumerate() if thread.name.startswith(beginning)]:
        threads[0].join(min(max(0.0, until - time.monotonic()), threading.TIMEOUT_MAX))
        if time.monotonic() >= until:
            return


def _run(name: str, work: Callable[[], object]) -> None:
    try:
        while True:
            try:
                work()
            except Exception:
                log.exception("background_work_failed", work=name)
            with _lock:
                if name not in _again:
                    del _at_work[name]  # from now on a new thread is started: this one is only closing what it opened
                    return
                _again.discard(name)
    finally:
        connections.close_all()  # this thread's alone


@contextmanager
def while_it_lasts(name: str, work: Callable[[], bool], *, every: float) -> Iterator[None]:
    """Do the work every so many seconds during the block, until it returns False: to renew what is held by a lease.

    The end of the block does not wait for it.
    """
    is_over = threading.Event()

    def run() -> None:
        try:
            while not is_over.wait(every):
                if not work():
                    return
        except Exception:
            log.exception("background_work_failed", work=name)
        finally:
            connections.close_all()

    threading.Thread(target=run, name=name, daemon=True).start()
    try:
        yield
    finally:
        is_over.set()


#: Seconds to wait for more items: a run takes as long for twenty as for one.
_GATHERING = 0.1
#: Seconds after which the thread ends, and with it its connections: opening one takes longer than most runs.
_IDLE = 5.0
#: Seconds to let a run finish when the process ends.
_LAST_RUN = 5.0

Item = TypeVar("Item")


class Gatherer(Generic[Item]):
    """Debouncing: what is added within a tenth of a second is processed together, in the thread of this name.

    A process that ends in order processes the rest first. What a killed one had left is lost: each user of this
    class says what makes up for it.

    Args:
        work: called with what was added, in order. What it raises is logged.
    """

    def __init__(self, name: str, work: Callable[[list[Item]], None]) -> None:
        self._name = name
        self._work = work
        self._changed = threading.Condition()
        self._items: list[Item] = []
        self._settling = 0
        atexit.register(self.settle, _LAST_RUN)

    def add(self, item: Item) -> None:
        with self._changed:
            self._items.append(item)
            is_first = len(self._items) == 1
            if is_first:
                self._changed.notify_all()
        if is_first or not is_at_work(self._name):  # the second: after a fork
            soon(self._name, self._run)

    def settle(self, seconds: float = threading.TIMEOUT_MAX) -> None:
        """Wait until nothing that was added in this process is left to do."""
        with self._changed:
            self._settling += 1
            self._changed.notify_all()
        try:
            settle(self._name, seconds)
        finally:
            with self._changed:
                self._settling -= 1

    def _run(self) -> None:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._items or self._settling, timeout=_IDLE)
                self._changed.wait_for(lambda: self._settling, timeout=_GATHERING)
                items, self._items = self._items, []
            if not items:
                return
            self._work(items)
