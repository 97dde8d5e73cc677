"""Making, finding and revoking tokens. The only module that sees a secret.

A secret is random with 256 bits, so a plain SHA-256 is enough to keep it: there is nothing to guess, and
a slow hash would cost every call what it protects only for passwords.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.db import Error as DatabaseError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent_tools.models import AgentToken, Scope
from approvals.models import Agent, User
from memory_app.databases.prepared import Prepared
from memory_app.runtime import deadlines

log = structlog.get_logger(__name__)

PREFIX = "asn_"
_PREFIX_LENGTH = len(PREFIX) + 8
# Anything else is no token of ours, and need not reach the database (where a NUL would be an error).
_SECRET = re.compile(rf"{PREFIX}[a-z0-9]{{8}}_[A-Za-z0-9_-]{{43}}")
#: `last_used_at` is for people; writing it on every call would cost a write per read.
_TOUCH_EVERY = timedelta(minutes=1)
#: Seconds that may wait for a busy database.
_TOUCH_SECONDS = 1.0


#: Asked in each call, so that a revocation holds from the next one on, in every process.
_USABLE = Prepared(
    lambda prefix, now: (
        AgentToken.objects.usable(now)
        .filter(prefix=prefix, agent__is_active=True)
        .filter(Q(created_by=None) | Q(created_by__is_active=True))
        .select_related("agent")
        .order_by()
    ),
    prefix=str,
    now=datetime,
)


@dataclass(frozen=True)
class Issued:
    """A new token and its secret, which is not stored."""

    token: AgentToken
    secret: str


def issue(
    *,
    agent: Agent,
    scopes: Iterable[str],
    owners: Iterable[User] = (),
    all_owners: bool = False,
    created_by: User | None = None,
    expires_at: datetime | None = None,
) -> Issued:
    """Make a token.

    Args:
        scopes: values of `Scope`; unknown ones raise ValueError.
        owners: whom it serves; none, when empty and not `all_owners`.
        created_by: the person who asked for it: the token stops working when they are deactivated.
            None for the command line.
    """
    known = {Scope(scope) for scope in scopes}
    alphabet = string.ascii_lowercase + string.digits
    prefix = PREFIX + "".join(secrets.choice(alphabet) for _ in range(_PREFIX_LENGTH - len(PREFIX)))
    secret = f"{prefix}_{secrets.token_urlsafe(32)}"
    with transaction.atomic():
        token = AgentToken.objects.create(
            agent=agent,
            prefix=prefix,
            sha256=_sha256(secret),
            scopes=[scope.value for scope in Scope if scope in known],
            all_owners=all_owners,
            created_by=created_by,
            expires_at=expires_at,
        )
        token.owners.set(owners)
    return Issued(token=token, secret=secret)


def find(secret: str) -> AgentToken | None:
    """Return the usable token of this secret, of an active agent and an active maker; None otherwise.

    Unknown, revoked, expired and deactivated tokens get the same answer.
    """
    if not _SECRET.fullmatch(secret):
        return None
    token = _USABLE.first(prefix=secret[:_PREFIX_LENGTH], now=timezone.now())
    if token is None or not hmac.compare_digest(token.sha256, _sha256(secret)):
        return None
    return token


def touch(token: AgentToken) -> None:
    """Record that the token was used, at most once a minute; a failure to do so does not fail the call."""
    now = timezone.now()
    if token.last_used_at is not None and token.last_used_at >= now - _TOUCH_EVERY:
        return
    try:
        with deadlines.within(_TOUCH_SECONDS):
            AgentToken.objects.filter(pk=token.pk).update(last_used_at=now)
    except DatabaseError as error:
        log.warning("token_use_not_noted", token=token.prefix, error=type(error).__name__)


def revoke(token: AgentToken) -> None:
    """Revoke a token for good. Revoking it twice keeps the first time."""
    AgentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())


def stop_serving(token: AgentToken, owner: User) -> None:
    """Take one owner away from a token; a token that serves no other owner is revoked."""
    with transaction.atomic():
        token.owners.remove(owner)
        if not token.all_owners and not token.owners.exists():
            revoke(token)


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
