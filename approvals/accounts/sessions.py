"""Sessions in the database, with whose they are and from where: what `SESSION_ENGINE` names.

A person sees theirs and ends them. The key of one is as good as a password: pages and forms name it by a hash.
"""

from datetime import datetime, timedelta
from typing import Any

from allauth.account.authentication import get_authentication_records
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.base import UpdateError
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import InterfaceError, OperationalError
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone

from approvals import audit
from approvals.models import AuditEvent, BrowserSession, User
from memory_app.runtime import deadlines

#: Where the session itself keeps it, since each save writes the row anew.
_SIGNED_IN = "signed_in"
#: When a session was used is written this often, and waits so many seconds for a busy database.
_SEEN_EVERY, _SECONDS = timedelta(minutes=5), 0.5

#: What a User-Agent has for a browser, the first that it has: most have the names of others too.
_BROWSERS = {"Edg": "Edge", "OPR/": "Opera", "FxiOS": "Firefox", "CriOS": "Chrome"}
_BROWSERS |= {name: name for name in ("Firefox", "Chrome", "Safari")}
_SYSTEMS = ("Android", "iPhone", "iPad", "Windows", "CrOS", "Macintosh", "Linux")


class SessionStore(DatabaseStore):
    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        row: BrowserSession = super().create_model_instance(data)  # type: ignore[assignment]
        row.user_id = data.get(SESSION_KEY)
        if kept := data.get(_SIGNED_IN):
            row.browser, row.address, row.since = kept["browser"], kept["address"], datetime.fromisoformat(kept["at"])
        return row

    def save(self, must_create: bool = False) -> None:
        try:
            super().save(must_create)
        except UpdateError as error:
            # Django takes every failure for a session that was ended meanwhile, which is answered as a bad request.
            if isinstance(error.__context__, InterfaceError | OperationalError):
                raise error.__context__ from None
            raise

    def _get_session_from_db(self) -> BrowserSession | None:
        row: BrowserSession | None = super()._get_session_from_db()  # type: ignore[misc]
        if row is not None and row.user_id and row.seen_at < timezone.now() - _SEEN_EVERY:
            with deadlines.briefly(_SECONDS, "session_use_not_noted"):  # else the next request writes it
                BrowserSession.objects.filter(pk=row.pk).update(seen_at=timezone.now())
        return row


@receiver(user_logged_in)
def _signed_in(request: HttpRequest, user: User, **kwargs: Any) -> None:
    steps = get_authentication_records(request, user)
    ways = ", ".join(dict.fromkeys(step.get("type") or step.get("provider") or step["method"] for step in steps))
    audit.record(AuditEvent.Act.SIGNED_IN, owner=user.username, actor=user.username, detail=ways)
    browser, address = browser_of(request.headers.get("User-Agent", "")), audit.client_address(request)[:64]
    request.session[_SIGNED_IN] = {"at": timezone.now().isoformat(), "browser": browser, "address": address}


def browser_of(agent: str) -> str:
    """Return the names of the browser and its system, as known from its User-Agent; empty where neither is."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "")
    return ", ".join(filter(None, (browser, next((name for name in _SYSTEMS if name in agent), ""))))


def sessions_of(user: User) -> QuerySet[BrowserSession]:
    """Return a person's sessions, the one used last first."""
    return BrowserSession.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-seen_at")


def end_sessions(user: User, which: str, current: str | None) -> int:
    """End one of a person's other sessions by its reference, or all `others`; return how many were ended."""
    ending = [row.pk for row in sessions_of(user).exclude(pk=current) if which in ("others", row.reference)]
    if ending:
        BrowserSession.objects.filter(pk__in=ending).delete()
        audit.record(AuditEvent.Act.SESSIONS_ENDED, owner=user.username, detail=str(len(ending)))
    return len(ending)
