"""What both sides did between two units that stay: taken in order where their changes do not meet.

A gap is told by the units before and after it. Inside it no unit is in all three texts, but one may be in two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memory_app.text.merge.align import Match
from memory_app.text.merge.units import Units
from memory_app.text.merge.values import agreed

BASE, OURS, THEIRS = range(3)
_SIDES = (OURS, THEIRS)

Place = tuple[int | None, int | None, int | None]


class _Change(NamedTuple):
    """Units `[start:end]` of the base became units `[new_start:new_end]` of a side."""

    start: int
    end: int
    new_start: int
    new_end: int
    side: int
    text: str

    @property
    def is_insertion(self) -> bool:
        return self.start == self.end

    @property
    def is_deletion(self) -> bool:
        return self.new_start == self.new_end

    @property
    def is_growth(self) -> bool:
        """Whether there are more units than before, so that some of them may be insertions."""
        return self.new_end - self.new_start > self.end - self.start

    def is_like(self, other: _Change) -> bool:
        """Whether the other side did the same."""
        return (self.start, self.end, self.text) == (other.start, other.end, other.text)


class _Item(NamedTuple):
    """A piece of the result, with the places of its first and last unit in base, ours and theirs."""

    text: str
    first: Place
    last: Place


def _collide(one: _Change, other: _Change) -> bool:
    """Whether two changes of different sides meet, so that a person has to say how they go together."""
    if one.is_deletion and other.is_deletion:
        return False
    if max(one.start, other.start) < min(one.end, other.end):
        return True
    for change, beside in ((one, other), (other, one)):
        if change.is_insertion and beside.start < change.start < beside.end:
            return True
    # Of two insertions at one place neither is the first.
    return (one.start == other.end or other.start == one.end) and one.is_growth and other.is_growth


class Gap:
    """A gap in three texts, `left` and `right` being the places of the units around it in each."""

    def __init__(
        self,
        versions: Sequence[Units],
        matches: Sequence[Match],
        left: Sequence[int],
        right: Sequence[int],
        *,
        strict: bool,
    ) -> None:
        self.versions = versions
        self.matches = matches
        self.left = left
        self.right = right
        self.strict = strict
        self._kept: set[tuple[int, int]] = set()

    def interleaved(self) -> str | None:
        """Return the gap with the changes of both sides, or None where two of them collide."""
        ours, theirs = (list(self._changes(side)) for side in _SIDES)
        ours, theirs = list(self._parted(ours, theirs)), list(self._parted(theirs, ours))
        twins = [(one, other) for one in ours for other in theirs if one.is_like(other)]
        if any(_collide(one, other) for one in ours for other in theirs if not one.is_like(other)):
            return None
        again = {id(other) for _, other in twins}
        changes = [*ours, *(change for change in theirs if id(change) not in again)]
        places = {id(one): other for one, other in twins}
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

    def _changes(self, side: int) -> Iterator[_Change]:
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

    def _parted(self, changes: Sequence[_Change], others: Sequence[_Change]) -> Iterator[_Change]:
        """Yield the changes, with what the other side put in at the same place as an insertion of its own."""
        for change in changes:
            texts = self.versions[change.side].texts[change.new_start : change.new_end]
            for other in others:
                size = other.new_end - other.new_start
                if not other.is_insertion or change.is_insertion or size > len(texts):
                    continue
                put_in = self.versions[other.side].texts[other.new_start : other.new_end]
                start, end, new_start, new_end, side, _ = change
                if other.start == start and texts[:size] == put_in:
                    yield self._change(side, start, start, new_start, new_start + size)
                    yield self._change(side, start, end, new_start + size, new_end)
                    break
                if other.start == end and texts[-size:] == put_in:
                    yield self._change(side, start, end, new_start, new_end - size)
                    yield self._change(side, end, end, new_end - size, new_end)
                    break
            else:
                yield change

    def _change(self, side: int, start: int, end: int, new_start: int, new_end: int) -> _Change:
        return _Change(start, end, new_start, new_end, side, self.versions[side].inner(new_start, new_end))

    def _items(self, changes: Sequence[_Change], twins: dict[int, _Change]) -> Iterator[_Item]:
        """Yield what is in the result, in order; insertions before the unit they were put in front of."""
        covered = {place for change in changes for place in range(change.start, change.end)}
        by_start: dict[int, list[_Change]] = {}
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

    def _changed(self, change: _Change, twin: _Change | None) -> _Item:
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
        if end == -1 or start == len(separators) - 1:  # at either end of the text is what was there
            return separators[0 if end == -1 else -1]
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
        return not self.strict and max(one.count("\n"), other.count("\n")) < 2


def _strength(separator: str) -> tuple[int, int, str]:
    return separator.count("\n"), len(separator), separator
