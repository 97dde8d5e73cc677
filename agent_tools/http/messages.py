"""The JSON of requests and answers: reading a body (within the limit, as one object, without what no text may contain),
and answering what happens before and around a call, with the exception handler of Django REST framework and its table.

Not here: what the memory refuses (`answers.refusals`).

Why not a parser of Django REST framework: it takes duplicate keys, lone surrogates and any nesting. Django's own limit
is looser and its answer is HTML.
"""

import json
from typing import Any

import structlog
from django.conf import settings
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import UnreadablePostError
from rest_framework import exceptions

from agent_tools.calls.execution import Audit, current_request_id
from agent_tools.calls.json_values import as_object, check_texts, invalid_json, parse
from agent_tools.errors import ApiError, ErrorCode, ErrorRow, ErrorTable, error_because, find_row, invalid_token
from memory_app.reads import MemoryMoving
from memory_app.runtime.unavailable import is_away


def read_object(request: HttpRequest) -> tuple[dict[str, Any], int]:
    """Return the JSON object in the body (an empty body is an empty object) and the body's size in bytes.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type, invalid_json, forbidden_character.
    """
    raw = read_json(request)
    value = as_object(parse(raw)) if raw.strip() else {}
    if not isinstance(value, dict):
        raise invalid_json("The body must be one JSON object with the arguments.")
    check_texts(value)
    return value, len(raw)


def read_json(request: HttpRequest) -> bytes:
    """Return the bytes of a body that has to be JSON, or is empty.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type.
    """
    raw = _read(request, settings.REQUEST_LIMIT)
    if raw.strip():
        message = "Send the arguments as JSON, with the header Content-Type: application/json."
        _check_media_type(request, ("application/json", "+json"), message)
    return raw


def read_markdown(request: HttpRequest, limit: int) -> bytes:
    """Return the bytes of a Markdown file in the body.

    Raises:
        ApiError: body_too_large, length_required, unsupported_media_type.
    """
    raw = _read(request, limit)
    message = "Send the file with the header Content-Type: text/markdown."
    _check_media_type(request, ("text/markdown", "text/plain"), message)
    return raw


def _read(request: HttpRequest, limit: int) -> bytes:
    if "chunked" in request.META.get("HTTP_TRANSFER_ENCODING", "").lower():
        # Under ASGI Django has read it. waitress puts the chunks together; other WSGI servers do not, and Django takes
        # the body for an empty one.
        if getattr(request, "environ", None):
            raise ApiError(ErrorCode.LENGTH_REQUIRED, "Send the body with a Content-Length.")
        body = request.body
    else:
        # Not `request.body`, which has a limit of Django's own.
        body = request.read(limit + 1)
    if len(body) > limit:
        message = f"The body is over the limit of {limit:,} bytes."
        raise ApiError(ErrorCode.BODY_TOO_LARGE, message, details={"limit": limit})
    return body


def _check_media_type(request: HttpRequest, endings: tuple[str, ...], message: str) -> None:
    media_type = (request.content_type or "").lower()
    if not media_type.endswith(endings):
        raise ApiError(ErrorCode.UNSUPPORTED_MEDIA_TYPE, message, details={"content_type": media_type})


#: JSON loads and frames nothing, should a browser be made to show it.
_POLICY = "default-src 'none'; frame-ancestors 'none'"


class ApiResponse(HttpResponse):
    """JSON, with its outcome (`ok` or an error code) for the audit row."""

    outcome: str


def json_response(
    payload: dict[str, Any], *, status: int = 200, headers: dict[str, str] | None = None, outcome: str = "ok"
) -> ApiResponse:
    """Return `payload` as JSON in UTF-8; private text, so no cache may keep it."""
    body = json.dumps(payload, ensure_ascii=False, allow_nan=False).encode()
    response = ApiResponse(body, status=status, content_type="application/json", headers=headers)
    response.setdefault("Cache-Control", "no-store")
    response["Content-Security-Policy"] = _POLICY
    response.outcome = outcome
    return response


def failure(error: ApiError) -> ApiResponse:
    """Return the answer to a failed request."""
    return json_response(error.payload, status=error.code.status, headers=error.headers, outcome=error.code.code)


log = structlog.get_logger(__name__)

#: Seconds after which a caller may try again when an engine is away.
_AWAY = 5

#: What fails by our fault, not by what was sent.
_OURS = (ErrorCode.INTERNAL_ERROR, ErrorCode.ENGINE_UNAVAILABLE, ErrorCode.TIMEOUT)


def exception_handler(error: Exception, context: dict[str, Any]) -> ApiResponse:
    """Return the answer to whatever a view raised; the hook of Django REST framework.

    An unexpected exception is logged with its stack; the answer has no word of it.
    """
    view: Any = context.get("view")
    answer = as_api_error(error, failing=getattr(view, "failing", "Error"), view=view)
    report(answer, error, getattr(view, "audit", None))
    return failure(answer)


def report(answer: ApiError, error: Exception, audit: Audit | None) -> None:
    """Log a call that failed by our fault: names and the kind of error, never a text (`read_memory_block_error`)."""
    if answer.code in _OURS and audit and audit.tool:
        kind = type(answer.__cause__ or error).__name__
        log.error(f"{audit.tool}_error", user_id=audit.owner, block_label=audit.target, error=kind)


def as_api_error(error: Exception, *, failing: str = "Error", view: Any = None) -> ApiError:
    """Return our error for any exception.

    Args:
        failing: what could not be done, for errors of ours: `Error creating edit proposal`.
        view: the view that raised it, where one did.
    """
    if isinstance(error, ApiError):
        return error
    row = find_row(TABLE, error)
    if row is not None:
        return row(error, view)
    if is_away(error):
        log.error("engine_unavailable", error=type(error).__name__, exc_info=error)
        return unavailable(failing=failing, is_moving=isinstance(error, MemoryMoving))
    return internal_error(error, failing=failing)


def unavailable(*, failing: str = "Error", is_moving: bool = False) -> ApiError:
    """Return the answer while a database is away, or moves."""
    message = "the memory does not answer at the moment. Try again shortly."
    if is_moving:
        message = "this memory is under maintenance. Try again in a few seconds."
    details = {"request_id": current_request_id()}
    return error_because(ErrorCode.ENGINE_UNAVAILABLE, failing, message, details=details, retry_after=_AWAY)


def internal_error(error: BaseException, *, failing: str = "Error") -> ApiError:
    """Return the answer to an unexpected exception; the stack goes to the log only."""
    request_id = current_request_id()
    log.error("internal_error", error=type(error).__name__, exc_info=error)
    message = f"something went wrong on our side (request {request_id})."
    return error_because(ErrorCode.INTERNAL_ERROR, failing, message, details={"request_id": request_id})


def _not_authenticated(error: exceptions.NotAuthenticated, view: Any) -> ApiError:
    headers = {"WWW-Authenticate": 'Bearer realm="assent"'}
    return ApiError(ErrorCode.NOT_AUTHENTICATED, "Send the header Authorization: Bearer <token>.", headers=headers)


def _throttled(error: exceptions.Throttled, view: Any) -> ApiError:
    wait = max(1, round(getattr(error, "wait", None) or 1))
    message = f"Too many calls with this token. Try again in {wait} seconds."
    return ApiError(ErrorCode.RATE_LIMITED, message, retry_after=wait)


def _method_not_allowed(error: exceptions.MethodNotAllowed, view: Any) -> ApiError:
    if view is None:
        return ApiError(ErrorCode.METHOD_NOT_ALLOWED, "This endpoint does not answer to that method.")
    return not_allowed(view.allowed_methods)


def not_allowed(allowed: list[str]) -> ApiError:
    """Return the refusal of a method, with those that the address answers to."""
    listed = " and ".join([part for part in (", ".join(allowed[:-1]), allowed[-1]) if part])
    return ApiError(
        ErrorCode.METHOD_NOT_ALLOWED,
        f"This endpoint answers to {listed} only.",
        details={"allowed": allowed},
        headers={"Allow": ", ".join(allowed)},
    )


_NO_ENDPOINT = ErrorRow(ErrorCode.NOT_FOUND, "There is no such endpoint.")
_NOT_ALLOWED = ErrorRow(ErrorCode.MISSING_SCOPE, "This token may not do that.")
_UNREADABLE = ErrorRow(ErrorCode.BAD_REQUEST, "The request could not be read.")

TABLE: ErrorTable = {
    exceptions.NotAuthenticated: _not_authenticated,
    exceptions.AuthenticationFailed: lambda error, view: invalid_token(),
    exceptions.Throttled: _throttled,
    exceptions.MethodNotAllowed: _method_not_allowed,
    exceptions.NotAcceptable: ErrorRow(ErrorCode.NOT_ACCEPTABLE, "Answers are application/json only."),
    exceptions.UnsupportedMediaType: ErrorRow(
        ErrorCode.UNSUPPORTED_MEDIA_TYPE, "Send the arguments as application/json."
    ),
    Http404: _NO_ENDPOINT,
    exceptions.NotFound: _NO_ENDPOINT,
    PermissionDenied: _NOT_ALLOWED,
    exceptions.PermissionDenied: _NOT_ALLOWED,
    RequestDataTooBig: ErrorRow(ErrorCode.BODY_TOO_LARGE, "The body is too large."),
    SuspiciousOperation: _UNREADABLE,
    UnreadablePostError: _UNREADABLE,
    exceptions.ParseError: _UNREADABLE,
}
