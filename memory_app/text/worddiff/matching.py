"""Matching two sequences with diff-match-patch, each item coded as one character, within a time limit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from diff_match_patch import diff_match_patch

_SURROGATES = range(0xD800, 0xE000)
_MOST_CODES = 0x110000 - len(_SURROGATES)


class Difference(NamedTuple):
    """Items `[start:end]` of the old sequence became items `[new_start:new_end]` of the new one."""

    start: int
    end: int
    new_start: int
    new_end: int


def coded(old: Sequence[str], new: Sequence[str]) -> tuple[str, str] | None:
    """Return both lists as strings with one character per distinct item, or None when there are not enough of them."""
    codes: dict[str, str] = {}
    for item in (*old, *new):
        if item not in codes:
            number = len(codes)
            if number >= _MOST_CODES:
                return None
            # Half of a surrogate pair is no character; the codes go on after them.
            codes[item] = chr(number if number < _SURROGATES.start else number + len(_SURROGATES))
    return "".join(map(codes.__getitem__, old)), "".join(map(codes.__getitem__, new))


class _Matcher(diff_match_patch):  # type: ignore[misc]  # the package has no type hints
    """diff-match-patch without the two parts that ignore the time limit."""

    def diff_halfMatch(self, text1: str, text2: str) -> None:  # noqa: N802
        """Off: quadratic on repetitive texts, and our runs of unique words do what it is for."""

    def diff_cleanupMerge(self, diffs: list[tuple[int, str]]) -> None:  # noqa: N802
        """Off: it calls itself once per shift, past the recursion limit; we tidy by words ourselves."""


def matched(old: str, new: str, deadline: float) -> list[Difference]:
    """Return the changes between two coded texts that diff-match-patch finds by the deadline (from `time.time`)."""
    changes = []
    at = new_at = start = new_start = 0
    for kind, text in (*_Matcher().diff_main(old, new, checklines=False, deadline=deadline), (0, "")):
        if kind == 0:
            if (start, new_start) != (at, new_at):
                changes.append(Difference(start, at, new_start, new_at))
            start, new_start = at, new_at = at + len(text), new_at + len(text)
        elif kind < 0:
            at += len(text)
        else:
            new_at += len(text)
    return changes
