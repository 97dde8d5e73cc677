"""How often something may happen in a window of time: calls with a token, attempts to sign in.

Counted in the cache: across processes where that is Redis, in this one otherwise.
Not here: what is counted under which key, and what a caller over the limit is answered.
"""

import contextlib
import hashlib
from datetime import timedelta

from django.core.cache import cache


def key_of(what: str, who: str) -> str:
    """Return the key of what somebody does. Hashed: a cache key may be neither long nor hold spaces, and a name may."""
    return f"{what}:{hashlib.sha256(who.encode(errors='replace')).hexdigest()}"


def hit(key: str, limit: int, window: timedelta) -> bool:
    """Count one more and return whether that is over the limit.

    Args:
        window: begins with the first hit; the count begins again when it is over.

    Raises:
        RedisError: the cache does not answer, so nothing was counted.
    """
    try:
        count = cache.incr(key)
    except ValueError:  # nothing counted yet; asking for that first would be a trip more for each hit
        cache.add(key, 0, timeout=int(window.total_seconds()))
        try:
            count = cache.incr(key)
        except ValueError:  # evicted between the two calls
            count = 1
    return count > limit


def take_back(key: str) -> None:
    """Count one less."""
    with contextlib.suppress(ValueError):  # the window is over
        cache.decr(key)


def reset(key: str) -> None:
    """Reset the count to zero."""
    cache.delete(key)
