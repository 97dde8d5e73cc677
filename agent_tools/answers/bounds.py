"""How long an answer may be: whole items that fit, and a sentence about what is missing.

Half a note or half a line could be taken for the whole. The first item is always included, even where it is too long.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from agent_tools.calls.arguments import BoundedArguments, invalid
from agent_tools.calls.registry import Call
from assent_client.text import invisible
from memory_app.text.lines import with_ends


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


def beyond(limit: int, most: int, *, is_full: bool) -> str:
    """Return the sentence that says how to get what `limit` may have cut; empty where it cut nothing, or is `most`."""
    return f"(There may be more: limit, up to {most}, shows more.)" if is_full and limit < most else ""


def missing_of(*, index_behind: bool) -> str:
    """Return the sentence that says what a search could not know; empty where it knew all."""
    if not index_behind:
        return ""
    return "(The search does not know the newest changes yet: what was saved a moment ago may be missing. Ask again.)"


ViewRange = Annotated[
    list[int] | None,
    Field(
        description="Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.",
        min_length=2,
        max_length=2,
    ),
]


@dataclass(frozen=True)
class Cut:
    """A part of a text.

    Args:
        lines: how many the whole text has.
        shown: the first and the last line of the part, from 1; None for the whole text.
        following: the lines that were left out for their length.
    """

    text: str
    lines: int
    shown: list[int] | None
    following: list[int] | None

    @property
    def fields(self) -> dict[str, Any]:
        """Return `fields.PART` as `data` has them."""
        return {"lines": self.lines, "view_range": self.shown, "next_range": self.following}

    @property
    def is_whole(self) -> bool:
        return self.shown in (None, [1, self.lines])

    @property
    def numbered(self) -> str:
        """Return the part with the number of each line before it."""
        first = self.shown[0] if self.shown else 1
        return "".join(f"{number}\t{line}" for number, line in enumerate(with_ends(self.text), first))

    def rest(self, tool: str) -> str:
        """Return what is said below a text: that it was cut, or that not all of it can be seen."""
        first = self.shown[0] if self.shown else 1
        lines = enumerate(with_ends(self.text) if invisible.escaped(self.text) != self.text else (), first)
        unseen = [str(number) for number, line in lines if invisible.escaped(line) != line]
        told = f"\n\n(There are unseen characters in line {', '.join(unseen[:20])}.)" if unseen else ""
        if self.shown and self.following:
            told += f"\n\n(These are lines {self.shown[0]}-{self.shown[1]} of {self.lines}. The rest was left out for "
            told += f"its length: call {tool} with view_range {self.following} for it.)"
        return told


def cut(call: Call, text: str, view_range: list[int] | None, most: int) -> Cut:
    """Return the part of a text that an answer has.

    Args:
        view_range: the lines asked for; None for all.
        most: characters of the answer.

    Raises:
        ApiError: there are no such lines.
    """
    lines = _lines(text)
    shown, following = None, None
    if view_range is not None or len(text) > most:
        first, last = _range(call, view_range or [1, -1], len(lines))
        fitting = first - 1 + lines_that_fit(lines[first - 1 : last], most)
        if fitting < last:
            following, last = [fitting + 1, last], fitting
        if view_range is not None or following:
            text, shown = "\n".join(lines[first - 1 : last]), [first, last]
    return Cut(text, len(lines), shown, following)


def _lines(text: str) -> list[str]:
    """Return lines as editors count them: a line end at the end begins no further line."""
    lines = text.split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def _range(call: Call, wanted: list[int], count: int) -> tuple[int, int]:
    first, last = wanted
    last = count if last == -1 else min(last, count)
    if count == 0 and first == 1:
        return 1, 0
    if not 1 <= first <= last:
        lines = f"{count} line" if count == 1 else f"{count} lines"
        reason = f"must be [first, last] with 1 <= first <= last; the block has {lines}"
        raise invalid({"view_range": reason}, called=call.called)
    return first, last
