"""What people did that somebody may have to account for: one line in the log and one `AuditEvent` each.

Called from wherever it happens; who did it and from where comes from the request that this thread answers.
Not here: what agents did (`agent_tools.models.ToolCall`), and what was decided (`services.events`).
"""

import ipaddress
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.password_validation import MinimumLengthValidator
from django.contrib.auth.signals import user_logged_out, user_login_failed
from django.db import transaction
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.text import capfirst
from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from approvals.models import AuditEvent, BrowserSession, User
from assent_client.text import invisible
from memory_app.models import USERNAME
from memory_app.runtime import deadlines, rate_limit
from memory_app.runtime.unavailable import of_cache

log = structlog.get_logger(__name__)

#: Seconds that may wait for a busy database: no page fails, or is late, because it could not be recorded.
_SECONDS = 0.5
#: Who opens a kind of page of somebody's memory again within this time is not recorded again.
AGAIN = timedelta(minutes=10)

_request: ContextVar[HttpRequest | None] = ContextVar("request", default=None)


@contextmanager
def of_request(request: HttpRequest) -> Iterator[None]:
    """Record what happens in this block as done by this request's person."""
    before = _request.set(request)
    try:
        yield
    finally:
        _request.reset(before)


def record(what: AuditEvent.Act, *, owner: str = "", detail: str = "", actor: str | None = None) -> None:
    """Record one event.

    Args:
        owner: the username of whom it is about, if it is about one.
        detail: words for admins, cut at 200 characters: a kind, a right, the visible prefix of a token.
        actor: a username; by default the person of the request.
    """
    record_all(what, [(owner, detail)], actor=actor)


def record_all(what: AuditEvent.Act, about: Iterable[tuple[str, str]], *, actor: str | None = None) -> None:
    """Record one event for each of these owners and details, see `record`."""
    request = _request.get()
    if actor is None:
        actor = getattr(request, "user", AnonymousUser()).get_username()
    address = invisible.plain(client_address(request))[:64] if request else ""
    request_id = structlog.contextvars.get_contextvars().get("request_id", "")
    events = []
    for owner, detail in about:
        detail = invisible.plain(" ".join(detail.split()))[:200]
        values = {"what": what.value, "actor": actor, "owner": owner, "detail": detail, "address": address}
        events.append(AuditEvent(**values, request_id=request_id))
    if events:
        # Not in somebody's transaction, which would end with it where the table is locked.
        transaction.on_commit(partial(_write, events))


def _write(events: list[AuditEvent]) -> None:
    for event in events:
        log.info("audit", **{name: getattr(event, name) for name in ("what", "actor", "owner", "detail", "address")})
    with deadlines.briefly(_SECONDS + len(events) / 1_000, "audit_not_stored", what=events[0].what):
        AuditEvent.objects.bulk_create(events, batch_size=500)


#: What is opened, by the third part of the address of its page; other pages are of the memory as a whole.
_KINDS = (_("blocks"), _("notes"), _("conversations"), _("search"), _("export"))
#: The others that are recorded.
_WHOLE, _PROPOSALS = _("memory"), _("proposals")


def opened(owner: str, detail: str) -> None:
    """Record that the person of this request was shown something of another's memory, once in `AGAIN` for each kind.

    Args:
        owner: a username; empty for a list of several people's.
        detail: the kind, or the address of the page, from which it is read.
    """
    if detail.startswith("/"):
        part = next(iter(detail.split("/")[3:4]), "")
        detail = part if part in _KINDS else _WHOLE
    viewer = getattr(_request.get(), "user", AnonymousUser()).get_username()
    if viewer != owner and _is_first(f"opened\n{viewer}\n{owner}\n{detail}", AGAIN):
        record(AuditEvent.Act.OPENED, owner=owner, detail=detail)


def in_words(detail: str) -> str:
    """Return what was opened, which is recorded in English, in the language that is spoken."""
    kind, bracket, where = detail.partition(" (")
    return capfirst(gettext(kind)) + bracket + where


def limited(of: str, name: str, window: timedelta) -> None:
    """Record that a limit on attempts was exceeded, once in its window.

    Args:
        of: the key under which the attempts are counted.
        name: what was typed as a name.
    """
    if _is_first(of, window):
        record(AuditEvent.Act.LIMITED, owner=_account(name), detail=of.partition(":")[0])


def _is_first(what: str, window: timedelta) -> bool:
    # Without a cache rather twice than not at all.
    key = rate_limit.key_of("audit", what)
    return not of_cache(lambda: rate_limit.hit(key, 1, window), False, event="audit_not_counted")


def purge() -> int:
    """Delete events older than `settings.AUDIT_DAYS` (0 keeps all); return how many there were."""
    if not settings.AUDIT_DAYS:
        return 0
    return AuditEvent.objects.filter(at__lt=timezone.now() - timedelta(days=settings.AUDIT_DAYS)).delete()[0]


def client_address(request: HttpRequest) -> str:
    """Return where the request comes from, as the outermost of the trusted proxies saw it.

    Of an IPv6 address the network, since one customer has all of its addresses.
    """
    address: str = request.META.get("REMOTE_ADDR", "")
    proxies: int = settings.TRUSTED_PROXIES
    forwarded = request.headers.get("X-Forwarded-For", "").split(",")
    if proxies and forwarded != [""]:
        address = forwarded[-min(proxies, len(forwarded))].strip()
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(ip, ipaddress.IPv4Address):
        return str(ip)
    return str(ip.ipv4_mapped or ipaddress.ip_network((ip, 64), strict=False))


# -- What Django tells: signing in and out, and passwords.


def _account(name: str) -> str:
    """Return the username if somebody has it, else nothing: a name nobody has may be a password in the wrong field."""
    return name if USERNAME.fullmatch(name) and User.objects.filter(username=name).exists() else ""


@receiver(user_logged_out)
def _signed_out(user: User | None, **kwargs: Any) -> None:
    if user is not None:  # the session had ended before
        record(AuditEvent.Act.SIGNED_OUT, owner=user.username, actor=user.username)


@receiver(user_login_failed)
def _sign_in_failed(credentials: dict[str, Any], **kwargs: Any) -> None:
    owner = _account(str(credentials.get("username", "")))
    record(AuditEvent.Act.SIGN_IN_FAILED, owner=owner, detail="" if owner else "unknown name", actor="")


#: Pages that a mailed link leads to.
_MAILED = ("password_reset_confirm", "invitation")


class RecordedPassword(MinimumLengthValidator):
    """The least length of a password; and, since Django tells validators of it, what follows from a new one.

    Other sessions of the person would end when they are used next; they end here, so that none is listed.
    """

    def password_changed(self, password: str, user: User | None = None) -> None:
        if user is None:
            return
        request = _request.get()
        match = request.resolver_match if request else None
        is_mailed = match is not None and match.url_name in _MAILED
        if is_mailed:
            User.objects.filter(pk=user.pk).update(proved_email=user.email)
        record(AuditEvent.Act.PASSWORD_SET, owner=user.username, detail="by a mailed link" if is_mailed else "")
        session = getattr(request, "session", None)
        others = BrowserSession.objects.filter(user=user.pk)
        others.exclude(session_key=session.session_key if session else None).delete()
