"""Requests: what our middleware adds to them, which of them a view answers, numbers read from their addresses, and
cookies with how a person wants lists and changes to look."""

from collections.abc import Callable, Container
from datetime import timedelta

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST, require_safe
from django_htmx.middleware import HtmxDetails

from approvals.accounts.sign_in import View, signed_in

#: How long a choice is kept. In cookies, since a session would be a row written at each switch.
_KEPT = timedelta(days=365)


class Request(HttpRequest):
    """The type of a request in our views; no instance of it is made.

    Attributes:
        htmx: true when a part of a page is asked for.
        waiting: how many proposals wait for the viewer, set by a view that counted them anyway.
    """

    htmx: HtmxDetails
    waiting: int


def reading_page(view: View) -> View:
    """Let only signed-in people in, and only to read."""
    return signed_in()(require_safe(view))


def form_page(view: View, *, return_to: Callable[..., str] | None = None) -> View:
    """Let only signed-in people in, to read a page with a form or to send that form; see `signed_in`."""
    return signed_in(return_to=return_to)(require_http_methods(["GET", "HEAD", "POST"])(view))


def verb(return_to: Callable[..., str]) -> Callable[[View], View]:
    """Let only signed-in people in, to send a form of another page.

    Args:
        return_to: that page, from the view's arguments; see `signed_in`.
    """
    return lambda view: signed_in(return_to=return_to)(require_POST(view))


def is_read(request: HttpRequest) -> bool:
    """Whether somebody reads the answer: not for HEAD, and not for a page that a browser loads ahead."""
    ahead = request.headers.get("Sec-Purpose", "") or request.headers.get("Purpose", "")
    return request.method == "GET" and "prefetch" not in ahead


def whole_number(text: str, *, digits: int = 9) -> int | None:
    """Return a number from an address; None for anything else, and for more than `digits` digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None


def chosen(request: Request, name: str, offered: Container[str]) -> str:
    """Return which of `offered` was chosen last; empty where none was."""
    kept: str = request.COOKIES.get(f"assent_{name}", "")
    return kept if kept in offered else ""


def keep(response: HttpResponse, name: str, value: str) -> None:
    """Have the browser remember a choice for a year."""
    response.set_cookie(
        f"assent_{name}",
        value,
        max_age=_KEPT,
        path=reverse("inbox"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )
