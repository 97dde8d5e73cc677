"""What a client is answered whose request never reaches the application, in the shape of the address it asked for."""

from __future__ import annotations

import html
import json
from http import HTTPStatus

from gunicorn.http.errors import LimitRequestHeaders, LimitRequestLine, ParseException

from memory_app.webserver.addresses import is_mcp

#: The code of JSON-RPC for what is refused below the protocol.
_RPC_REFUSED = -32010
#: Seconds after which it is worth trying again.
_RETRY_AFTER = 10


def too_slow(path: str) -> bytes:
    return _answer(
        path,
        HTTPStatus.REQUEST_TIMEOUT,
        "request_timeout",
        "The request did not arrive in full in time. Nothing was changed.",
    )


def busy(path: str) -> bytes:
    return _answer(
        path,
        HTTPStatus.SERVICE_UNAVAILABLE,
        "busy",
        "Too much is being sent here at the moment. Nothing was changed. Try again shortly.",
        f"Retry-After: {_RETRY_AFTER}\r\n",
    )


def unreadable(path: str, error: BaseException) -> bytes:
    """Return the answer to a request that gunicorn could not read, or that could not be answered."""
    match error:
        case LimitRequestLine():
            return _answer(
                path,
                HTTPStatus.REQUEST_URI_TOO_LONG,
                "address_too_long",
                "The address with its query is over 8,190 bytes. A tool takes a long query in the body.",
            )
        case LimitRequestHeaders():
            message = "The headers are too large: at most 100, of at most 8,190 bytes each."
            return _answer(path, HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "headers_too_large", message)
        case ParseException():
            return _answer(path, HTTPStatus.BAD_REQUEST, "bad_request", "The request is not well-formed HTTP.")
    message = "Something went wrong on our side."
    return _answer(path, HTTPStatus.INTERNAL_SERVER_ERROR, "internal_error", message)


def _answer(path: str, status: HTTPStatus, code: str, message: str, headers: str = "") -> bytes:
    if path.startswith("/api/"):
        media_type = "application/json"
        error = {"code": code, "message": message, "details": {}}
        body = json.dumps({"ok": False, "text": f"Error: {message}", "error": error})
    elif is_mcp(path):
        media_type = "application/json"
        refused = {"code": _RPC_REFUSED, "message": message, "data": {"code": code, "details": {}}}
        body = json.dumps({"jsonrpc": "2.0", "id": None, "error": refused})
    else:
        media_type = "text/html; charset=utf-8"
        body = f"<!doctype html><title>{status.phrase} · Assent</title><p>{html.escape(message)}</p>"
    text = body.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {media_type}\r\nContent-Length: {len(text)}\r\n"
        f"{headers}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + text
