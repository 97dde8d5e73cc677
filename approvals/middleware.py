"""What every page needs around it: requests that can be read, a time in which they are answered, the viewer's time
zone, and an answer while a database is away."""

from __future__ import annotations

import zoneinfo
from collections.abc import Callable
from typing import Any

import csp.middleware
import django_htmx.middleware
from django.conf import settings
from django.contrib.auth import middleware as auth
from django.contrib.messages import middleware as messages
from django.contrib.sessions import middleware as sessions
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.middleware import locale
from django.utils import timezone
from django.utils.cache import patch_cache_control, patch_vary_headers

from approvals.models import User
from approvals.views import errors
from memory_app.runtime import deadlines
from memory_app.runtime.unavailable import is_away
from memory_app.webserver import addresses, charsets

#: Where agents call; the reference beside it (`/api/docs/`) is a page.
AGENT_API = "/api/v1/"

#: Addresses of machines: they have no session, and health must not ask a database who is asking.
_MACHINES = ("/api/", "/healthz", "/readyz")

#: Characters of an address without its query. Ours have at most 250; to see that `/admin/r/////…` of 8,000 is none,
#: the admin's own pattern takes half a second, of everyone's, with no one signed in.
LONGEST_PATH = 1_000


class ReadableMiddleware:
    """Refuses requests nobody can or wants to read, before anything reads them; stands before what does.

    Everything here is UTF-8 (`charsets`), without NUL. And Django takes in files whole, whatever their size
    and the page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not charsets.is_utf8((request.content_params or {}).get("charset", "")):
            return errors.bad_request(request)
        # The agent API has limits and answers of its own for each endpoint.
        if not request.path.startswith("/api/"):
            if _has_nul(request):
                return errors.bad_request(request)
            if len(request.path) > LONGEST_PATH:
                return errors.not_found(request)
            if addresses.is_refused(request) or _length(request) > _largest_body(request):
                return errors.bad_request(request, RequestDataTooBig())
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    """Names and sessions are looked up in PostgreSQL, where NUL is an error; Django's admin looks up anything."""
    if request.path.startswith("/admin/") and "%00" in request.META["QUERY_STRING"]:
        return True
    return "\0" in request.path or any("\0" in cookie for cookie in request.COOKIES.values())


def _length(request: HttpRequest) -> int:
    length: str = request.META.get("CONTENT_LENGTH") or "0"
    return int(length) if length.isascii() and length.isdigit() and len(length) < 20 else 0


def _largest_body(request: HttpRequest) -> int:
    return addresses.largest_body(request.path, api=settings.REQUEST_LIMIT, form=settings.DATA_UPLOAD_MAX_MEMORY_SIZE)


class DeadlineMiddleware:
    """Lets no request wait longer for its databases than `PAGE_TIMEOUT`, unless it is given more (`deadlines.allow`).

    Stands before what asks them: sessions, and who is signed in.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with deadlines.within(settings.PAGE_TIMEOUT):
            return self.get_response(request)


def for_pages(middleware: type) -> type:
    """A middleware of Django's that lets calls of the agent API pass: they have no session, form or language.

    All of them together took a fifth of the time of such a call.
    """

    def __call__(self: Any, request: HttpRequest) -> Any:  # noqa: N807 (a method, put into a class below)
        passes = request.path_info.startswith(AGENT_API)
        return self.get_response(request) if passes else middleware.__call__(self, request)

    return type(middleware.__name__, (middleware,), {"__call__": __call__, "__module__": __name__})


CSPMiddleware = for_pages(csp.middleware.CSPMiddleware)
SessionMiddleware = for_pages(sessions.SessionMiddleware)
LocaleMiddleware = for_pages(locale.LocaleMiddleware)
AuthenticationMiddleware = for_pages(auth.AuthenticationMiddleware)
MessageMiddleware = for_pages(messages.MessageMiddleware)
HtmxMiddleware = for_pages(django_htmx.middleware.HtmxMiddleware)


class TimezoneMiddleware:
    """Activates `User.time_zone` for the request. A zone that this machine does not know counts as UTC."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        # Without a cookie this costs nothing, not even loading a session.
        user = request.user if request.COOKIES and not request.path.startswith(_MACHINES) else None
        try:
            is_somebody = isinstance(user, User)  # this is what loads the session and the person
        except Exception as error:
            if not is_away(error):
                raise
            return errors.away(request, error)
        if is_somebody:
            assert isinstance(user, User)
            try:
                zone = zoneinfo.ZoneInfo(user.time_zone)
            except (zoneinfo.ZoneInfoNotFoundError, ValueError):
                zone = zoneinfo.ZoneInfo("UTC")
            with timezone.override(zone):
                return self.get_response(request)
        return self.get_response(request)


class PageMiddleware:
    """For pages: 503 with a way on while a database is away, and caches that know a part from a page.

    The agent API answers for itself, in its own shape, before this is asked.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if settings.DEBUG and response.status_code == 404 and request.resolver_match is None:
            response = errors.not_found(request)  # for an unknown address Django would show its list of addresses
        # One address answers whole pages and parts of them: without this, the browser's Back shows a
        # bare part as a page.
        patch_vary_headers(response, ["HX-Request"])
        # Memory text stays out of caches and of the browser's storage.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and "Cache-Control" not in response:
            patch_cache_control(response, private=True, no_store=True)
        return response

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Http404):
            return errors.not_found(request)  # also while debugging, where Django would show its own
        if isinstance(exception, UnreadablePostError):
            return errors.bad_request(request)  # the client went away or stopped: not an error of ours
        return errors.away(request, exception) if is_away(exception) else None
