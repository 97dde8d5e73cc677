"""Who calls: an agent, by its bearer token, so often a minute. Sessions of people do not open the API."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta

import structlog
from django.conf import settings
from django.http import HttpRequest
from redis.exceptions import RedisError
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled

from agent_tools.auth import tokens
from agent_tools.models import AgentToken
from approvals.models import Agent
from memory_app.runtime import deadlines, rate_limit

log = structlog.get_logger(__name__)

#: Seconds for finding a token.
_SECONDS = 5.0
_MINUTE = timedelta(minutes=1)


def _is_here() -> bool:
    return False


@dataclass(frozen=True)
class Caller:
    """What stands in `request.user`: no person.

    Args:
        is_gone: whether the client has hung up, as far as can be known.
    """

    token: AgentToken
    is_gone: Callable[[], bool] = field(default=_is_here, compare=False)

    @property
    def agent(self) -> Agent:
        return self.token.agent


def caller_of(request: HttpRequest) -> Caller:
    """Return who calls by the header Authorization.

    Raises:
        NotAuthenticated: there is none, or another kind of it.
        AuthenticationFailed: the token cannot be used.
    """
    scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotAuthenticated
    # A database that hangs would keep the call here for ever, before any tool's time begins.
    with deadlines.within(_SECONDS, waits_for_locks=False):
        token = tokens.find(secret.strip())
    if token is None:
        raise AuthenticationFailed
    tokens.touch(token)
    return Caller(token, is_gone=request.META.get("waitress.client_disconnected", _is_here))


def count_call(token: AgentToken) -> None:
    """Count a call. Raise Throttled, with the seconds to wait, where it is over the limit.

    The limit is `settings.RATE_LIMIT` in each minute of the clock, so that Retry-After is exact. A throttle of Django
    REST framework reads, appends and writes a list of times: two calls at once count as one, and a burst keeps a token
    out for a minute after its last call.
    A cache that is away lets calls through: the limit protects the installation, and refusing every call would do
    what it is there to prevent.
    A token and the one it replaces are counted as one: while both are valid, they have no more calls than one has.
    """
    now, seconds = time.time(), _MINUTE.total_seconds()
    minute = int(now // seconds)
    try:
        is_over = rate_limit.hit(f"calls:{token.original_id}:{minute}", settings.RATE_LIMIT, _MINUTE)
    except RedisError as error:
        log.warning("rate_limit_not_counted", error=type(error).__name__)
        return
    if is_over:
        raise Throttled((minute + 1) * seconds - now)


class TokenAuthentication(BaseAuthentication):
    """What the settings name, and `http.openapi` describes; views call `caller_of`."""
