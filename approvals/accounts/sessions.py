"""Sessions in the database, with whose they are and from where: what `SESSION_ENGINE` names.

A person sees theirs and ends them. The key of one is as good as a password: pages and forms name it by a hash.
"""

from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.auth.signals import user_logged_in
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import Error as DatabaseError
from django.db.models import QuerySet
from django.dispatch import receiver
from django.http import HttpRequest
from django.utils import timezone
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from approvals import audit
from approvals.models import AuditEvent, BrowserSession, User
from memory_app.runtime import deadlines

#: Where the session itself keeps it, since each save writes the row anew.
_SIGNED_IN = "signed_in"
#: When a session was used is written this often, and waits so many seconds for a busy database.
_SEEN_EVERY, _SECONDS = timedelta(minutes=5), 0.5

#: What a User-Agent has for a browser, the first that it has: most have the names of others too.
_BROWSERS = {
    "Edg": "Edge",
    "OPR/": "Opera",
    "Firefox": "Firefox",
    "FxiOS": "Firefox",
    "CriOS": "Chrome",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
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

    def _get_session_from_db(self) -> BrowserSession | None:
        row: BrowserSession | None = super()._get_session_from_db()  # type: ignore[misc]
        if row is not None and row.user_id and row.seen_at < timezone.now() - _SEEN_EVERY:
            try:
                with deadlines.within(_SECONDS):
                    BrowserSession.objects.filter(pk=row.pk).update(seen_at=timezone.now())
            except DatabaseError:
                pass  # the next request writes it
        return row


@receiver(user_logged_in)
def _keep_from_where(request: HttpRequest, **kwargs: Any) -> None:
    browser, address = browser_of(request.headers.get("User-Agent", "")), audit.client_address(request)[:64]
    request.session[_SIGNED_IN] = {"at": timezone.now().isoformat(), "browser": browser, "address": address}


def browser_of(agent: str) -> str:
    """Return the names of the browser and its system, as known from its User-Agent; empty where neither is."""
    browser = next((name for mark, name in _BROWSERS.items() if mark in agent), "")
    return ", ".join(filter(None, (browser, next((name for name in _SYSTEMS if name in agent), ""))))


def sessions_of(user: User, current: str | None) -> list[dict[str, Any]]:
    """Return a person's sessions for their page, this one first and then the one used last."""
    rows = [
        {
            "reference": _reference(row),
            "browser": row.browser or _("Unknown browser"),
            "address": row.address,
            "since": row.since,
            "seen_at": row.seen_at,
            "is_this": row.session_key == current,
        }
        for row in _open(user)
    ]
    return sorted(rows, key=lambda row: not row["is_this"])


def end_sessions(user: User, which: str, current: str | None) -> int:
    """End one of a person's other sessions by its reference, or all `others`; return how many were ended."""
    ending = [row.pk for row in _open(user).exclude(pk=current) if which in ("others", _reference(row))]
    if ending:
        _open(user).filter(pk__in=ending).delete()
        audit.record(AuditEvent.Act.SESSIONS_ENDED, owner=user.username, detail=str(len(ending)))
    return len(ending)


def _open(user: User) -> QuerySet[BrowserSession]:
    return BrowserSession.objects.filter(user=user, expire_date__gt=timezone.now()).order_by("-seen_at")


def _reference(row: BrowserSession) -> str:
    return salted_hmac("approvals.session", row.session_key).hexdigest()[:32]
