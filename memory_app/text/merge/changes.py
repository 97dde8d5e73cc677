"""What one side did between two units that stay, and whether that meets what the other side did there."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple, TypeVar

from memory_app.text.merge.units import Level, is_replaced, sentences
from memory_app.text.worddiff.compare import Difference, differences, is_spaced, is_word, tokens

# -- results --------------------------------------------------------------------------------------

Value = TypeVar("Value")


class Conflict(NamedTuple):
    """A passage that both sides changed; each text may be empty."""

    base: str
    ours: str
    theirs: str


Part = str | Conflict


@dataclass(frozen=True, slots=True)
class Conflicted:
    """A text in which at least one passage needs a decision.

    Attributes:
        parts: merged text and conflicts, in reading order.
    """

    parts: tuple[Part, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(part for part in self.parts if isinstance(part, Conflict))

    def resolved(self, choices: Sequence[str]) -> str:
        """Return the whole text with one chosen text for each conflict, in their order.

        Raises:
            ValueError: there are more or fewer choices than conflicts.
        """
        if len(choices) != len(self.conflicts):
            raise ValueError(f"{len(self.conflicts)} conflicts need as many choices, not {len(choices)}")
        rest = iter(choices)
        return "".join(next(rest) if isinstance(part, Conflict) else part for part in self.parts)


def agreed(base: Value, ours: Value, theirs: Value) -> Value | None:
    """Return what to take when at most one side changed it, or both alike; None when they disagree."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts with neighbouring texts as one and the white space that a conflict's texts share outside it."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        before, conflict, after = _trimmed(part)
        if text := "".join((*texts, before)):
            yield text
        yield conflict
        texts = [after]
    if text := "".join(texts):
        yield text


def _trimmed(conflict: Conflict) -> tuple[str, Conflict, str]:
    starts = {text[: len(text) - len(text.lstrip())] for text in conflict}
    before = starts.pop() if len(starts) == 1 else ""
    texts = [text[len(before) :] for text in conflict]
    ends = {text[len(text.rstrip()) :] for text in texts}
    after = ends.pop() if len(ends) == 1 else ""
    return before, Conflict(*(text[: len(text) - len(after)] for text in texts)), after


# -- words ----------------------------------------------------------------------------------------

#: A side has rewritten a sentence when it took out at least so many of its words, and more than this share of them.
_FEWEST_WORDS = 2
_MOST_GONE = 0.3

#: It has rewritten it too when it took out words in more places than this.
_MOST_PLACES = 2

#: Share of a sentence's words that both sides together may take out.
_MOST_GONE_TOGETHER = 0.4


def merged_words(base: str, ours: str, theirs: str) -> str | None:
    """Return both sides' changes made to `base`, or None where they touch or a side rewrote what the other touched.

    Something other than white space has to stand between two changes of different sides. White space alone that one
    side changed gives way to words that the other side changed.
    """
    pieces, our_pieces, their_pieces = tokens(base), tokens(ours), tokens(theirs)
    our_changes, their_changes = differences(pieces, our_pieces), differences(pieces, their_pieces)
    merged = None
    if not _is_mixture(base, pieces, our_changes, their_changes):
        merged = _interleaved(pieces, [(our_changes, our_pieces), (their_changes, their_pieces)])
    if merged is None and base.split() == ours.split():
        # Where both wrapped the lines anew neither is better: the one with more of them.
        is_wrapping = base.split() == theirs.split()
        return max(ours, theirs, key=lambda text: (text.count("\n"), text)) if is_wrapping else theirs
    if merged is None and base.split() == theirs.split():
        return ours
    return merged


def _is_mixture(base: str, pieces: Sequence[str], ours: Sequence[Difference], theirs: Sequence[Difference]) -> bool:
    """Whether a sentence was changed by both sides and too much of it by one of them or by both together."""
    words = list(accumulate(map(is_word, pieces), initial=0))
    starts = _sentence_starts(base, pieces)
    for start, end in zip(starts, [*starts[1:], len(pieces)], strict=True):
        sides = [list(_gone(changes, words, start, end)) for changes in (ours, theirs)]
        if not all(sides):
            continue
        whole = words[end] - words[start]
        if any(_is_rewrite(gone, whole) for gone in sides):
            return True
        together = sum(map(sum, sides))
        if together > _FEWEST_WORDS and together > _MOST_GONE_TOGETHER * whole:
            return True
    return False


def _is_rewrite(gone: Sequence[int], whole: int) -> bool:
    """Whether a side rewrote a sentence of so many words, given how many are gone at each place it changed."""
    places = sum(count > 0 for count in gone)
    return sum(gone) >= _FEWEST_WORDS and (sum(gone) > _MOST_GONE * whole or places > _MOST_PLACES)


def _sentence_starts(base: str, pieces: Sequence[str]) -> list[int]:
    """Return with which piece each sentence begins."""
    places = list(accumulate(map(len, pieces), initial=0))
    units = sentences(base)
    starts = [0]
    at = len(units.separators[0])
    for text, separator in zip(units.texts[:-1], units.separators[1:], strict=False):
        at += len(text) + len(separator)
        starts.append(bisect_left(places, at))
    return starts


def _gone(changes: Sequence[Difference], words: Sequence[int], start: int, end: int) -> Iterator[int]:
    """Yield how many words are gone at each place where something changed in the pieces `[start:end]`."""
    for each in changes:
        if (each.start < end and each.end > start) or start <= each.start < end:
            yield words[max(min(each.end, end), start)] - words[max(each.start, start)]


Side = tuple[Sequence[Difference], Sequence[str]]


def _interleaved(pieces: Sequence[str], sides: Sequence[Side]) -> str | None:
    """Return the changes of both sides made in order; None where two of them are too near each other."""
    made = [(change, "".join(side[change.new_start : change.new_end])) for changes, side in sides for change in changes]
    owner = [number for number, (changes, _) in enumerate(sides) for _ in changes]
    order = sorted(range(len(made)), key=lambda index: (made[index][0][:2], made[index][1]))
    result: list[str] = []
    at = 0
    last: int | None = None
    for index in order:
        change, text = made[index]
        if last is not None and owner[index] != owner[last]:
            before, before_text = made[last]
            if change[:2] == before[:2] and text == before_text:
                continue
            if not _are_apart(pieces[before.end : change.start] if before.end <= change.start else ()):
                return None
        result += (*pieces[at : change.start], text)
        at, last = change.end, index
    return "".join((*result, *pieces[at:]))


def _are_apart(between: Sequence[str]) -> bool:
    """Whether more than white space is between two changes, and not only half of a word of a script without spaces."""
    signs = [piece for piece in between if not piece.isspace()]
    return bool(signs) and (len(signs) > 1 or is_spaced(signs[0][0]))


# -- changes of one side --------------------------------------------------------------------------


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
