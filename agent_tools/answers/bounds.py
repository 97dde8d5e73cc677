"""How long an answer may be: whole items that fit, and a sentence about the rest.

Half a note or half a line could be taken for the whole. The first item is always included, even where it is too long.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from django.conf import settings

from agent_tools.calls.arguments import BoundedArguments


def characters(arguments: BoundedArguments) -> int:
    """Return how many characters the answer to a call may have."""
    return arguments.max_characters or settings.ANSWER_BUDGET


def size_of(item: object) -> int:
    """Return the characters of an item in `data`; its line in the text has fewer."""
    return len(json.dumps(item, ensure_ascii=False)) + 2


def that_fit(items: Sequence[Any], most: int) -> int:
    """Return how many of the items, from the first on, fit into `most` characters; at least one where there is one."""
    return _fitting(map(size_of, items), most)


def lines_that_fit(lines: Sequence[str], most: int) -> int:
    """Return how many of the lines, from the first on, fit into `most` characters joined; at least one."""
    return _fitting((len(line) + 1 for line in lines), most + 1)  # the last line has no end


def _fitting(sizes: Iterable[int], most: int) -> int:
    total = count = 0
    for size in sizes:
        total += size
        if count and total > most:
            break
        count += 1
    return count


def rest_of(items: Sequence[Any], shown: int, what: str) -> str:
    """Return the sentence that says how many items were left out and which call brings them; empty where none was.

    Args:
        what: the items, in the plural.
    """
    if shown == len(items):
        return ""
    needed = sum(map(size_of, items))
    return (
        f"({shown} of {len(items)} {what} are shown, the others were left out for their length: "
        f"max_characters={needed} brings all.)"
    )
