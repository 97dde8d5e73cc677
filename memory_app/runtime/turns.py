"""One at a time, for work that keeps a thread and the processor for long, and for saving one text: a lease in the
cache, which all processes share (or the only one has to itself).

It protects speed, not the memory, which is correct without it. So without a cache every caller goes through.
"""

import hashlib
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.core.cache import cache

from memory_app.runtime import background, deadlines
from memory_app.runtime.unavailable import of_cache

#: Seconds after which the turn of a killed process is free again.
LEASE = 30
#: How many have a turn in this process at once: each keeps a thread of the web server for seconds.
_at_once = threading.BoundedSemaphore(2)
#: Seconds that `awaited` waits; saving a note takes 10 ms to a few hundred.
_PATIENCE = 5.0


class Taken(Exception):
    """Another caller has the turn; nothing was done."""


@contextmanager
def taken(*names: str, by: str | None = None) -> Iterator[None]:
    """Hold the turns of these names, all or none, for the block.

    Args:
        by: an operation. It still has its turns when it is repeated after its process died; its idempotency key
            makes sure that it runs once at a time.

    Raises:
        Taken: another thread or process has one of them, or this process has as many as it may.
    """
    if not _at_once.acquire(blocking=False):
        raise Taken
    mine = by or secrets.token_hex(8)
    keys = [_key(name) for name in names]
    has: list[str] = []
    try:
        for key in keys:
            if not _take(key, mine):
                raise Taken
            has.append(key)
        with background.while_it_lasts("turn", partial(_keep, has), every=LEASE / 3):
            yield
    finally:
        for key in has:
            _give_back(key, mine)
        _at_once.release()


@contextmanager
def awaited(name: str) -> Iterator[None]:
    """Hold the turn of this name for the block, after whoever has it. Go on without it where that takes too long."""
    mine, key = secrets.token_urlsafe(8), _key(name)
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while not _take(key, mine) and time.monotonic() < end:
        time.sleep(0.01)
    try:
        yield
    finally:
        _give_back(key, mine)


def is_taken(name: str) -> bool:
    """Whether a caller has the turn of this name now; without a cache it is not known, and False."""
    return of_cache(lambda: cache.get(_key(name)), None, event="turn_without_cache") is not None


def _key(name: str) -> str:
    return f"turn:{hashlib.sha256(name.encode()).hexdigest()}"


def _take(key: str, mine: str) -> bool:
    return of_cache(
        lambda: cache.add(key, mine, timeout=LEASE) or cache.get(key) == mine, True, event="turn_without_cache"
    )


def _keep(keys: list[str]) -> bool:
    of_cache(lambda: [cache.touch(key, LEASE) for key in keys], None, event="turn_not_kept")
    return True


def _give_back(key: str, mine: str) -> None:
    # Ours may have expired, and be another caller's now.
    of_cache(lambda: cache.get(key) == mine and cache.delete(key), None, event="turn_not_given_back")
