"""One at a time, for work that keeps a thread and the processor for long, and for saving one text; a few at a time, for
the calls of a token: leases in the cache, which all processes share (or the only one has to itself).

It protects speed, not the memory, which is correct without it. So without a cache every caller goes through.
"""

import hashlib
import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

from django.core.cache import cache

from memory_app.runtime import background, deadlines, waits
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


#: Seconds after which the place of a killed process is free again; less than `_PATIENCE`, so that nobody misses it.
_PLACE = 3
#: The places of this process, which one thread of it keeps.
_places: set[str] = set()


@contextmanager
def awaited(name: str, most: int = 1) -> Iterator[bool]:
    """Hold one of so many places of this name for the block, after those who have them; or until this thread waits for
    something else (`waits`). Whether one was free in time: the caller may go on without."""
    keys = [_key(f"{name} {number}") for number in random.sample(range(most), most)]
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while (key := of_cache(lambda: _first_free(keys), "", event="turn_without_cache")) is None:
        if time.monotonic() >= end:
            break
        time.sleep(0.02)
    if not key:
        yield key is not None
        return
    _places.add(key)
    background.soon("places", _keep_places)
    with waits.counted(partial(_leave, key)):
        yield True


def _first_free(keys: list[str]) -> str | None:
    return next((key for key in keys if cache.add(key, 1, timeout=_PLACE)), None)


def _leave(key: str) -> None:
    _places.discard(key)
    # If this process stood still for longer than its lease, another's place: one more gets through, for a moment.
    of_cache(lambda: cache.delete(key), None, event="turn_not_given_back")


def _keep_places() -> None:
    while _places:
        time.sleep(_PLACE / 3)
        of_cache(lambda: [cache.touch(key, _PLACE) for key in list(_places)], None, event="turn_not_kept")


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
