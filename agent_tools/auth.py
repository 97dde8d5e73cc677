"""Who calls and what they may: tokens, how often one may call, and which owners it serves.

Called from everywhere in this app. The only module that sees a secret, and the only one that decides which owners a
token serves, so that an owner not granted is never read. Sessions of people do not open the API.

A secret is random with 256 bits, so a plain SHA-256 is enough to keep it: there is nothing to guess, and
a slow hash would cost every call what it protects only for passwords.
"""

import hashlib
import hmac
import re
import secrets
import string
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from allauth.idp.oidc.models import Token as Grant
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone
from rest_framework.authentication import BaseAuthentication
from rest_framework.exceptions import AuthenticationFailed, NotAuthenticated, Throttled

from agent_tools.errors import ApiError, ErrorCode, error_because
from agent_tools.models import AgentToken, Scope
from approvals import audit
from approvals.models import Agent, AuditEvent, Event, Proposal, ProposalQuerySet, User
from memory_app.databases.prepared import Prepared
from memory_app.models import USERNAME
from memory_app.runtime import deadlines, rate_limit, turns
from memory_app.runtime.unavailable import of_cache
from memory_app.webserver import requests

PREFIX = "asn_"
_PREFIX_LENGTH = len(PREFIX) + 8
# Anything else is no token of ours, and need not reach the database (where a NUL would be an error).
_SECRET = re.compile(rf"{PREFIX}[a-z0-9]{{8}}_[A-Za-z0-9_-]{{43}}")
_ACCESS = re.compile(r"[A-Za-z0-9._~+/-]{16,100}")
#: `last_used_at` is for people; writing it on every call would cost a write per read.
_TOUCH_EVERY = timedelta(minutes=1)
#: Seconds that may wait for a busy database.
_TOUCH_SECONDS = 1.0


#: Asked in each call, so that a revocation holds from the next one on, in every process.
_USABLE = Prepared(
    lambda prefix, now: (
        AgentToken.objects.working(now)
        .filter(prefix=prefix)
        .select_related("agent")
        .only(
            *("prefix", "sha256", "scopes", "toolset", "all_owners", "last_used_at", "tells_after", "first"),
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
    toolset: str = "",
    grant: str = "",
) -> Issued:
    """Make a token.

    Args:
        scopes: see `Scope.granted`.
        owners: whom it serves; none, when empty and not `all_owners`.
        created_by: the person who asked for it: the token stops working when they are deactivated, and, where it
            serves others, when they are no longer staff. None for the command line.
        toolset: names of sets, with commas; see `calls.toolsets`.
        grant: see `AgentToken.grant`.
    """
    owners = list(owners)
    with transaction.atomic():
        issued = _made(
            owners,
            agent=agent,
            scopes=Scope.granted(scopes),
            toolset=toolset,
            grant=grant,
            all_owners=all_owners,
            created_by=created_by,
            expires_at=expires_at,
            tells_after=newest_event(),
        )
    _record(AuditEvent.Act.TOKEN_MADE, issued.token, owners)
    return issued


def _record(what: AuditEvent.Act, token: AgentToken, owners: Iterable[User], more: str = "") -> None:
    """Record what a person did with a token that serves these owners."""
    names = [owner.username for owner in owners]
    served = "everyone" if token.all_owners else ", ".join(names)
    detail = f"{token.agent.name} {token.prefix}… {more}for {served}"
    audit.record(what, owner=names[0] if len(names) == 1 else "", detail=detail)


def _made(owners: Iterable[User], **fields: Any) -> Issued:
    """Return a new token with these fields that serves these owners, and its secret."""
    alphabet = string.ascii_lowercase + string.digits
    prefix = PREFIX + "".join(secrets.choice(alphabet) for _ in range(_PREFIX_LENGTH - len(PREFIX)))
    secret = f"{prefix}_{secrets.token_urlsafe(32)}"
    token = AgentToken.objects.create(prefix=prefix, sha256=_sha256(secret), **fields)
    token.owners.set(owners)
    return Issued(token=token, secret=secret)


def may_rotate(token: AgentToken, user: User) -> bool:
    """Whether a person may ask for a new secret of a token: one with the rights of those they can make for themselves.

    A token that serves others would open their memory, one of another's agent would let its holder propose under that
    agent's name. Those an admin rotates.
    """
    if token.grant or token.all_owners or token.agent.created_by_id != user.pk or not token.agent.is_active:
        return False
    if not token.is_usable or hasattr(token, "replaced_by"):
        return False
    return [owner.pk for owner in token.owners.all()] == [user.pk]


def rotate(token: AgentToken, *, by: User, until: datetime | None) -> Issued:
    """Make a new secret with the rights of a token: its agent, scopes, owners and end.

    Args:
        by: who asked for it, with whose rights the new token ends.
        until: when the old secret ends; None leaves it as it was, until somebody revokes it.

    Raises:
        NotRotatable: the token was replaced before, ended, or opens nothing any more.
    """
    try:
        with transaction.atomic():
            # Locked, so that who is served is not narrowed between reading and copying it.
            old = AgentToken.objects.select_for_update(no_key=True).get(pk=token.pk)
            if old.grant or not AgentToken.objects.working().filter(pk=old.pk).exists():
                raise NotRotatable
            kept = ("agent", "scopes", "toolset", "all_owners", "expires_at", "tells_after", "owners_since")
            same = {name: getattr(old, name) for name in kept}
            owners = list(old.owners.all())
            new = _made(owners, created_by=by, replaces=old, first_id=old.original_id, **same)
            if until is not None and (old.expires_at is None or until < old.expires_at):
                AgentToken.objects.filter(pk=old.pk).update(expires_at=until)
    except IntegrityError as error:
        raise NotRotatable from error
    _record(AuditEvent.Act.TOKEN_ROTATED, new.token, owners, f"replaces {old.prefix}… ")
    return new


def find(secret: str) -> AgentToken | None:
    """Return the token of this secret that works (`AgentTokenQuerySet.working`); None otherwise.

    Unknown, revoked, expired and deactivated tokens get the same answer.
    """
    if not _SECRET.fullmatch(secret):
        return None
    token = _USABLE.first(prefix=secret[:_PREFIX_LENGTH], now=timezone.now())
    if token is None or not hmac.compare_digest(token.sha256, _sha256(secret)):
        return None
    return token


def find_connected(secret: str) -> AgentToken | None:
    """Return the token that works and that an access token of OAuth stands for; None otherwise."""
    access = Grant.objects.lookup(Grant.Type.ACCESS_TOKEN, secret) if _ACCESS.fullmatch(secret) else None
    if access is None:
        return None
    return AgentToken.objects.working().filter(grant=access.get_grant_id()).select_related("agent").first()


def find_again(token: AgentToken) -> AgentToken | None:
    """Return a token as it is now, after its caller has waited; None where it is no longer usable."""
    return _USABLE.first(prefix=token.prefix, now=timezone.now())


def touch(token: AgentToken) -> None:
    """Record that the token was used, at most once a minute; a failure to do so does not fail the call."""
    now = timezone.now()
    if token.last_used_at is not None and token.last_used_at >= now - _TOUCH_EVERY:
        return
    with deadlines.briefly(_TOUCH_SECONDS, "token_use_not_noted", token=token.prefix):
        AgentToken.objects.filter(pk=token.pk).update(last_used_at=now)


def revoke(token: AgentToken) -> None:
    """Revoke a token for good. Revoking it twice keeps the first time."""
    if AgentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now()):
        _record(AuditEvent.Act.TOKEN_REVOKED, token, token.owners.all())


def stop_serving(token: AgentToken, owner: User) -> None:
    """Take one owner away from a token; a token that serves no other owner is revoked."""
    with transaction.atomic():
        token.owners.remove(owner)
        AgentToken.objects.filter(pk=token.pk).update(owners_since=timezone.now())
        if not token.all_owners and not token.owners.exists():
            AgentToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    _record(AuditEvent.Act.TOKEN_REVOKED, token, [owner])


def newest_event() -> int:
    """Return the id of the last event there is; 0 without any."""
    return Event.objects.order_by("-pk").values_list("pk", flat=True).first() or 0


def _sha256(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


#: Seconds for finding a token.
_SECONDS = 5.0
_MINUTE = timedelta(minutes=1)
#: Seconds after which a call finds a place that other calls of its token have had for seconds.
_TRY_AGAIN = 2


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
        token = find(secret.strip())
        # These are for /mcp, which the client named when it asked for them.
        if token is None and requests.is_mcp(request.path_info):
            token = find_connected(secret.strip())
    if token is None:
        raise AuthenticationFailed
    touch(token)
    return Caller(token, is_gone=request.META.get("waitress.client_disconnected", _is_here))


@contextmanager
def calling(token: AgentToken) -> Iterator[None]:
    """Count a call, and hold one of the token's places for calls under way during the block.

    More calls than `settings.CALLS_UNDER_WAY` wait for a place: most agents that call in parallel have a few calls more
    than that for a moment. The web server lets few of them come so far, without a thread (`webserver.server`); here
    those of all processes are counted, where they share a cache.

    Raises:
        Throttled: as `count_call` does.
        ApiError: no place became free for seconds.
    """
    most = settings.CALLS_UNDER_WAY
    place = turns.awaited(f"calls of {token.original_id}", most) if count_call(token) else nullcontext(True)
    with place as has_place:
        if not has_place:
            message = f"{most} calls with this token are under way, which is as many as may be. Try again shortly."
            raise ApiError(ErrorCode.TOO_MANY_AT_ONCE, message, details={"most": most}, retry_after=_TRY_AGAIN)
        yield


def count_call(token: AgentToken) -> bool:
    """Count a call, and return whether there is a cache that counts.

    Raise Throttled, with the seconds to wait, where it is over the limit.

    The limit is `settings.RATE_LIMIT` in each minute of the clock, so that Retry-After is exact. A throttle of Django
    REST framework reads, appends and writes a list of times: two calls at once count as one, and a burst keeps a token
    out for a minute after its last call.
    A cache that is away lets calls through: the limit protects the installation, and refusing every call would do
    what it is there to prevent.
    A token and the one it replaces are counted as one: while both are valid, they have no more calls than one has.
    """
    now, seconds = time.time(), _MINUTE.total_seconds()
    minute = int(now // seconds)
    key = f"calls:{token.original_id}:{minute}"
    is_over = of_cache(lambda: rate_limit.hit(key, settings.RATE_LIMIT, _MINUTE), None, event="rate_limit_not_counted")
    if is_over:
        raise Throttled((minute + 1) * seconds - now)
    return is_over is not None


class TokenAuthentication(BaseAuthentication):
    """What the settings name, and `http.openapi` describes; views call `caller_of`."""


_OWNER = Prepared(lambda name: _active(name), name=str)
_SERVED = Prepared(lambda name, token: _active(name).filter(agent_tokens=token), name=str, token=int)


def _active(name: str) -> QuerySet[User, int]:
    return User.objects.filter(username=name, is_active=True).order_by().values_list("pk", flat=True)


def require_scope(token: AgentToken, *scopes: Scope) -> None:
    """Raise `missing_scope` unless the token has one of them; the first is the one asked for."""
    if has_scope(token, *scopes):
        return
    raise ApiError(
        ErrorCode.MISSING_SCOPE,
        f"This token does not have the scope {' or '.join(scope.value for scope in scopes)}.",
        help=["Every call of this kind fails with it: tell the user, who may give another."],
        details={"required": scopes[0].value, "granted": list(token.scopes)},
        headers={"WWW-Authenticate": f'Bearer realm="assent", error="insufficient_scope", scope="{scopes[0].value}"'},
    )


def has_scope(token: AgentToken, *scopes: Scope) -> bool:
    """Whether the token has one of them."""
    return any(scope.value in token.scopes for scope in scopes)


def owner_for(token: AgentToken, user_id: object) -> str:
    """Return the owner a call is about.

    Args:
        user_id: as the caller gave it, or None. It may be left out when the token serves one owner.

    Raises:
        ApiError: `invalid_arguments` when it is missing or no username; `owner_not_granted` when the token
            does not serve that owner, whether there is one of that name or not.
    """
    if user_id is None:
        if owner := sole_owner(token):
            return owner
        serves = "every owner" if token.all_owners else "several owners" if _served(token) else "nobody"
        raise _bad_user_id(f"is required: this token serves {serves}", whom_it_serves(token))
    if not isinstance(user_id, str) or not USERNAME.fullmatch(user_id):
        raise _bad_user_id("must be a username: 1 to 64 of a-z, 0-9, dot, underscore and dash", whom_it_serves(token))
    served = _OWNER.first(name=user_id) if token.all_owners else _SERVED.first(name=user_id, token=token.pk)
    if served is None:
        raise ApiError(
            ErrorCode.OWNER_NOT_GRANTED,
            f"This token does not serve user_id '{user_id}'.",
            help=[whom_it_serves(token)],
            details={"user_id": user_id},
        )
    return user_id


#: Owners of a token that are named where one has to be chosen.
_NAMED_MOST = 20


def whom_it_serves(token: AgentToken) -> str:
    if token.all_owners:
        return "It serves everyone: user_id is the username of the person this is about, which your host or they know."
    owners = owners_beginning(token, "", _NAMED_MOST + 1)
    if len(owners) == 1:
        return f"It serves {owners[0]}: leave user_id out."
    more = ", and more, whom your host knows (GET /api/v1/token/)" if len(owners) > _NAMED_MOST else ""
    named = ", ".join(owners[:_NAMED_MOST])
    return f"It serves {named}{more}: give one as user_id." if owners else "It serves nobody."


def sole_owner(token: AgentToken) -> str | None:
    """Return whom the token serves where that is one owner; None where it serves several, everyone or nobody."""
    usernames = [] if token.all_owners else _served(token)
    return usernames[0] if len(usernames) == 1 else None


def owners_beginning(token: AgentToken, beginning: str, most: int) -> list[str]:
    """Return the first owners the token serves whose username begins so, in the order of the alphabet."""
    return list(served_owners(token).filter(username__startswith=beginning).order_by("username")[:most])


def visible_proposals(token: AgentToken, owner: str | None = None) -> ProposalQuerySet:
    """Return the proposals of the token's agent, made with any of its tokens, for owners this token serves."""
    proposals = Proposal.objects.filter(is_served(token), agent=token.agent_id)
    return proposals if owner is None else proposals.of_owner(owner)


def is_served(token: AgentToken) -> Exists:
    """Return the condition that the `owner` of a row is one this token serves.

    Each row that is read asks for its owner. Of `owner IN (SELECT …)`, SQLite makes a list of all people first.
    """
    return _is_of(_people_of(token))


def served_owners(token: AgentToken) -> QuerySet[User, str]:
    """Return the usernames of the owners this token serves."""
    return _people_of(token).order_by().values_list("username", flat=True)


def _people_of(token: AgentToken) -> QuerySet[User]:
    return _ACTIVE if token.all_owners else _ACTIVE.filter(agent_tokens=token)


def _is_of(people: QuerySet[User]) -> Exists:
    return Exists(people.filter(username=OuterRef("owner")))


def visible_proposal(token: AgentToken, proposal_id: int) -> Proposal | None:
    """Return that one of `visible_proposals`, with who decided and its agent."""
    asked = {"pk": proposal_id, "agent": token.agent_id}
    return _ONE.first(**asked) if token.all_owners else _ONE_OF_SERVED.first(**asked, token=token.pk)


def _one(pk: int, agent: int, owners: QuerySet[User]) -> ProposalQuerySet:
    visible = Proposal.objects.filter(_is_of(owners), agent=agent, pk=pk)
    return visible.select_related("decided_by", "agent").order_by()


_ACTIVE = User.objects.filter(is_active=True)
_NAMED = Prepared(
    lambda token: _ACTIVE.filter(agent_tokens=token).order_by().values_list("username", flat=True)[:2], token=int
)
_ONE = Prepared(lambda pk, agent: _one(pk, agent, _ACTIVE), pk=int, agent=int)
_ONE_OF_SERVED = Prepared(
    lambda pk, agent, token: _one(pk, agent, _ACTIVE.filter(agent_tokens=token)), pk=int, agent=int, token=int
)


def agents_serving(owner: str) -> set[int]:
    """Return the ids of the agents with a usable token for an owner; for `approvals.review.trust`."""
    return set(AgentToken.objects.working().serving(owner).order_by().values_list("agent_id", flat=True))


def _served(token: AgentToken) -> list[str]:
    """Return the first two of the owners named for the token."""
    return _NAMED.all(token=token.pk)


def _bad_user_id(reason: str, *help: str) -> ApiError:
    message, details = f"invalid arguments: user_id {reason}.", {"fields": {"user_id": reason}}
    return error_because(ErrorCode.INVALID_ARGUMENTS, "Error", message, help=help, details=details)
