"""Requests: what our middleware adds to them, for the type checker, and numbers read from their addresses."""

from __future__ import annotations

from django.http import HttpRequest
from django_htmx.middleware import HtmxDetails


class Request(HttpRequest):
    """The type of a request in our views; no instance of it is made.

    Attributes:
        htmx: true when a part of a page is asked for.
        waiting: how many proposals wait for the viewer, set by a view that counted them anyway.
    """

    htmx: HtmxDetails
    waiting: int


def is_read(request: HttpRequest) -> bool:
    """Whether somebody reads the answer: not for HEAD, and not for a page that a browser loads ahead."""
    ahead = request.headers.get("Sec-Purpose", "") or request.headers.get("Purpose", "")
    return request.method == "GET" and "prefetch" not in ahead


def whole_number(text: str, *, digits: int = 9) -> int | None:
    """Return a number from an address; None for anything else, and for more than `digits` digits."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= digits else None
