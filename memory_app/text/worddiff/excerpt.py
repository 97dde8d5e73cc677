"""The most telling changes of a diff on two lines, for a row of the inbox."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory_app.text.worddiff.moved import count_words
from memory_app.text.worddiff.segments import Segment, is_word, tokens

# Two lines of the inbox at its usual width. One change with its surroundings always fits.
LONGEST = 240
_LONGEST_PART = 90
_CONTEXT_WORDS = 3
_LONGEST_CONTEXT = 24

_GAP = ["gap", "…"]
_MOVED = "moved"
_STOPS = " .,;:!?…"

# What separates the cells of a Markdown table, and what replaces it on one line, where `| |` reads as noise.
_PIPE = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"[\s|:]*+-[\s|:-]*+")
_CELL = "·"
_ROW_END = re.compile(rf"{_CELL}(?:\s*{_CELL})+")


@dataclass(frozen=True, slots=True)
class _Passage:
    """Neighbouring removed and added segments, `segments[start:end]`, and what is shown of them."""

    start: int
    end: int
    words: int
    shown: list[list[str]]

    @property
    def room(self) -> int:
        """Return how many characters it may take with what is shown around it."""
        return sum(len(text) for _, text in self.shown) + 2 * (_LONGEST_CONTEXT + 1)


def excerpt(segments: Sequence[Segment], *, words: int = 12) -> list[list[str]]:
    """Return the changes that touch most words, in reading order, as `[kind, text]` pairs that can be stored as JSON.

    Kinds are those of segments, `gap` for text left out, and `moved` for what was moved, which stands where it is now.
    White space is reduced to single spaces. The texts together have at most `LONGEST` characters. Cells of tables are
    separated by dots.

    Args:
        words: how many words of one removed or added text are shown.
    """
    segments = list(_with_parted_cells(segments))
    chosen: list[_Passage] = []
    room = LONGEST
    for passage in sorted(_passages(segments, words), key=lambda item: -item.words):
        if passage.room <= room:
            chosen.append(passage)
            room -= passage.room
    chosen.sort(key=lambda item: item.start)
    return _without_repeated_gaps(list(_laid_out(segments, chosen)))


def _with_parted_cells(segments: Sequence[Segment]) -> Iterator[Segment]:
    if not any("|" in segment.text for segment in segments):  # a table is rare, and looking for its lines is not cheap
        yield from segments
        return
    before, after = (_lines_of_tables(segments, other) for other in ("added", "removed"))
    line_before = line_after = 0
    for segment in segments:
        text = ""
        for piece in segment.text.splitlines(keepends=True):
            is_cells = line_after in after if segment.kind == "added" else line_before in before
            is_rule = is_cells and segment.kind == "same" and _RULE.fullmatch(piece)
            text += _CELL if is_rule else _PIPE.sub(_CELL, piece) if is_cells else piece
            if piece.endswith("\n"):
                line_before += segment.kind != "added"
                line_after += segment.kind != "removed"
        yield Segment(segment.kind, text, segment.move)


def _lines_of_tables(segments: Sequence[Segment], other: str) -> set[int]:
    """Return which lines of one of the two texts are rows of a table, counted from 0."""
    lines = "".join(segment.text for segment in segments if segment.kind != other).split("\n")
    return {number for number, line in enumerate(lines) if line.lstrip().startswith("|")}


def _passages(segments: Sequence[Segment], words: int) -> Iterator[_Passage]:
    start = 0
    while start < len(segments):
        end = start
        while end < len(segments) and segments[end].kind != "same":
            end += 1
        changed = [part for part in segments[start:end] if not (part.move and part.kind == "removed")]
        if changed:
            shown = [part for segment in changed for part in _beginning(segment, words)]
            yield _Passage(start, end, sum(count_words(changed)), shown)
        start = end + 1


def _beginning(segment: Segment, words: int) -> Iterator[list[str]]:
    whole = _flat(segment.text)
    if whole.isspace() and "\n" in segment.text:
        whole = "¶"  # two lines were joined, or one was split: the space this would become shows nothing
    shown = _first_words(whole, words, _LONGEST_PART)
    yield [_MOVED if segment.move else segment.kind, shown]
    if shown != whole:
        yield _GAP


def _laid_out(segments: Sequence[Segment], chosen: Sequence[_Passage]) -> Iterator[list[str]]:
    """Yield the chosen passages with a few unchanged words before, between and after them."""
    for number, passage in enumerate(chosen):
        previous_end = chosen[number - 1].end if number else None
        if previous_end is None or previous_end + 1 != passage.start:
            yield from _ending(segments, passage.start - 1)
        yield from passage.shown
        if passage.end == len(segments):
            continue
        after = _flat(_clipped(segments[passage.end].text))
        head, tail = _first_words(after, _CONTEXT_WORDS, _LONGEST_CONTEXT), ""
        if number + 1 < len(chosen) and chosen[number + 1].start == passage.end + 1:
            tail = _last_words(after, _CONTEXT_WORDS, _LONGEST_CONTEXT)
        if len(head) + len(tail) >= len(after):
            yield ["same", after]
            if not tail and passage.end + 1 < len(segments):
                yield _GAP  # a change that was not chosen follows
        else:
            yield ["same", head]
            yield _GAP
            if tail:
                yield ["same", tail]


def _ending(segments: Sequence[Segment], index: int) -> Iterator[list[str]]:
    """Yield the last words of the unchanged segment before a passage, if there is one."""
    if index < 0:
        return
    text = _flat(_clipped(segments[index].text))
    tail = _last_words(text, _CONTEXT_WORDS, _LONGEST_CONTEXT)
    if tail != text or index > 0:
        yield _GAP
        # What ended the sentence before says nothing here.
        if begun := tail.lstrip(_STOPS):
            tail = f" {begun}" if begun != tail else tail
    yield ["same", tail]


def _first_words(text: str, words: int, longest: int) -> str:
    items = tokens(text[: longest + 1])
    if len(text) > longest and not "".join(items[:-1]).isspace():
        items = items[:-1] or items  # it may be half a word
    return "".join(_few(items, words))[:longest]


def _last_words(text: str, words: int, longest: int) -> str:
    items = tokens(text[-longest - 1 :])
    if len(text) > longest and not "".join(items[1:]).isspace():
        items = items[1:] or items
    return "".join(reversed(list(_few(reversed(items), words))))[-longest:]


def _few(items: Sequence[str] | Iterator[str], words: int) -> Iterator[str]:
    """Yield tokens until there are so many words."""
    for piece in items:
        words -= is_word(piece)
        if words < 0:
            return
        yield piece


def _clipped(text: str) -> str:
    """Return the two ends of a long text: an excerpt shows only these."""
    return text if len(text) <= 2 * LONGEST else text[:LONGEST] + text[-LONGEST:]


def _flat(text: str) -> str:
    """Return `text` on one line; white space at its ends is kept as one space, so that neighbours stay apart."""
    flat = "".join(" " if piece.isspace() else piece for piece in tokens(text)).replace("  ", " ")
    return _ROW_END.sub(_CELL, flat)


def _without_repeated_gaps(parts: list[list[str]]) -> list[list[str]]:
    return [part for number, part in enumerate(parts) if part != _GAP or number == 0 or parts[number - 1] != _GAP]
