"""Work beside requests, in threads of this process: once soon (`soon`), and now and then while something lasts
(`while_it_lasts`, for leases). What is done by the clock is `upkeep`'s, which runs its tasks through `soon`.

Belongs here: starting a thread, logging what fails in it, and closing its connections. What the work is, and whether a
worker of Celery's does it instead (`workers.enqueue`), its module says. Threads are daemons: a process that ends does
not wait for a mail server; who has to, calls `settle`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

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


def settle(beginning: str, seconds: float) -> None:
    """Wait until every thread whose name begins so has ended, its connections closed, at most so long."""
    until = time.monotonic() + seconds
    while threads := [thread for thread in threading.enumerate() if thread.name.startswith(beginning)]:
        threads[0].join(max(0.0, until - time.monotonic()))
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
