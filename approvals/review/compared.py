"""Two texts compared, as each part of a page asks for it: the last few comparisons are kept.

A person turns to another view of a change, comments on it, decides about it: each time the page shows the same two
texts, and to compare long ones takes a tenth of a second. What is kept is of this process alone and never written.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

from memory_app.text import worddiff
from memory_app.text.worddiff import Hunk, Segment

#: Pairs of texts; of the longest blocks they take some ten megabytes.
KEPT = 16


@dataclass(frozen=True, eq=False)
class TextsCompared:
    """What changed from one text to another."""

    before: str
    after: str

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        return worddiff.diff(self.before, self.after)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The changes that can be approved one by one, in reading order."""
        return worddiff.hunks_of(self.segments)


@lru_cache(maxsize=KEPT)
def compared(before: str, after: str) -> TextsCompared:
    return TextsCompared(before, after)
