"""A text cut into units with separators between them: paragraphs, rows of a table, cells, sentences."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from memory_app.text import lines

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CELL = re.compile(r"(?:\\.|[^|\\]|\\$)+|\|", re.DOTALL)
_CLOSERS = re.escape(lines.CLOSERS)
_SENTENCE_END = re.compile(rf"(?<![.!?…])[.!?…]++[{_CLOSERS}]*+(?=\s)|[。！？]+[{_CLOSERS}]*+")
#: Only what never ends a sentence: a cut too many does less harm than one that comes and goes with the next word.
_ABBREVIATION = re.compile(r"\b(?:Dr|Mr|Mrs|Ms|Prof|St|Fr|Hr|Nr|vs|ca|bzw|(?<![\w.])[A-Z]|e\.g|i\.e|z\. ?B|d\. ?h)\.$")
_LONGEST_ABBREVIATION = 8


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


def paragraphs(text: str) -> Units:
    """Cut at line ends. Lines of a paragraph wrapped by hand, and the rows of a table, are one unit."""
    texts: list[str] = []
    separators: list[str] = []
    separator = above = ""
    was_row = False
    for line in _LINE.findall(text):
        body = line.rstrip()
        if not body:
            separator += line
            continue
        is_row = lines.is_table_row(body)
        if was_row or is_row:
            goes_on = was_row and is_row
        else:
            goes_on = bool(above) and not separator.startswith("  ") and lines.continues(above, body)
        if goes_on and separator.count("\n") == 1:
            texts[-1] += separator + body
        else:
            separators.append(separator)
            texts.append(body)
        above, separator, was_row = body, line[len(body) :], is_row
    return Units(texts, [*separators, separator])


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
        if match[0] == "." and _ABBREVIATION.search(text, max(start, match.end() - _LONGEST_ABBREVIATION), match.end()):
            continue
        pieces.append(text[start : match.end()])
        start = match.end()
    return _stripped([*pieces, text[start:]])


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
