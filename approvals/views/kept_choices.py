"""How a person wants lists and changes to look. Cookies, since a session would be a row written at each switch."""

from __future__ import annotations

from collections.abc import Container
from datetime import timedelta

from django.conf import settings
from django.http import HttpResponse
from django.urls import reverse

from approvals.views.request import Request

_KEPT = timedelta(days=365)


def chosen(request: Request, name: str, offered: Container[str]) -> str:
    """Return which of `offered` was chosen last; empty where none was."""
    kept: str = request.COOKIES.get(_cookie(name), "")
    return kept if kept in offered else ""


def keep(response: HttpResponse, name: str, value: str) -> None:
    """Have the browser remember a choice for a year."""
    response.set_cookie(
        _cookie(name),
        value,
        max_age=_KEPT,
        path=reverse("inbox"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie(name: str) -> str:
    return f"assent_{name}"
