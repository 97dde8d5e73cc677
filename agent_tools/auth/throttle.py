"""Calls per minute and token."""

from __future__ import annotations

import time
from datetime import timedelta

import structlog
from django.conf import settings
from redis.exceptions import RedisError

from agent_tools.models import AgentToken
from memory_app.runtime import rate_limit

log = structlog.get_logger(__name__)

_WINDOW = timedelta(minutes=1)


def count(token: AgentToken) -> float:
    """Count a call. Return 0, or the seconds to wait where it is over the limit.

    The limit is `settings.RATE_LIMIT` in each minute of the clock, so that Retry-After is exact. A throttle of Django
    REST framework reads, appends and writes a list of times: two calls at once count as one, and a burst keeps a token
    out for a minute after its last call.
    A cache that is away lets calls through: the limit protects the installation, and refusing every call would do
    what it is there to prevent.
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
