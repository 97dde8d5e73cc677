"""What is known of a request from its head alone: what may be sent to its address, and in which charset.

The address limits are kept beside the URL configuration, which cannot say them: a body is measured before any view is
found. tests/memory_app/webserver/test_requests.py holds the two together, and deploy/nginx.conf repeats them.
"""

import codecs
import re
from urllib.parse import unquote, urlsplit

from assent_client.text.memories_md import LARGEST_FILE

#: A name and a password, or two new ones; what a program says of itself.
SMALL_FORM = 16 * 1024
#: What a form has beside the file, and room for a file somewhat too large: the form then says so and loses no input.
_AROUND_A_FILE = 2560 * 1024
#: The most that the web server takes in, whatever the address.
LARGEST_BODY = LARGEST_FILE + 2 * _AROUND_A_FILE

_API_FILE = re.compile(r"/api/v1/users/[^/]+/memories\.md")
_IMPORT_PAGE = re.compile(r"/memory/[^/]+/notes/import/")
_SMALL = re.compile(r"/(sign-in|sign-out|password(/reset(/[^/]+/[^/]+)?)?|oauth/(register|token|revoke))/")


def is_mcp(path: str) -> bool:
    """Whether a path is the address of the Model Context Protocol, or below it."""
    return path == "/mcp" or path.startswith("/mcp/")


def is_machine(path: str) -> bool:
    """Whether a path is one of those that machines ask for: they have no session."""
    return path.startswith(("/api/", "/healthz", "/readyz", "/metrics")) or is_mcp(path)


def path_of(target: str) -> str:
    """Return the path that Django would see for the target of a request line; empty if it is not an address."""
    if not target.startswith("/"):
        try:
            target = urlsplit(target).path if "://" in target else ""
        except ValueError:  # of `http://[`
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


def is_utf8(charset: str) -> bool:
    """Whether texts in this charset are UTF-8. ASCII is; Latin-1, beyond ASCII, is not."""
    try:
        return not charset or codecs.lookup(charset).name in ("utf-8", "ascii")
    except (LookupError, ValueError):
        return False
