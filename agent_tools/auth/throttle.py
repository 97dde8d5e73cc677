"""Calls per minute and token, as a throttle of Django REST framework."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import cast

import structlog
from django.conf import settings
from redis.exceptions import RedisError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from agent_tools.models import AgentToken
from memory_app.runtime import rate_limit

log = structlog.get_logger(__name__)

_WINDOW = timedelta(minutes=1)


class TokenThrottle(BaseThrottle):
    """`settings.RATE_LIMIT` calls in each minute of the clock, so that Retry-After is exact.

    The framework's own `SimpleRateThrottle` reads, appends and writes a list of times: two calls at once count as one,
    and a burst keeps a token out for a minute after its last call.
    A cache that is away lets calls through: the limit protects the installation, and refusing every call would do
    what it is there to prevent.
    """

    def __init__(self) -> None:
        self._wait = 0.0

    def allow_request(self, request: Request, view: APIView) -> bool:
        self._wait = count(cast(AgentToken, request.auth))
        return not self._wait

    def wait(self) -> float:
        return self._wait


def count(token: AgentToken) -> float:
    """Count a call. Return 0, or the seconds to wait where it is over the limit.

    A token and the one it replaces are counted as one: while both are valid, they have no more calls than one has.
    """
    now, seconds = time.time(), _WINDOW.total_seconds()
    minute = int(now // seconds)
    try:
        is_over = rate_limit.hit(f"calls:{token.original_id}:{minute}", settings.RATE_LIMIT, _WINDOW)
    except RedisError as error:
        log.warning("rate_limit_not_counted", error=type(error).__name__)
        return 0.0
    return (minute + 1) * seconds - now if is_over else 0.0
