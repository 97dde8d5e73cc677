"""Keyset paging of lists: an opaque cursor out, the same one back in."""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import Field

from agent_tools.calls.arguments import Arguments, invalid
from agent_tools.errors import ApiError

DEFAULT = 50
MOST = 200

T = TypeVar("T")


class PagedArguments(Arguments):
    """What every list takes."""

    limit: Annotated[int, Field(description="How many at most.", ge=1, le=MOST)] = DEFAULT
    cursor: Annotated[str | None, Field(description="`next` of the page before.", min_length=1, max_length=200)] = None


def after(arguments: PagedArguments, kind: type[T], *, tool: str) -> T | None:
    """The key of the last item of the page before, or None on the first page.

    Args:
        kind: the type of the key.

    Raises:
        ApiError: `invalid_arguments` for a cursor that is none of this list's.
    """
    if arguments.cursor is None:
        return None
    try:
        name, key = json.loads(base64.b64decode(arguments.cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, TypeError, RecursionError):
        name, key = None, None
    if name != tool or type(key) is not kind or (isinstance(key, int) and not 0 < key < 2**63):
        raise not_a_cursor(tool)
    return key


def after_time(arguments: PagedArguments, *, tool: str) -> tuple[datetime, str] | None:
    """`after` for a list in the order of time, whose keys are "time id": the time, with its zone, and the id.

    Raises:
        ApiError: `invalid_arguments`, as `after`.
    """
    key = after(arguments, str, tool=tool)
    if key is None:
        return None
    at, _, rest = key.partition(" ")
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise not_a_cursor(tool)
    return time, rest


def not_a_cursor(tool: str) -> ApiError:
    return invalid({"cursor": "is not a cursor of this list"}, tool=tool)


def page(
    found: Sequence[Any], arguments: PagedArguments, key: Any, *, tool: str, most: int = MOST
) -> tuple[Sequence[Any], str | None]:
    """Cut `found` (read with one item more than `limit`) to a page, and the cursor for the next.

    Args:
        key: a function from an item to its key.
        most: items that fit into the answer, where that may be fewer.
    """
    count = min(arguments.limit, most)
    if len(found) <= count:
        return found, None
    items = found[:count]
    packed = json.dumps([tool, key(items[-1])], ensure_ascii=True, separators=(",", ":"))
    return items, base64.urlsafe_b64encode(packed.encode()).decode()
