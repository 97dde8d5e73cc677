"""What a client hears whose request never reaches the application, in the shape of the address it asked for."""

from __future__ import annotations

import html
import json
from http import HTTPStatus

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


def _answer(path: str, status: HTTPStatus, code: str, message: str, headers: str = "") -> bytes:
    if path.startswith("/api/"):
        media_type = "application/json"
        error = {"code": code, "message": message, "details": {}}
        body = json.dumps({"ok": False, "text": f"Error: {message}", "error": error})
    else:
        media_type = "text/html; charset=utf-8"
        body = f"<!doctype html><title>{status.phrase} · Assent</title><p>{html.escape(message)}</p>"
    text = body.encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {media_type}\r\nContent-Length: {len(text)}\r\n"
        f"{headers}Cache-Control: no-store\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + text
