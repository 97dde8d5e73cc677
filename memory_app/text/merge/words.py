"""Merging what both sides changed in one sentence, or in a few that were joined or cut, word by word."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate

from memory_app.text.merge.units import sentences
from memory_app.text.worddiff.compare import differences
from memory_app.text.worddiff.matching import Difference
from memory_app.text.worddiff.words import is_spaced, is_word, tokens

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
        return max(ours, theirs, key=_line_ends) if base.split() == theirs.split() else theirs
    if merged is None and base.split() == theirs.split():
        return ours
    return merged


def _line_ends(text: str) -> tuple[int, str]:
    return text.count("\n"), text


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
