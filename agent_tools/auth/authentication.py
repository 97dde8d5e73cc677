"""Who calls: an agent, by its bearer token. Sessions of people do not open the API."""

from __future__ import annotations

from dataclasses import dataclass

from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from agent_tools.auth import tokens
from agent_tools.models import AgentToken
from approvals.models import Agent
from memory_app.runtime import deadlines

#: Seconds for finding a token.
_SECONDS = 5.0


@dataclass(frozen=True)
class Caller:
    """What stands in `request.user`: no person."""

    token: AgentToken
    is_authenticated: bool = True

    @property
    def agent(self) -> Agent:
        return self.token.agent


class TokenAuthentication(BaseAuthentication):
    """`Authorization: Bearer <token>`, and nothing else."""

    def authenticate(self, request: Request) -> tuple[Caller, AgentToken] | None:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        if not scheme:
            return None
        # A database that hangs would keep the call here for ever, before any tool's time begins.
        with deadlines.within(_SECONDS):
            token = tokens.find(secret.strip()) if scheme.lower() == "bearer" else None
        if token is None:
            raise AuthenticationFailed
        tokens.touch(token)
        return Caller(token), token

    def authenticate_header(self, request: Request) -> str:
        """Make Django REST framework answer 401; the header itself is written in `http.exceptions`."""
        return 'Bearer realm="assent"'
