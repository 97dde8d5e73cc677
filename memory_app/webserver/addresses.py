"""What may be sent to an address, and which threads answer it: decided from the head of a request alone.

Kept beside the URL configuration, which cannot say it: a request is counted before Django sees it.
tests/memory_app/webserver/test_addresses.py holds the two together.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from assent_client.text.memories_md import LARGEST_FILE

if TYPE_CHECKING:
    from django.http import HttpRequest

#: A name and a password, or two new ones.
SMALL_FORM = 16 * 1024
#: What a form has beside the file, and room for a file somewhat too large: the form then says so and loses no input.
_AROUND_A_FILE = 2560 * 1024

_API_FILE = re.compile(r"/api/v1/users/[^/]+/memories\.md")
_IMPORT_PAGE = re.compile(r"/memory/[^/]+/notes/import/")
_EXPORT_PAGE = re.compile(r"/memory/[^/]+/export/[^/]+")
_SMALL = re.compile(r"/(sign-in|sign-out|password(/reset(/[^/]+/[^/]+)?)?)/")


class Lane(StrEnum):
    """Threads kept apart, so that one kind of request cannot hold all of them."""

    ALIVE = "alive"
    READY = "ready"
    IMPORTS = "imports"
    EXPORTS = "exports"
    PAGES = "pages"


def is_mcp(path: str) -> bool:
    """Whether a path is the address of the Model Context Protocol, or below it."""
    return path == "/mcp" or path.startswith("/mcp/")


def path_of(target: str) -> str:
    """Return the path that Django will see for the target of a request line; empty if it is not an address."""
    if not target.startswith("/"):
        try:
            target = urlsplit(target).path if "://" in target else ""
        except ValueError:  # of `http://[`, which gunicorn answers with 400
            target = ""
    return unquote(target.partition("?")[0].partition("#")[0])


def largest_body(path: str, *, api: int, form: int) -> int:
    """Return how many bytes may be sent to this path.

    Args:
        api: of a call of the agent API, or of /mcp.
        form: of any other form.
    """
    if _API_FILE.fullmatch(path):
        return LARGEST_FILE
    if path.startswith("/api/") or is_mcp(path):
        return api
    if _IMPORT_PAGE.fullmatch(path):
        return LARGEST_FILE + _AROUND_A_FILE
    return SMALL_FORM if _SMALL.fullmatch(path) else form


def is_refused(request: HttpRequest) -> bool:
    """Whether the web server left the body unread because it is larger than its address allows."""
    client = getattr(request, "environ", {}).get("gunicorn.socket")
    return bool(client is not None and client.request.body_is_too_large)


def lane_of(method: str, path: str) -> Lane:
    """Return which threads answer a request."""
    if path == "/healthz":
        return Lane.ALIVE
    if path == "/readyz":
        return Lane.READY
    is_file = _API_FILE.fullmatch(path) is not None
    if method == "POST" and (is_file or _IMPORT_PAGE.fullmatch(path)):
        return Lane.IMPORTS
    return Lane.EXPORTS if is_file or _EXPORT_PAGE.fullmatch(path) else Lane.PAGES
