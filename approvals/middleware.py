"""Middleware of the pages: refuse unreadable requests, set a deadline, activate the viewer's language and time zone,
and answer while a database is away."""

from collections.abc import Callable
from contextlib import ExitStack

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from django.utils import timezone, translation
from django.utils.cache import patch_cache_control, patch_vary_headers

from approvals import audit, language
from approvals.accounts import second_factor
from approvals.models import User
from approvals.notifications.mail import zone_of
from approvals.services.errors import ProposalNotFound
from approvals.views import panels
from approvals.views.request import whole_number
from memory_app.runtime import deadlines
from memory_app.runtime.unavailable import is_away
from memory_app.webserver import requests

#: Characters of an address without its query. Ours have at most 250. Without this limit, anyone could keep a processor
#: busy: the admin's own URL pattern takes half a second to reject `/admin/r/////…` of 8,000 characters.
LONGEST_PATH = 1_000


class Middleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response


class LanguageMiddleware(Middleware):
    """Speak the browser's language during a request for a page. To machines, English is spoken.

    In place of Django's, which leaves the thread speaking it, to the agent that is answered next.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if requests.is_machine(request.path):
            return self.get_response(request)
        with translation.override(language.of_browser(request)):
            return self.get_response(request)


class ReadableMiddleware(Middleware):
    """Refuse requests that are not UTF-8 (`requests.is_utf8`), contain NUL or are too large.

    Must come before every middleware that reads the request: Django would read uploaded files of any size, on any page.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not requests.is_utf8((request.content_params or {}).get("charset", "")):
            return panels.bad_request(request)
        # The agent API and /mcp have limits and answers of their own.
        if not request.path.startswith("/api/") and not requests.is_mcp(request.path):
            if _has_nul(request):
                return panels.bad_request(request)
            if len(request.path) > LONGEST_PATH:
                return panels.not_found(request)
            length = whole_number(request.META.get("CONTENT_LENGTH") or "", digits=19) or 0
            most = {"api": settings.REQUEST_LIMIT, "form": settings.DATA_UPLOAD_MAX_MEMORY_SIZE}
            if length > requests.largest_body(request.path, **most):
                return panels.bad_request(request, RequestDataTooBig())
        return self.get_response(request)


def _has_nul(request: HttpRequest) -> bool:
    """Whether the request contains NUL. PostgreSQL raises an error for it, and the admin looks up any parameter."""
    if request.path.startswith("/admin/") and "%00" in request.META["QUERY_STRING"]:
        return True
    return "\0" in request.path or any("\0" in cookie for cookie in request.COOKIES.values())


class DeadlineMiddleware(Middleware):
    """Set a deadline of `PAGE_TIMEOUT` for the databases; a view may move it (`deadlines.allow`). What the request does
    is recorded as its person's (`audit`).

    Must come before sessions and authentication, which query them.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with deadlines.within(settings.PAGE_TIMEOUT), audit.of_request(request):
            return self.get_response(request)


class ViewerMiddleware(Middleware):
    """Activate the viewer's time zone and the language they chose for the request; UTC where this machine does not know
    the zone."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with ExitStack() as during:
            during.enter_context(timezone.override(None))
            try:
                # Without a cookie there is no session to load. A health check must not query a database for one.
                if request.COOKIES and not requests.is_machine(request.path) and isinstance(request.user, User):
                    timezone.activate(zone_of(request.user))
                    if chosen := language.chosen_by(request.user):
                        during.enter_context(translation.override(chosen))
            except Exception as error:
                if not is_away(error):
                    raise
                return panels.away(request, error)
            return self.get_response(request)


class PageMiddleware(Middleware):
    """Ask staff for a second factor, answer 503 while a database is away and 405 with a page, and set the cache headers
    of pages and of their parts.

    The agent API handles these errors itself, in its own format.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if settings.DEBUG and response.status_code == 404 and request.resolver_match is None:
            response = panels.not_found(request)  # Django would show its list of addresses
        if response.status_code == 405 and not requests.is_machine(request.path):
            response = panels.not_allowed(request, response["Allow"])
        # One address answers whole pages and parts of them. Without this header, the browser's Back button shows a
        # part as a page.
        patch_vary_headers(response, ["HX-Request", "Accept-Language"])
        # Memory texts must not be kept in caches or in the browser's storage.
        if settings.SESSION_COOKIE_NAME in request.COOKIES and "Cache-Control" not in response:
            patch_cache_control(response, private=True, no_store=True)
        return response

    def process_view(self, request: HttpRequest, *view: object) -> HttpResponse | None:
        return second_factor.asked_first(request)

    def process_exception(self, request: HttpRequest, exception: Exception) -> HttpResponse | None:
        if isinstance(exception, Http404 | ProposalNotFound):
            return panels.not_found(request)  # in debug mode Django would show its own page
        if isinstance(exception, UnreadablePostError):
            return panels.bad_request(request)  # the client went away or stopped: not an error of ours
        return panels.away(request, exception) if is_away(exception) else None
