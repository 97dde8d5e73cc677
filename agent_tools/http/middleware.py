"""The id of a request, taken from the caller or made here, in each log line and in the answer; a line for each page (a
call's is `execution.Audit`'s); and the short way of a call to its view.

Also the last guard of the error shape: what Django itself answers under /api/ and at /mcp (a bad host, an exception
before or after a view) is sent as JSON like every other error there.
"""

import re
import time
import uuid
from typing import Any

import structlog
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import resolve

from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import json_rpc, messages
from approvals.middleware import Middleware
from memory_app.configuration import logs
from memory_app.runtime import deadlines
from memory_app.webserver import requests

log = structlog.get_logger(__name__)

# Goes into logs and headers as it is, so nothing in it may break a line or a terminal.
_VALID = re.compile(r"[A-Za-z0-9._:-]{1,64}")


class RequestIdMiddleware(Middleware):
    """`X-Request-ID` in and out, bound to structlog's context for the time of the request."""

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.META.get("HTTP_X_REQUEST_ID", "")
        request_id = given if _VALID.fullmatch(given) else uuid.uuid4().hex
        began = time.perf_counter()
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            if requests.is_machine(request.path):
                response = _in_our_shape(response, is_mcp=requests.is_mcp(request.path))
            elif request.resolver_match or response.status_code >= 400:  # a file has no route
                duration_ms = round((time.perf_counter() - began) * 1000, 2)
                said = {"method": request.method, "status": response.status_code, "duration_ms": duration_ms}
                log.info("page", route=logs.route_of(request), **said)
        response["X-Request-ID"] = request_id
        if not response.streaming and not response.has_header("Content-Length"):
            response["Content-Length"] = str(len(response.content))  # the web server would send it in chunks
        return response


class CallMiddleware(Middleware):
    """Answer calls of agents here, before the middleware of pages: they have no session, form, cookie or language.

    The way through those took a hundred of the 1,900 Python calls of a read. A request in another charset goes that
    way, and is refused there.
    """

    def __call__(self, request: HttpRequest) -> HttpResponse:
        path = request.path_info
        is_call = path.startswith("/api/v1/") or requests.is_mcp(path)
        if not is_call or not requests.is_utf8((request.content_params or {}).get("charset", "")):
            return self.get_response(request)
        request.get_host()  # raises DisallowedHost, as CommonMiddleware does
        found = request.resolver_match = resolve(path)
        with deadlines.within(settings.PAGE_TIMEOUT):
            response: HttpResponse = found.func(request, *found.args, **found.kwargs)
        response["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'"
        return response


def _in_our_shape(response: HttpResponse, *, is_mcp: bool) -> Any:
    if response.status_code < 400 or response.headers.get("Content-Type", "").startswith("application/"):
        return response
    error = _error_of(response)
    return json_rpc.failed(error) if is_mcp else messages.failure(error)


def _error_of(response: HttpResponse) -> ApiError:
    """Return what a page of Django's says, as an error of ours."""
    if response.status_code == 503:
        return messages.unavailable()
    if response.status_code >= 500:
        return messages.internal_error(RuntimeError(response.reason_phrase))
    if response.status_code == 404:
        return ApiError(ErrorCode.NOT_FOUND, "There is no such endpoint.")
    if response.status_code == 405:
        return messages.not_allowed(response["Allow"].split(", "))
    message = (
        "The request could not be read. Does its Host header name an address this installation answers to, "
        "and its Content-Type no charset but UTF-8?"
    )
    return ApiError(ErrorCode.BAD_REQUEST, message)
