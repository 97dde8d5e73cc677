"""Keyset paging of lists: an opaque cursor out, the same one back in. What is in one is for the list that made it."""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from pydantic import Field

from agent_tools.answers import bounds
from agent_tools.calls.arguments import LONGEST_ANSWER, Arguments, BoundedArguments, invalid
from agent_tools.calls.registry import Call
from agent_tools.errors import ApiError

DEFAULT = 50
MOST = 200

T = TypeVar("T")


class PagedArguments(Arguments):
    """What every list takes."""

    limit: int = Field(default=DEFAULT, description="How many at most.", ge=1, le=MOST)
    cursor: str | None = Field(default=None, description="Given by the page before.", min_length=1, max_length=200)


def pack(*values: Any) -> str:
    """Return a cursor that says these values, which JSON knows."""
    said = json.dumps(values, ensure_ascii=True, separators=(",", ":"))
    return base64.urlsafe_b64encode(said.encode()).decode()


def unpack(cursor: str) -> list[Any]:
    """Return what `pack` was given. Raise ValueError."""
    try:
        values = json.loads(base64.b64decode(cursor, altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError) as error:
        raise ValueError("no cursor") from error
    if not isinstance(values, list):
        raise ValueError("no cursor")
    return values


def more(cursor: str | None) -> str:
    """Return what is said below a page of a list that goes on; empty on the last one."""
    return f"\n\n(There are more: call again with cursor {cursor}.)" if cursor else ""


def after(call: Call, arguments: PagedArguments, kind: type[T]) -> T | None:
    """Return the key of the last item of the page before, or None on the first page.

    Args:
        kind: the type of the key.

    Raises:
        ApiError: `invalid_arguments` for a cursor that is none of this list's.
    """
    if arguments.cursor is None:
        return None
    try:
        name, key = unpack(arguments.cursor)
    except ValueError:
        name, key = None, None
    if name != call.name or type(key) is not kind or (isinstance(key, int) and not 0 < key < 2**63):
        raise not_a_cursor(call)
    return key


def after_time(call: Call, arguments: PagedArguments) -> tuple[datetime, str] | None:
    """Return the time, with its zone, and the id of `after`, for a list in the order of time: its keys are "time id".

    Raises:
        ApiError: `invalid_arguments`, as `after`.
    """
    key = after(call, arguments, str)
    if key is None:
        return None
    at, _, rest = key.partition(" ")
    try:
        time = datetime.fromisoformat(at)
    except ValueError:
        time = None
    if time is None or time.tzinfo is None:
        raise not_a_cursor(call)
    return time, rest


def not_a_cursor(call: Call) -> ApiError:
    return invalid({"cursor": "is not a cursor of this list"}, called=call.called)


def page(
    call: Call, found: Sequence[T], arguments: PagedArguments, key: Callable[[T], Any], *, most: int = MOST
) -> tuple[Sequence[T], str | None]:
    """Return a page of `found`, which was read with one item more than `limit`, and the cursor for the next.

    Args:
        key: a function from an item to its key.
        most: items that fit into the answer, where that may be fewer.
    """
    count = min(arguments.limit, most)
    if len(found) <= count:
        return found, None
    return found[:count], pack(call.name, key(found[count - 1]))


def page_that_fits(
    call: Call, found: Sequence[T], items: list[dict[str, Any]], arguments: PagedArguments, key: Callable[[T], Any]
) -> tuple[list[dict[str, Any]], str | None]:
    """Return the items of a page, as many as the answer has room for, and the cursor for the next.

    Args:
        found: as for `page`.
        items: the same as `data` has them.
    """
    room = bounds.characters(arguments) if isinstance(arguments, BoundedArguments) else LONGEST_ANSWER
    shown, cursor = page(call, found, arguments, key, most=bounds.that_fit(items, room))
    return items[: len(shown)], cursor
