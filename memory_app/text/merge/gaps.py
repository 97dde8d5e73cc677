"""What both sides did between two units that stay: taken in order where their changes do not meet.

A gap is told by the units before and after it. Inside it no unit is in all three texts, but one may be in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memory_app.text.merge.align import Match
from memory_app.text.merge.changes import SideChange, are_unordered, beside
from memory_app.text.merge.units import Level, Units
from memory_app.text.merge.values import agreed

BASE, OURS, THEIRS = range(3)
_SIDES = (OURS, THEIRS)

Place = tuple[int | None, int | None, int | None]


class _Item(NamedTuple):
    """A piece of the result, with the places of its first and last unit in base, ours and theirs."""

    text: str
    first: Place
    last: Place


class Threefold(NamedTuple):
    """Three texts cut into units.

    Attributes:
        versions: base, ours and theirs.
        matches: where the units of the base are in each of them.
        level: how they were cut.
        moved: for each text, the units that a side took out at one place and put in at another.
    """

    versions: tuple[Units, Units, Units]
    matches: tuple[Match, Match, Match]
    level: Level
    moved: tuple[frozenset[str], frozenset[str], frozenset[str]]


class Gap:
    """A gap in three texts, `left` and `right` being the places of the units around it in each."""

    def __init__(self, texts: Threefold, left: Sequence[int], right: Sequence[int]) -> None:
        self.texts = texts
        self.versions = texts.versions
        self.matches = texts.matches
        self.left = left
        self.right = right
        self._kept: set[tuple[int, int]] = set()
        ours, theirs = (list(self._changes(side)) for side in _SIDES)
        self._ours, self._theirs = list(self._parted(ours, theirs)), list(self._parted(theirs, ours))
        self._beside = list(beside(self._ours, self._theirs))
        self._twins = [(one, other) for one, other in self._beside if one.is_like(other)]

    def is_doubtful(self) -> bool:
        """Whether two things were put in at one place, so that a person has to say in which order they go."""
        twins = {id(change) for pair in self._twins for change in pair}
        return any(
            one.moves != other.moves
            if one.is_deletion and other.is_deletion and one.shares_units(other)
            else not twins & {id(one), id(other)} and are_unordered(one, other, self.texts.level)
            for one, other in self._beside
        )

    def has_overlaps(self) -> bool:
        """Whether both sides changed the same units."""
        return any(one.overlaps(other) for one, other in self._beside if not one.is_like(other))

    def interleaved(self) -> str | None:
        """Return the gap with the changes of both sides, or None where they cannot be put in order."""
        if self.has_overlaps():
            return None
        again = {id(other) for _, other in self._twins}
        changes = [*self._ours, *(change for change in self._theirs if id(change) not in again)]
        places = {id(one): other for one, other in self._twins}
        items = [self._edge(self.left), *self._items(changes, places), self._edge(self.right)]
        result: list[str] = []
        for before, after in pairwise(items):
            separator = self._separator(before, after)
            if separator is None:
                return None
            result += (separator, after.text)
        return None if self._loses_a_separator() else "".join(result)

    def _edge(self, places: Sequence[int]) -> _Item:
        base, ours, theirs = places
        return _Item("", (base, ours, theirs), (base, ours, theirs))

    def _changes(self, side: int) -> Iterator[SideChange]:
        base, units, match = self.versions[BASE].texts, self.versions[side], self.matches[side]
        at, new_at = self.left[BASE] + 1, self.left[side] + 1
        end, new_end = self.right[BASE], self.right[side]
        while at < end or new_at < new_end:
            start, new_start = at, new_at
            while at < end and match[at] is None:
                at += 1
            place = match[at] if at < end else None
            new_at = new_end if place is None else place
            if (start, new_start) != (at, new_at):
                yield self._change(side, start, at, new_start, new_at)
            if at < end:
                if base[at] != units.texts[new_at]:
                    yield self._change(side, at, at + 1, new_at, new_at + 1)
                at, new_at = at + 1, new_at + 1

    def _parted(self, changes: Sequence[SideChange], others: Sequence[SideChange]) -> Iterator[SideChange]:
        """Yield the changes, with what the other side put in at the same place as an insertion of its own."""
        insertions = {other.start: other for other in others if other.is_insertion}
        for change in changes:
            start, end, new_start, new_end, side = change[:5]
            if start == end:
                yield change
            elif (size := self._common(change, insertions.get(start), at_end=False)) > 0:
                yield self._change(side, start, start, new_start, new_start + size)
                yield self._change(side, start, end, new_start + size, new_end)
            elif (size := self._common(change, insertions.get(end), at_end=True)) > 0:
                yield self._change(side, start, end, new_start, new_end - size)
                yield self._change(side, end, end, new_end - size, new_end)
            else:
                yield change

    def _common(self, change: SideChange, insertion: SideChange | None, *, at_end: bool) -> int:
        """Return how many units the other side put in, if the change begins or ends with them; 0 otherwise."""
        if insertion is None:
            return 0
        size = insertion.new_end - insertion.new_start
        new_start = change.new_end - size if at_end else change.new_start
        if not change.new_start <= new_start <= change.new_end - size:
            return 0
        put_in = self.versions[insertion.side].texts[insertion.new_start : insertion.new_end]
        return size if self.versions[change.side].texts[new_start : new_start + size] == put_in else 0

    def _change(self, side: int, start: int, end: int, new_start: int, new_end: int) -> SideChange:
        base, units = self.versions[BASE], self.versions[side]
        moved = self.texts.moved[side]
        moves = bool(moved) and not moved.isdisjoint((*base.texts[start:end], *units.texts[new_start:new_end]))
        was, text = base.inner(start, end), units.inner(new_start, new_end)
        return SideChange(start, end, new_start, new_end, side, was, text, moves)

    def _items(self, changes: Sequence[SideChange], twins: dict[int, SideChange]) -> Iterator[_Item]:
        """Yield what is in the result, in order; insertions before the unit they were put in front of."""
        covered = {place for change in changes for place in range(change.start, change.end)}
        by_start: dict[int, list[SideChange]] = {}
        for change in changes:
            if not change.is_deletion:
                by_start.setdefault(change.start, []).append(change)
        base = self.versions[BASE].texts
        for place in range(self.left[BASE] + 1, self.right[BASE] + 1):
            for change in sorted(by_start.get(place, ()), key=lambda each: not each.is_insertion):
                yield self._changed(change, twins.get(id(change)))
            if place < self.right[BASE] and place not in covered:
                at = self._places(place)
                yield _Item(base[place], at, at)

    def _places(self, place: int) -> Place:
        return place, self.matches[OURS][place], self.matches[THEIRS][place]

    def _changed(self, change: SideChange, twin: SideChange | None) -> _Item:
        """Return what a change put there. What replaced units stands where they stand in the other text."""
        first: list[int | None] = [None, None, None]
        last: list[int | None] = [None, None, None]
        if not change.is_insertion:
            first, last = list(self._places(change.start)), list(self._places(change.end - 1))
        for each in (change, twin):
            if each is not None:
                first[each.side], last[each.side] = each.new_start, each.new_end - 1
        return _Item(change.text, (first[0], first[1], first[2]), (last[0], last[1], last[2]))

    def _separator(self, before: _Item, after: _Item) -> str | None:
        """Return what stands between two pieces of the result; None where the sides disagree."""
        beside: dict[int, str] = {}
        for number, (end, start) in enumerate(zip(before.last, after.first, strict=True)):
            if end is not None and start == end + 1:
                beside[number] = self.versions[number].separators[start]
                self._kept.add((number, start))
        if OURS in beside and THEIRS in beside:
            return self._agreed(beside)
        if OURS in beside or THEIRS in beside:
            return beside.get(OURS, beside.get(THEIRS))
        found = {self._strongest(side, before.last[side], after.first[side]) for side in _SIDES} - {None}
        return found.pop() if len(found) == 1 else None

    def _agreed(self, beside: dict[int, str]) -> str | None:
        ours, theirs = beside[OURS], beside[THEIRS]
        if ours == theirs:
            return ours
        found = agreed(beside[BASE], ours, theirs) if BASE in beside else None
        if found is None and self._is_soft(ours, theirs):
            return max(ours, theirs, key=_strength)
        return found

    def _strongest(self, side: int, end: int | None, start: int | None) -> str | None:
        """Return the separator that parts two pieces most where a side has others between them."""
        if end is None or start is None or start <= end:
            return None
        separators = self.versions[side].separators
        if end == -1:  # at the start of the text is what was there
            return separators[0]
        if start == len(separators) - 1:
            is_one = not self.texts.level.strict or len(set(separators[end + 1 :])) == 1
            return separators[-1] if is_one else None
        return max(separators[end + 1 : start + 1], key=_strength)

    def _loses_a_separator(self) -> bool:
        """Whether a side changed what is between two units, and the result has it nowhere."""
        base = self.versions[BASE].separators
        for side in _SIDES:
            separators, match = self.versions[side].separators, self.matches[side]
            for at in range(self.left[BASE] + 1, self.right[BASE] + 1):
                before = self.left[side] if at == self.left[BASE] + 1 else match[at - 1]
                after = self.right[side] if at == self.right[BASE] else match[at]
                if before is None or after != before + 1 or separators[after] == base[at]:
                    continue
                if (side, after) not in self._kept and not self._is_soft(separators[after], base[at]):
                    return True
        return False

    def _is_soft(self, one: str, other: str) -> bool:
        """Whether two separators differ in no more than where a line was wrapped or how a table is padded."""
        return not self.texts.level.strict and max(one.count("\n"), other.count("\n")) < 2


def _strength(separator: str) -> tuple[int, int, str]:
    return separator.count("\n"), len(separator), separator
