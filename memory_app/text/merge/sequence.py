"""Merging texts step by step: what only one side changed is taken, what both changed is taken apart further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from memory_app.text.lines import STOPS
from memory_app.text.merge import units
from memory_app.text.merge.changes import (
    Conflict,
    Part,
    SideChange,
    agreed,
    are_unordered,
    beside,
    has_grown,
    merged_words,
)
from memory_app.text.merge.units import (
    ALIKE,
    Level,
    Match,
    Side,
    Units,
    aligned,
    is_replaced,
    moved,
    reconciled,
    similarity,
)
from memory_app.text.worddiff.compare import is_word, tokens

# -- gaps -----------------------------------------------------------------------------------------

BASE, OURS, THEIRS = range(3)
_SIDES = (OURS, THEIRS)

Place = Sequence[int | None]


class _Item(NamedTuple):
    """A piece of the result, with the places of its first and last unit in base, ours and theirs."""

    text: str
    first: Place
    last: Place


class Gap:
    """A gap in three texts, `left` and `right` being the places of the units around it in each."""

    def __init__(self, texts: _Sequence, left: Sequence[int], right: Sequence[int]) -> None:
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
        twins = {id(one): other for one, other in self._twins}
        left, right = (_Item("", places, places) for places in (self.left, self.right))
        items = [left, *self._items(changes, twins), right]
        result: list[str] = []
        for before, after in pairwise(items):
            separator = self._separator(before, after)
            if separator is None:
                return None
            result += (separator, after.text)
        return None if self._loses_a_separator() else "".join(result)

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
        first: list[int | None] = [None] * 3
        last = first.copy()
        if not change.is_insertion:
            first, last = list(self._places(change.start)), list(self._places(change.end - 1))
        for each in (change, twin):
            if each is not None:
                first[each.side], last[each.side] = each.new_start, each.new_end - 1
        return _Item(change.text, first, last)

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


#: A text is cut by each in turn; the last step is words.
LEVELS = (
    Level(units.paragraphs, across="sentences", ends="\n"),
    Level(units.rows, replaced=0.5),  # rows share a column or two
    Level(units.cells, strict=False, is_fixed=True),
    Level(units.sentences, across="words", strict=False, ends=STOPS),
)
_FLAT = LEVELS[-1]
_TABLES = LEVELS[1:3]


def merged(base: str, ours: str, theirs: str, levels: Sequence[Level] = LEVELS) -> list[Part]:
    """Return merged text and conflicts, in order."""
    if (text := agreed(base, ours, theirs)) is not None:
        return [text]
    if not levels:
        words = merged_words(base, ours, theirs)
        return [Conflict(base, ours, theirs) if words is None else words]
    level, *finer = levels
    versions = [level.split(text) for text in (base, ours, theirs)]
    if all(each.texts == [text] for each, text in zip(versions, (base, ours, theirs), strict=True)):
        return _or_conflict(merged(base, ours, theirs, finer), base, ours, theirs)
    parts = list(_Sequence(level, finer, *versions).parts())
    if level.split is units.rows and _lost_its_shape(base, ours, theirs, parts):
        return [Conflict(base, ours, theirs)]
    return parts


def _lost_its_shape(base: str, ours: str, theirs: str, parts: Sequence[Part]) -> bool:
    """Whether the rows of a table no longer have equally many cells: one side added a column, the other a row."""
    if any(isinstance(part, Conflict) for part in parts):
        return False
    return all(map(_is_even, (base, ours, theirs))) and not _is_even("".join(map(str, parts)))


def _is_even(table: str) -> bool:
    return len({len(units.cells(row).texts) for row in table.split("\n")}) < 2


def _or_conflict(parts: list[Part] | None, base: str, ours: str, theirs: str) -> list[Part]:
    """Return the merged parts; a conflict where there are none, or each side kept only what the other took out."""
    if parts is None or not any(isinstance(part, Conflict) or part.strip() for part in parts):
        return [Conflict(base, ours, theirs)]
    return parts


class _Sequence:
    """Three texts cut into units, being merged.

    Attributes:
        level: how they were cut; `finer` are the levels after it.
        versions: base, ours and theirs.
        matches: where the units of the base are in each of them.
        moved: for each text, the units that a side took out at one place and put in at another.
    """

    def __init__(self, level: Level, finer: Sequence[Level], base: Units, ours: Units, theirs: Units) -> None:
        self.level = level
        self.finer = finer
        self.versions = (base, ours, theirs)
        our, their = (Side(side.texts, aligned(base.texts, side.texts)) for side in (ours, theirs))
        itself: Match = list(range(len(base.texts)))
        self.matches = (itself, reconciled(base.texts, our, their), reconciled(base.texts, their, our))
        self._taken = [{place for place in match if place is not None} for match in self.matches]
        self.moved = (frozenset[str](), self._moved(1), self._moved(2))

    def parts(self) -> Iterator[Part]:
        """Yield the merged parts: gaps, and between them the units that are in all three texts."""
        left = [-1, -1, -1]
        for found in zip(*self.matches, strict=True):
            places = [place for place in found if place is not None]
            if len(places) == len(found) and self._stands(places):
                yield from (*self._gap(left, places), *self._unit(places))
                left = places
        yield from self._gap(left, [len(version.texts) for version in self.versions])

    def _moved(self, side: int) -> frozenset[str]:
        """Return what a side moved within the text."""
        base, new, match = self.versions[0].texts, self.versions[side].texts, self.matches[side]
        gone = [base[index] for index, place in enumerate(match) if place is None]
        return moved(gone, [text for place, text in enumerate(new) if place not in self._taken[side]])

    def _stands(self, places: Sequence[int]) -> bool:
        """Whether a unit that is in all three texts is one and the same, and nothing of its own was put into it."""
        base, ours, theirs = (version.texts[place] for version, place in zip(self.versions, places, strict=True))
        if ours == theirs or self.level.is_fixed:
            return True
        if any(is_replaced(base, new, self.level.replaced) for new in (ours, theirs)):
            return False
        return not any(
            self._puts_in_beside(other, places[0]) and has_grown(base, new, self.level.ends)
            for new, other in ((ours, 2), (theirs, 1))
        )

    def _puts_in_beside(self, side: int, index: int) -> bool:
        """Whether a side put in something directly before or after a unit of the base, or into the one there."""
        base, new = self.versions[0].texts, self.versions[side].texts
        place = self.matches[side][index] or 0
        for step in (-1, 1):
            if 0 <= place + step < len(new) and place + step not in self._taken[side]:
                return True
            at = self.matches[side][index + step] if 0 <= index + step < len(base) else None
            if at is not None and has_grown(base[index + step], new[at], self.level.ends):
                return True
        return False

    def _unit(self, places: Sequence[int]) -> list[Part]:
        base, ours, theirs = (version.texts[place] for version, place in zip(self.versions, places, strict=True))
        return _or_conflict(merged(base, ours, theirs, self.finer), base, ours, theirs)

    def _gap(self, left: Sequence[int], right: Sequence[int]) -> list[Part]:
        ranges = [(start + 1, end) for start, end in zip(left, right, strict=True)]
        base, ours, theirs = (version.raw(*where) for version, where in zip(self.versions, ranges, strict=True))
        text = agreed(base, ours, theirs)
        if text is None:
            gap = Gap(self, left, right)
            if gap.is_doubtful():
                return [Conflict(base, ours, theirs)]
            text = gap.interleaved()
            if text is None and self.level.strict and not gap.has_overlaps():
                return [Conflict(base, ours, theirs)]
        if text is not None:
            return [text]
        parts: list[Part] | None = None
        if all(start + 1 == end for start, end in ranges):
            parts = self._one_unit([start for start, _ in ranges])
        if parts is None and all(start < end for start, end in ranges):
            parts = self._across(ranges, base, ours, theirs)
        return _or_conflict(parts, base, ours, theirs)

    def _one_unit(self, places: Sequence[int]) -> list[Part] | None:
        """Merge inside a unit, if the sides agree on what is around it."""
        around = [
            agreed(*(version.separators[place + after] for version, place in zip(self.versions, places, strict=True)))
            for after in (0, 1)
        ]
        return None if None in around else [around[0] or "", *self._unit(places), around[1] or ""]

    def _across(self, ranges: Sequence[tuple[int, int]], base: str, ours: str, theirs: str) -> list[Part] | None:
        """Merge across the borders of the units: a paragraph or sentence was cut, or two were joined."""
        if self.level.across == "words":
            is_one = min(similarity(base, ours), similarity(base, theirs)) >= ALIKE
            text = merged_words(base, ours, theirs) if is_one else None
            return None if text is None else [text]
        if self.level.across == "sentences":
            passages = [version.part(*where) for version, where in zip(self.versions, ranges, strict=True)]
            inner = _Sequence(_FLAT, _TABLES, *map(units.flat, passages))
            return None if inner.edits_what_was_deleted(passages) else list(inner.parts())
        return None

    def edits_what_was_deleted(self, passages: Sequence[Units]) -> bool:
        """Whether one side took out a whole paragraph of the base that the other side changed."""
        base, sides = passages[0], passages[1:]
        start = 0
        for paragraph in base.texts:
            end = start + len(units.flat(Units([paragraph], ["", ""])).texts)
            for number, other in ((1, sides[1]), (2, sides[0])):
                if paragraph not in other.texts and not any(self._stays(index, number) for index in range(start, end)):
                    return True
            start = end
        return False

    def _stays(self, index: int, side: int) -> bool:
        """Whether a unit of the base with a word in it is still there, much as it was."""
        text, place = self.versions[0].texts[index], self.matches[side][index]
        if place is None or not any(map(is_word, tokens(text))):
            return False
        return similarity(text, self.versions[side].texts[place]) >= ALIKE
