"""Template variables of every page: how many proposals wait for its reader, and the section it belongs to."""

from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.utils.functional import SimpleLazyObject

from approvals import permissions
from approvals.models import User
from approvals.pages import inbox

_REVIEW = frozenset({"inbox", "proposal", "approve", "reject", "edit", "resolve"})


def navigation(request: HttpRequest) -> dict[str, Any]:
    """Return the variables.

    `waiting`: counted when the page prints it, unless the view has counted already (`request.waiting`).
    `section`: the part of the navigation to highlight; a view may set another. `has_board`: whether they read other
    people's memory, too. `has_agents`: for staff, and for people with a token of their own; others find the page in
    Settings. `csrf_cookie`: where scripts find the token. `notes_are_off`: whether the pages about notes show that
    notes are switched off.
    """
    user = getattr(request, "user", None)
    if not isinstance(user, User):
        return {"waiting": 0, "section": "", "csrf_cookie": settings.CSRF_COOKIE_NAME}
    match = request.resolver_match
    return {
        "waiting": SimpleLazyObject(lambda: _waiting(request, user)),
        "has_board": SimpleLazyObject(lambda: permissions.readable_owners(user) != [user.username]),
        "has_agents": SimpleLazyObject(lambda: user.is_staff or permissions.has_token(user)),
        "csrf_cookie": settings.CSRF_COOKIE_NAME,
        "notes_are_off": not settings.MEMORIES_ENABLED,
        "section": "review" if match and match.url_name in _REVIEW else "",
    }


def _waiting(request: HttpRequest, user: User) -> int:
    counted: int | None = getattr(request, "waiting", None)
    return inbox.waiting_for(user) if counted is None else counted
