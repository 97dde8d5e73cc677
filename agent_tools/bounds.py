"""How long an answer may be: whole items that fit, and a sentence about the rest.

Half a note or half a line would pass for all of it. The first item always comes, even where it is too long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from django.conf import settings

from agent_tools.arguments import BoundedArguments


def characters(arguments: BoundedArguments) -> int:
    """Return how many characters the answer to a call may have."""
    return arguments.max_characters or settings.ANSWER_BUDGET


def size_of(item: object) -> int:
    """Return the characters of an item in `data`; its line in the text has fewer."""
    return len(json.dumps(item, ensure_ascii=False)) + 2


def that_fit(items: Sequence[Any], most: int) -> int:
    """Return how many of the items, from the first on, fit into `most` characters; at least one where there is one."""
    size = 0
    for count, item in enumerate(items):
        size += size_of(item)
        if count and size > most:
            return count
    return len(items)


def lines_that_fit(lines: Sequence[str], most: int) -> int:
    """Return how many of the lines, from the first on, fit into `most` characters joined; at least one."""
    size = -1
    for count, line in enumerate(lines):
        size += len(line) + 1
        if count and size > most:
            return count
    return len(lines)


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
