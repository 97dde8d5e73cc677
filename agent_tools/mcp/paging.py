"""Pages of the lists of the protocol: an opaque cursor out, the same one back in."""

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from agent_tools.answers import paging
from agent_tools.http.json_rpc import RpcCode, RpcError

#: Items of a page. A client that shows the first page alone still shows much.
SIZE = 100
#: Characters of a cursor; ours are shorter.
_LONGEST = 1_000

T = TypeVar("T")


def page(items: Sequence[T], params: dict[str, Any], *, key: Callable[[T], str]) -> tuple[Sequence[T], str | None]:
    """Return the items after the cursor in `params`, and the cursor of the next page.

    Args:
        key: what is different for each item. The cursor names the last one shown.
    """
    rest, last = items, cursor_of(params)
    if last is not None:
        places = [place for place, item in enumerate(items) if key(item) == last]
        if not places:
            raise bad_cursor()
        rest = items[places[0] + 1 :]
    shown = rest[:SIZE]
    return shown, paging.pack(key(shown[-1])) if len(rest) > SIZE else None


def cursor_of(params: dict[str, Any]) -> str | None:
    """Return what the cursor in `params` says, or None. Raise RpcError for what is no cursor."""
    cursor = params.get("cursor")
    if cursor is None:
        return None
    if not isinstance(cursor, str) or len(cursor) > _LONGEST:
        raise bad_cursor()
    try:
        (said,) = paging.unpack(cursor)
    except ValueError as error:
        raise bad_cursor() from error
    if not isinstance(said, str):
        raise bad_cursor()
    return said


def bad_cursor() -> RpcError:
    return RpcError(RpcCode.INVALID_PARAMS, "params.cursor is not a cursor of this list.")
