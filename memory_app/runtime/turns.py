"""One at a time, for work that keeps a thread and the processor for long, and for saving one text; a few at a time, for
the calls of a token: leases in the cache, which all processes share (or the only one has to itself).

It protects speed, not the memory, which is correct without it. So without a cache every caller goes through.
"""

import random
import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial

from django.core.cache import cache

from memory_app.runtime import background, deadlines, waits
from memory_app.runtime.rate_limit import key_of
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
    mine = by or secrets.token_hex(8)
    with ExitStack() as held:
        if not _at_once.acquire(blocking=False):
            raise Taken
        held.callback(_at_once.release)
        for key in [key_of("turn", name) for name in names]:
            if not _take(key, mine):
                raise Taken
            held.callback(_give_back, key, mine)
            _keep(key, LEASE)
        yield


#: Seconds after which the place of a killed process is free again; less than `_PATIENCE`, so that nobody misses it.
_PLACE = 3


@contextmanager
def awaited(name: str, most: int = 1) -> Iterator[bool]:
    """Hold one of so many places of this name for the block, after those who have them; or until this thread waits for
    something else (`waits`). Whether one was free in time: the caller may go on without."""
    names = [f"{name} {number}" for number in random.sample(range(most), most)]
    mine, end = secrets.token_hex(8), time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while (key := of_cache(lambda: _first_free(names, mine), "", event="turn_without_cache")) is None:
        if time.monotonic() >= end:
            yield False
            return
        time.sleep(0.02)
    if not key:  # no cache
        yield True
        return
    _keep(key, _PLACE)
    with waits.counted(partial(_give_back, key, mine)):
        yield True


def _first_free(names: list[str], mine: str) -> str | None:
    return next((key for name in names if cache.add(key := key_of("turn", name), mine, timeout=_PLACE)), None)


def is_taken(name: str) -> bool:
    """Whether a caller has the turn of this name now; without a cache it is not known, and False."""
    return of_cache(lambda: cache.get(key_of("turn", name)), None, event="turn_without_cache") is not None


def _take(key: str, mine: str) -> bool:
    return of_cache(
        lambda: cache.add(key, mine, timeout=LEASE) or cache.get(key) == mine, True, event="turn_without_cache"
    )


#: The leases of this process by key, in seconds; one thread keeps them.
_kept: dict[str, int] = {}


def _keep(key: str, seconds: int) -> None:
    _kept[key] = seconds
    background.soon("turns", _keep_all)


def _keep_all() -> None:
    while _kept:
        time.sleep(_PLACE / 3)
        of_cache(lambda: [cache.touch(*lease) for lease in _kept.copy().items()], None, event="turn_not_kept")


def _give_back(key: str, mine: str) -> None:
    _kept.pop(key, None)
    # Ours may have expired, and be another caller's now.
    of_cache(lambda: cache.get(key) == mine and cache.delete(key), None, event="turn_not_given_back")
