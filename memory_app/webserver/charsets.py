"""The charset a request declares: for the entry points, which ignore it, and for the middleware that refuses it."""

from __future__ import annotations

import codecs
from typing import Any

from django.core.handlers.asgi import ASGIRequest
from django.core.handlers.wsgi import WSGIRequest
from django.http.request import HttpRequest
from django.utils.http import parse_header_parameters


class _InUtf8(HttpRequest):
    """Django decodes the address with whatever codec the `Content-Type` names, `base64` too, before any
    middleware could catch that. Everything here is UTF-8; `approvals.middleware` refuses the rest."""

    def _set_content_type_params(self, meta: dict[str, Any]) -> None:
        self.content_type, self.content_params = parse_header_parameters(meta.get("CONTENT_TYPE", ""))


class WsgiRequest(_InUtf8, WSGIRequest):
    pass


class AsgiRequest(_InUtf8, ASGIRequest):
    pass


def is_utf8(charset: str) -> bool:
    """Whether texts in this charset are UTF-8. ASCII is; Latin-1, beyond ASCII, is not."""
    try:
        return not charset or codecs.lookup(charset).name in ("utf-8", "ascii")
    except (LookupError, ValueError):
        return False
