"""The most telling changes of a diff on two lines, for a row of the inbox."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import accumulate

from memory_app.text.worddiff.compare import Segment, is_word, tokens
from memory_app.text.worddiff.moved import count_words

# Two lines of the inbox at its usual width. One change with its surroundings always fits.
LONGEST = 240
_LONGEST_PART = 90
_CONTEXT_WORDS = 3
_LONGEST_CONTEXT = 24

_GAP = ["gap", "…"]
_STOPS = " .,;:!?…"

# What separates the cells of a Markdown table, and what replaces it on one line, where `| |` reads as noise.
_ROW = re.compile(r"^[ \t]*+\|", re.MULTILINE)
_PIPE = re.compile(r"(?<!\\)\|")
_CELL = "·"
#: The end of one row and the beginning of the next, with the rule between them.
#: White space as `tokens` cuts it.
_WHITE = re.compile(r"\r\n|[\r\n]|[^\S\r\n]+")
_ROW_END = re.compile(rf"{_CELL}(?:[\s:-]*{_CELL})+")


def excerpt(segments: Sequence[Segment], *, words: int = 12) -> list[list[str]]:
    """Return the changes that touch most words, in reading order, as `[kind, text]` pairs that can be stored as JSON.

    Kinds are those of segments, `gap` for text left out, and `moved` for what was moved, which stands where it is now.
    White space is reduced to single spaces. The texts together have at most `LONGEST` characters. Where there are
    tables, dots stand for bars.

    Args:
        words: how many words of one removed or added text are shown.
    """
    if any(_ROW.search(segment.text) for segment in segments):
        segments = [replace(segment, text=_PIPE.sub(_CELL, segment.text)) for segment in segments]
    changed = dict(_changes(segments))
    changes = {start: [part for each in some for part in _beginning(each, words)] for start, some in changed.items()}
    sizes = {start: sum(count_words(some)) for start, some in changed.items()}
    chosen: set[int] = set()
    room = LONGEST
    for start in sorted(changes, key=lambda start: (-sizes[start], start)):
        needed = sum(len(text) for _kind, text in changes[start]) + 2 * (_LONGEST_CONTEXT + 1)
        if needed <= room:
            chosen.add(start)
            room -= needed
    parts: list[list[str]] = []
    is_after = False  # whether a chosen change stands before
    for index, segment in enumerate(segments):
        if segment.kind == "same":
            last = index + 1 == len(segments)
            parts += _context(segment.text, (index == 0, last), after=is_after, before=index + 1 in chosen)
            is_after = False
        elif index in chosen:
            parts += changes[index]
            is_after = True
    return [part for number, part in enumerate(parts) if part != _GAP or number == 0 or parts[number - 1] != _GAP]


def _changes(segments: Sequence[Segment]) -> Iterator[tuple[int, list[Segment]]]:
    """Yield neighbouring removed and added segments, with where they begin; of what was moved, where it is now."""
    start = 0
    for end in range(len(segments) + 1):
        if end == len(segments) or segments[end].kind == "same":
            if changed := [part for part in segments[start:end] if not (part.move and part.kind == "removed")]:
                yield start, changed
            start = end + 1


def _beginning(segment: Segment, words: int) -> Iterator[list[str]]:
    whole = _flat(segment.text)
    if whole.isspace() and "\n" in segment.text:
        whole = "¶"  # two lines were joined, or one was split: the space this would become shows nothing
    shown = _some_words(whole, words, _LONGEST_PART)
    yield ["moved" if segment.move else segment.kind, shown]
    if shown != whole:
        yield _GAP


def _context(text: str, ends: tuple[bool, bool], *, after: bool, before: bool) -> Iterator[list[str]]:
    """Yield a few words of what stands after and before changes that are shown.

    Args:
        ends: whether it is the first and the last part of the text.
    """
    if not (after or before):
        return
    # Of a long text only its two ends are shown.
    flat = _flat(text if len(text) <= 2 * LONGEST else text[:LONGEST] + text[-LONGEST:])
    head = _some_words(flat, _CONTEXT_WORDS, _LONGEST_CONTEXT) if after else ""
    tail = _some_words(flat, _CONTEXT_WORDS, _LONGEST_CONTEXT, last=True) if before else ""
    if len(head) + len(tail) >= len(flat):
        if not (after or ends[0]):
            yield _GAP
        yield ["same", flat if after else _without_stops(flat, ends[0])]
        if not (before or ends[1]):
            yield _GAP
        return
    if head:
        yield ["same", head]
    yield _GAP
    if tail:
        yield ["same", tail if after else _without_stops(tail, False)]


def _without_stops(text: str, is_first: bool) -> str:
    """Return words without what ended the sentence before, which says nothing here."""
    begun = text.lstrip(_STOPS)
    return text if is_first or not begun or begun == text else f" {begun}"


def _some_words(text: str, words: int, longest: int, *, last: bool = False) -> str:
    """Return the first words of a text, or the last ones."""
    order = slice(None, None, -1) if last else slice(None)
    items = tokens(text[-longest - 1 :] if last else text[: longest + 1])[order]
    if len(text) > longest and not "".join(items[:-1]).isspace():
        items = items[:-1] or items  # it may be half a word
    few = [piece for piece, count in zip(items, accumulate(map(is_word, items)), strict=True) if count <= words]
    return "".join(few[order])[-longest if last else 0 :][:longest]


def _flat(text: str) -> str:
    """Return `text` on one line; white space at its ends is kept as one space, so that neighbours stay apart."""
    return _ROW_END.sub(_CELL, _WHITE.sub(" ", text).replace("  ", " "))
