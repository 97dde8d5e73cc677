"""Who calls: an agent, by its bearer token. Sessions of people do not open the API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from django.http import HttpRequest
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated

from agent_tools.auth import tokens
from agent_tools.models import AgentToken
from approvals.models import Agent
from memory_app.runtime import deadlines

#: Seconds for finding a token.
_SECONDS = 5.0


def _is_here() -> bool:
    return False


@dataclass(frozen=True)
class Caller:
    """What stands in `request.user`: no person.

    Args:
        is_gone: whether the client has hung up, as far as can be known.
    """

    token: AgentToken
    is_authenticated: bool = True
    is_gone: Callable[[], bool] = field(default=_is_here, compare=False)

    @property
    def agent(self) -> Agent:
        return self.token.agent


def caller_of(request: HttpRequest) -> Caller | None:
    """Return who calls by the header Authorization; None without it. Raise an error for any other."""
    scheme, _, secret = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    if not scheme:
        return None
    if scheme.lower() != "bearer" or not secret.strip():
        raise NotAuthenticated
    # A database that hangs would keep the call here for ever, before any tool's time begins.
    with deadlines.within(_SECONDS, waits_for_locks=False):
        token = tokens.find(secret.strip())
    if token is None:
        raise AuthenticationFailed
    tokens.touch(token)
    return Caller(token, is_gone=request.META.get("waitress.client_disconnected", _is_here))


class TokenAuthentication(BaseAuthentication):
    """What the settings name, and `http.openapi` describes; views call `caller_of`."""
