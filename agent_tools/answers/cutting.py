"""The part of a text that an answer has: the lines asked for, and as many of them as fit."""

from __future__ import annotations

from dataclasses import dataclass

from agent_tools.answers import bounds
from agent_tools.calls.api_operation import Call
from agent_tools.calls.parsing import invalid


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
    def is_whole(self) -> bool:
        return self.shown in (None, [1, self.lines])

    def rest(self, tool: str) -> str:
        """Return what is said below a text that was cut, so that it is not taken for the whole."""
        if not (self.shown and self.following):
            return ""
        return (
            f"\n\n(These are lines {self.shown[0]}-{self.shown[1]} of {self.lines}. The rest was left out for its "
            f"length: call {tool} with view_range {self.following} for it.)"
        )


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
        fitting = first - 1 + bounds.lines_that_fit(lines[first - 1 : last], most)
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
