"""A text cut into units with separators between them: paragraphs, rows of a table, cells, sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby, repeat
from typing import NamedTuple

from memory_app.text import lines

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CELL = re.compile(r"(?:\\.|[^|\\]|\\$)+|\|", re.DOTALL)
_CLOSERS = re.escape(lines.CLOSERS)
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s)|[。！？]+[{_CLOSERS}]*+")
#: Only what never ends a sentence: a cut too many does less harm than one that comes and goes with the next word.
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Fr|Hr|Nr|vs|ca|bzw|(?<![\w.])[A-Z]|e\.g|i\.e|z\. ?B|d\. ?h)\.$")
_LONGEST_ABBREVIATION = 8
#: These seldom stand before a capital; there a sentence ended with them.
_EXAMPLE = re.compile(r"(?:e\.g|i\.e)\.$")
_CAPITAL = re.compile(r"\s+[A-Z]")


class Units(NamedTuple):
    """A text in units, none empty, and the separators before, between and after them (one more than units)."""

    texts: list[str]
    separators: list[str]

    def raw(self, start: int, end: int) -> str:
        """Return the text of the units `[start:end]` with the separators before and after them."""
        found = [self.separators[start]]
        for index in range(start, end):
            found += (self.texts[index], self.separators[index + 1])
        return "".join(found)

    def inner(self, start: int, end: int) -> str:
        """Return the text of the units `[start:end]` without the separators around them."""
        found = self.texts[start : start + 1] if start < end else []
        for index in range(start + 1, end):
            found += (self.separators[index], self.texts[index])
        return "".join(found)

    def part(self, start: int, end: int) -> Units:
        """Return the units `[start:end]` with the separators before and after them."""
        return Units(self.texts[start:end], self.separators[start : end + 1])


Splitter = Callable[[str], Units]


class Level(NamedTuple):
    """A way to cut a text.

    Attributes:
        across: what to do where the sides cut a passage differently: merge its sentences, its words, or neither.
        strict: white space between two units is a change like any other; else it gives way to changed words.
        ends: signs by which to know that what was put into a unit could be one of its own.
        is_fixed: a unit is told by its place, whatever is in it.
        replaced: a unit with less than this share of the words of the one in its place is another one. Of two
            sentences taken at random 1 in 200 shares more, of a sentence and a paraphrase of it 1 in 7 less.
    """

    split: Splitter
    across: str = ""
    strict: bool = True
    ends: str = ""
    is_fixed: bool = False
    replaced: float = 0.25


def paragraphs(text: str) -> Units:
    """Cut at line ends. Lines of a paragraph wrapped by hand, and the rows of a table, are one unit."""
    texts: list[str] = []
    separators: list[str] = []
    separator = above = ""
    was_row = False
    has_rows = "|" in text
    found = _LINE.findall(text)
    for line, is_wrapped in zip(found, _are_wrapped(found), strict=True):
        body = line.rstrip()
        if not body:
            separator += line
            continue
        is_row = has_rows and lines.is_table_row(body)
        goes_on = separator.count("\n") == 1
        if was_row or is_row:
            goes_on = goes_on and was_row and is_row
        elif goes_on:
            goes_on = not separator.startswith("  ") and lines.continues(above, body)
            goes_on = goes_on and (is_wrapped or above.rstrip(lines.CLOSERS)[-1:] not in lines.STOPS)
        if goes_on:
            texts[-1] += separator + body
        else:
            separators.append(separator)
            texts.append(body)
        above, separator, was_row = body, line[len(body) :], is_row
    return Units(texts, [*separators, separator])


def _are_wrapped(found: Sequence[str]) -> Iterator[bool]:
    """Yield for each line whether it and those around it, up to an empty one, may have been wrapped by hand.

    Where one is longer, each sentence may have a line of its own, and an end of a line is the end of a paragraph.
    """
    for is_empty, run in groupby(found, key=str.isspace):
        together = list(run)
        longest = 0 if is_empty else max(map(len, together))
        yield from repeat(longest <= lines.LONGEST_WRAPPED, len(together))


def rows(text: str) -> Units:
    """Cut a table into its rows; anything else is one unit."""
    if not lines.is_table_row(text) or "\n" not in text:
        return Units([text], ["", ""])
    return _stripped(_LINE.findall(text))


def cells(text: str) -> Units:
    """Cut a row of a table into cells and the bars between them; anything else is one unit."""
    if not lines.is_table_row(text) or "\n" in text:
        return Units([text], ["", ""])
    return _stripped(_CELL.findall(text))


def sentences(text: str) -> Units:
    """Cut a paragraph after each sentence, and after the sign a list item or heading begins with."""
    pieces: list[str] = []
    start = 0
    marker = lines.MARKER.match(text)
    if marker and marker.end() < len(text):
        start = marker.end()
        pieces.append(text[:start])
    for match in _SENTENCE_END.finditer(text, start):
        if match[0] == "." and _is_abbreviated(text, start, match.end()):
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    return _stripped([*pieces, text[start:]])


def _is_abbreviated(text: str, start: int, end: int) -> bool:
    """Whether the stop before `end` is an abbreviation's."""
    earliest = max(start, end - _LONGEST_ABBREVIATION)
    if not _ABBREVIATION.search(text, earliest, end):
        return False
    return not (_EXAMPLE.search(text, earliest, end) and _CAPITAL.match(text, end))


def flat(units: Units) -> Units:
    """Return the sentences of all the paragraphs, a table being one of them."""
    texts: list[str] = []
    separators = [units.separators[0]]
    for text, after in zip(units.texts, units.separators[1:], strict=True):
        inner = Units([text], ["", ""]) if lines.is_table_row(text) else sentences(text)
        texts += inner.texts
        separators[-1] += inner.separators[0]
        separators += inner.separators[1:]
        separators[-1] += after
    return Units(texts, separators)


def _stripped(pieces: Iterable[str]) -> Units:
    """Return the pieces as units, with the white space around them in the separators."""
    texts: list[str] = []
    separators: list[str] = []
    separator = ""
    for piece in pieces:
        body = piece.strip()
        if not body:
            separator += piece
            continue
        start = piece.index(body[0])
        separators.append(separator + piece[:start])
        texts.append(body)
        separator = piece[start + len(body) :]
    return Units(texts, [*separators, separator])
