"""Pages for what went wrong: the whole page for a visit, a panel for a part of one.

The agent API answers its own errors. The root URL configuration uses these views for people's pages only.
"""

from __future__ import annotations

import sys

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render

from memory_app.runtime.unavailable import is_away

log = structlog.get_logger(__name__)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Django reports a body over its limit as a bad request, and a timeout away from the form it belongs to.
    if isinstance(exception, RequestDataTooBig):
        return _answer(request, "413", 413)
    return _answer(request, "400", 400)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, "403", 403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, "404", 404)


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """Return a page for an address that only forms are sent to: Django would answer with nothing at all.

    Args:
        allowed: the methods it takes, as the header names them.
    """
    response = _answer(request, "405", 405)
    response["Allow"] = allowed
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    # Django's own middleware loads and saves sessions outside of what any middleware of ours could catch.
    error = sys.exc_info()[1]
    if is_away(error):
        return away(request, error)
    # Without the request: what broke may well be what its context needs.
    return render(None, "500.html", status=500)


def away(request: HttpRequest, error: BaseException | None) -> HttpResponse:
    """Log what did not answer, and say so."""
    log.error("database_away", error=type(error).__name__, path=request.path, exc_info=error)
    return unavailable(request)


def unavailable(request: HttpRequest) -> HttpResponse:
    """Return the page for a database that does not answer, without the request, whose context reads one of them."""
    name = "components/error_part.html" if getattr(request, "htmx", False) else "503.html"
    response = render(None, name, {"error": "503"}, status=503)
    response["Retry-After"] = "10"
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a form whose secret did not match, mostly after signing out in another tab. It shows what was
    typed, to be copied."""
    try:
        typed = [value for name in ("comment", "said", "body") if (value := request.POST.get(name, "").strip())]
    except UnreadablePostError:  # the form never arrived in full
        typed = []
    return _answer(request, "403_csrf", 403, {"typed": typed})


def _answer(request: HttpRequest, name: str, status: int, context: dict[str, object] | None = None) -> HttpResponse:
    is_part = bool(getattr(request, "htmx", False))
    template = "components/error_part.html" if is_part else f"{name}.html"
    try:
        return render(request, template, {"error": name, **(context or {})}, status=status)
    except Exception as error:
        if not is_away(error):
            raise
        return away(request, error)
