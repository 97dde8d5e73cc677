"""Two texts compared, as each part of a page asks for it: the last few comparisons are kept.

A person turns to another view of a change, comments on it, decides about it: each time the page shows the same two
texts, and to compare long ones takes a tenth of a second. What is kept is of this process alone and never written; all
of it goes when the process removes texts.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TypeVar, cast

from memory_app.text import worddiff
from memory_app.text.worddiff import Hunk, Segment

T = TypeVar("T")

#: Pairs of texts; of the longest blocks they take some ten megabytes.
KEPT = 16


@dataclass(frozen=True, eq=False)
class TextsCompared:
    """What changed from one text to another, and what was made of it."""

    before: str
    after: str
    _made: dict[Hashable, object] = field(default_factory=dict)

    @cached_property
    def segments(self) -> tuple[Segment, ...]:
        return worddiff.diff(self.before, self.after)

    @cached_property
    def hunks(self) -> tuple[Hunk, ...]:
        """The changes that can be approved one by one, in reading order."""
        return worddiff.hunks_of(self.segments)

    def once(self, what: Hashable, make: Callable[[], T]) -> T:
        """Return what `make` returns, which is made once; `what` names it among all that is made of two texts."""
        if what not in self._made:
            self._made[what] = make()
        return cast("T", self._made[what])


@lru_cache(maxsize=KEPT)
def compared(before: str, after: str) -> TextsCompared:
    return TextsCompared(before, after)


def forget() -> None:
    """Keep none of the texts any longer."""
    compared.cache_clear()
