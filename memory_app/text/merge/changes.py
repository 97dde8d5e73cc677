"""What one side did between two units that stay, and whether that meets what the other side did there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memory_app.text.merge.align import is_replaced
from memory_app.text.merge.units import Level
from memory_app.text.worddiff.compare import differences
from memory_app.text.worddiff.words import is_word, tokens

#: Words put in before or after those of a unit, from which they may be a unit of their own.
_FEWEST_WORDS = 2


class SideChange(NamedTuple):
    """Units `[start:end]` of the base became units `[new_start:new_end]` of a side.

    Attributes:
        was: the text of the units of the base.
        text: the text of the units of the side.
        moves: one of the units is elsewhere in the other of the two texts.
    """

    start: int
    end: int
    new_start: int
    new_end: int
    side: int
    was: str
    text: str
    moves: bool

    @property
    def is_insertion(self) -> bool:
        return self.start == self.end

    @property
    def is_deletion(self) -> bool:
        return self.new_start == self.new_end

    @property
    def is_edit(self) -> bool:
        """Whether a unit was changed: nothing was put in, taken out or moved."""
        return self.end - self.start == self.new_end - self.new_start == 1 and not self.moves

    def is_like(self, other: SideChange) -> bool:
        """Whether the other side did the same."""
        return (self.start, self.end, self.text) == (other.start, other.end, other.text)

    def shares_units(self, other: SideChange) -> bool:
        """Whether both sides changed one unit of the base."""
        return max(self.start, other.start) < min(self.end, other.end)

    def overlaps(self, other: SideChange) -> bool:
        """Whether both sides changed the same units, and not both by taking them out."""
        if self.is_deletion and other.is_deletion:
            return False
        return self.shares_units(other) or any(
            change.is_insertion and beside.start < change.start < beside.end
            for change, beside in ((self, other), (other, self))
        )


def beside(ours: Sequence[SideChange], theirs: Sequence[SideChange]) -> Iterator[tuple[SideChange, SideChange]]:
    """Yield the changes of both sides that overlap or touch; both lists are in the order of the base."""
    first = 0
    for one in ours:
        while first < len(theirs) and theirs[first].end < one.start:
            first += 1
        for other in theirs[first:]:
            if other.start > one.end:
                break
            if other.end >= one.start:
                yield one, other


def are_unordered(one: SideChange, other: SideChange, level: Level) -> bool:
    """Whether two changes touch, and something that a side put in there could be before or after the other's.

    A unit with nothing left of it may have been taken out and another one put in: no text tells whether that one
    stands before or after what the other side put in at the same place.
    """
    if one.start != other.end and other.start != one.end:
        return False
    for change, beside in ((one, other), (other, one)):
        if change.moves and not beside.is_edit:
            return True
        if _puts_in(change, level.ends) and (
            _puts_in(beside, level.ends) or is_replaced(beside.was, beside.text, level.replaced)
        ):
            return True
    return False


def _puts_in(change: SideChange, ends: str) -> bool:
    more = change.new_end - change.new_start > change.end - change.start
    return more or (not change.is_deletion and has_grown(change.was, change.text, ends))


def has_grown(old: str, new: str, ends: str) -> bool:
    """Whether what was put in before or after the words of a unit may be a unit of its own, by a sign that ends one."""
    if len(new) <= len(old) or not any(new.count(sign) > old.count(sign) for sign in ends):
        return False
    pieces, new_pieces = tokens(old), tokens(new)
    words = [index for index, piece in enumerate(pieces) if is_word(piece)]
    first, last = (words[0], words[-1]) if words else (0, 0)
    for each in differences(pieces, new_pieces):
        if each.start < each.end or first < each.start <= last:
            continue
        put_in = new_pieces[each.new_start : each.new_end]
        if sum(map(is_word, put_in)) >= _FEWEST_WORDS and any(piece[0] in ends for piece in put_in):
            return True
    return False
