"""Merging texts step by step: what only one side changed is taken, what both changed is taken apart further."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from memory_app.text.lines import STOPS
from memory_app.text.merge import units
from memory_app.text.merge.align import ALIKE, Match, Side, aligned, is_replaced, moved, reconciled, similarity
from memory_app.text.merge.changes import has_grown
from memory_app.text.merge.gaps import Gap, Threefold
from memory_app.text.merge.units import Level, Units
from memory_app.text.merge.values import Conflict, Part, agreed
from memory_app.text.merge.words import merged_words
from memory_app.text.worddiff.words import is_word, tokens

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
    """Three texts cut into units, being merged."""

    def __init__(self, level: Level, finer: Sequence[Level], base: Units, ours: Units, theirs: Units) -> None:
        self.level = level
        self.finer = finer
        self.versions = (base, ours, theirs)
        our, their = (Side(side.texts, aligned(base.texts, side.texts)) for side in (ours, theirs))
        itself: Match = list(range(len(base.texts)))
        self.matches = (itself, reconciled(base.texts, our, their), reconciled(base.texts, their, our))
        self._taken = [{place for place in match if place is not None} for match in self.matches]
        self.texts = Threefold(self.versions, self.matches, level, (frozenset(), self._moved(1), self._moved(2)))

    def parts(self) -> Iterator[Part]:
        """Yield the merged parts: gaps, and between them the units that are in all three texts."""
        left = [-1, -1, -1]
        texts = [version.texts for version in self.versions]
        separators = [version.separators for version in self.versions]
        for found in zip(*self.matches, strict=True):
            places = [place for place in found if place is not None]
            if len(places) < len(found) or not self._stands(places):
                continue
            (i, j, k), (before, our_before, their_before) = places, left
            left = places
            separator = separators[0][i]
            if (before, our_before, their_before) == (i - 1, j - 1, k - 1) and (
                separators[1][j] == separator == separators[2][k]
            ):
                yield separator
            else:
                yield from self._gap((before, our_before, their_before), places)
            if texts[0][i] == texts[1][j] == texts[2][k]:
                yield texts[0][i]
            else:
                yield from self._unit(places)
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
            gap = Gap(self.texts, left, right)
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
