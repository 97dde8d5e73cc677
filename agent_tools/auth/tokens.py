"""Making, rotating, finding and revoking tokens. The only module that sees a secret.

A secret is random with 256 bits, so a plain SHA-256 is enough to keep it: there is nothing to guess, and
a slow hash would cost every call what it protects only for passwords.
"""

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
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from agent_tools.models import AgentToken, Scope
from approvals.models import Agent, Event, User
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
        .only(
            *("prefix", "sha256", "scopes", "all_owners", "last_used_at", "tells_after", "first"),
            *("agent__name", "agent__is_active", "agent__created_by"),
        )
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


class NotRotatable(Exception):
    """The token has no second replacement: it was replaced before, it ended, or it has no secret."""


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
        scopes: see `Scope.granted`.
        owners: whom it serves; none, when empty and not `all_owners`.
        created_by: the person who asked for it: the token stops working when they are deactivated.
            None for the command line.
    """
    prefix, secret = _new_secret()
    with transaction.atomic():
        token = AgentToken.objects.create(
            agent=agent,
            prefix=prefix,
            sha256=_sha256(secret),
            scopes=Scope.granted(scopes),
            all_owners=all_owners,
            created_by=created_by,
            expires_at=expires_at,
            tells_after=_newest_event(),
        )
        token.owners.set(owners)
    return Issued(token=token, secret=secret)


def may_rotate(token: AgentToken, user: User) -> bool:
    """Whether a person may ask for a new secret of a token: one with the rights of those they can make for themselves.

    A token that serves others would open their memory, one of another's agent would let its holder propose under that
    agent's name. Those an admin rotates.
    """
    if token.all_owners or token.agent.created_by_id != user.pk or not token.agent.is_active:
        return False
    if not token.is_usable or hasattr(token, "replaced_by"):
        return False
    return [owner.pk for owner in token.owners.all()] == [user.pk]


def rotate(token: AgentToken, *, by: User, until: datetime | None) -> Issued:
    """Make a new secret with the rights of a token: its agent, scopes, owners and end.

    Args:
        by: who asked for it: the new token stops working when they are deactivated.
        until: when the old secret ends; None leaves it as it was, until somebody revokes it.

    Raises:
        NotRotatable: the token was replaced before, or ended.
    """
    prefix, secret = _new_secret()
    try:
        with transaction.atomic():
            # Locked, so that who is served is not narrowed between reading and copying it.
            old = AgentToken.objects.select_for_update(no_key=True).get(pk=token.pk)
            if not old.is_usable or not old.agent.is_active:
                raise NotRotatable
            new = AgentToken.objects.create(
                agent=old.agent,
                prefix=prefix,
                sha256=_sha256(secret),
                scopes=old.scopes,
                all_owners=old.all_owners,
                created_by=by,
                expires_at=old.expires_at,
                tells_after=old.tells_after,
                replaces=old,
                first_id=old.original_id,
                owners_since=old.owners_since,
            )
            new.owners.set(old.owners.all())
            if until is not None and (old.expires_at is None or until < old.expires_at):
                AgentToken.objects.filter(pk=old.pk).update(expires_at=until)
    except IntegrityError as error:
        raise NotRotatable from error
    log.info("token_rotated", agent=old.agent.name, old=old.prefix, new=prefix, by=by.username)
    return Issued(token=new, secret=secret)


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


def find_again(token: AgentToken) -> AgentToken | None:
    """Return a token as it is now, after its caller has waited; None where it is no longer usable."""
    return _USABLE.first(prefix=token.prefix, now=timezone.now())


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
        AgentToken.objects.filter(pk=token.pk).update(owners_since=timezone.now())
        if not token.all_owners and not token.owners.exists():
            revoke(token)


def _newest_event() -> int:
    return Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _new_secret() -> tuple[str, str]:
    """Return a prefix and the secret that begins with it."""
    alphabet = string.ascii_lowercase + string.digits
    prefix = PREFIX + "".join(secrets.choice(alphabet) for _ in range(_PREFIX_LENGTH - len(PREFIX)))
    return prefix, f"{prefix}_{secrets.token_urlsafe(32)}"


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
