"""Calls per minute and token, counted in the cache: across processes where that is Redis."""

from __future__ import annotations

import time

import structlog
from django.conf import settings
from django.core.cache import cache
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

log = structlog.get_logger(__name__)

_WINDOW = 60


class TokenThrottle(BaseThrottle):
    """A fixed window of a minute: one atomic increment per call, and an honest Retry-After.

    A cache that is away lets calls through: the limit protects the installation, and refusing
    everybody would do what it is there to prevent.
    """

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        now = time.time()
        window = int(now // _WINDOW)
        self._wait = (window + 1) * _WINDOW - now
        key = f"calls:{request.auth.pk}:{window}"
        try:
            count = _counted(key)
        except ValueError:  # the key was evicted in between
            return True
        except RedisError as error:
            log.warning("rate_limit_not_counted", error=type(error).__name__)
            return True
        return bool(count <= settings.RATE_LIMIT)

    def wait(self) -> float:
        return self._wait


def _counted(key: str) -> int:
    """The calls of this window, with this one. Asking each time whether the key is there yet would be a trip more."""
    try:
        return int(cache.incr(key))
    except ValueError:
        cache.add(key, 0, timeout=2 * _WINDOW)
        return int(cache.incr(key))
