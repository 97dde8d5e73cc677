"""Cutting a text into sentences, so that the pieces joined are the text.

A heading, a row of a table and a list item without full stops are a "sentence" each. A paragraph that is wrapped over
several lines is cut at its sentences, not at its lines. Not here: which version a sentence comes from (`blame`).
"""

import re
from collections.abc import Iterator

from memory_app.text import lines, patterns

#: What is between blank lines is cut on its own, so that an unchanged paragraph is cut once for all versions.
_BLANK = re.compile(r"\n[^\S\n]*+\n(?:[^\S\n]*+\n)*+(?:[^\S\n]++\Z)?")
_MARKERS = r"(?:[^\S\n]*+(?:[-*+•][^\S\n]|\d{1,9}[.)][^\S\n]|>))"
#: Lines that do not go on from the line before: items, headings, quotes, rows of tables, fences and rules.
_OWN_LINE = re.compile(rf"{_MARKERS}|[^\S\n]*+(?:#{{1,6}}[^\S\n]|\||```|~~~|[-*_=]{{3,}}+[^\S\n]*+$)")
#: Lines that the next one does not go on from.
_ALONE = re.compile(r"[^\S\n]*+(?:#{1,6}[^\S\n]|\||```|~~~|[-*_=]{3,}+[^\S\n]*+$)")
_CLOSING = r"[\"'”’»›)\]*_~`]*+"
_END = re.compile(
    rf"(?<![.!?…؟।])(?P<stop>[.!?…؟।]++){_CLOSING}\s++(?=\S)"
    r"|(?<![。！？])[。！？]++[」』）”*_~]*+(?=[^\s」』）”])"
)
#: Words that sentences begin with and that no number of a day or of a class stands before: "got a 4. She".
_BEGINNINGS = frozenset(" ".join(patterns.beside(__file__)["beginnings"]).split())
_WORD = re.compile(r"\w++")
_SHORT_WORD = re.compile(r"\b[^\W\d]{1,3}$")
_SHORT_NUMBER = re.compile(r"(?<!\S)[(\[\"'“„«*_]*\d{1,2}$")

_LEADING = re.compile(rf"\A(?:{_MARKERS}|[^\S\n]*+#{{1,6}}[^\S\n])*+[^\S\n]*+")


def sentences(text: str, known: dict[str, tuple[str, ...]] | None = None) -> tuple[str, ...]:
    """Return the sentences of a text, each with the white space after it.

    Args:
        known: paragraphs that were cut before; new ones are added. Versions of a text have most of them in common.
    """
    pieces: list[str] = []
    known = {} if known is None else known
    for paragraph in _paragraphs(text):
        if paragraph not in known:
            known[paragraph] = tuple(_sentences_of(paragraph))
        pieces += known[paragraph]
    # Blank lines before the first sentence belong to it.
    while len(pieces) > 1 and not pieces[0].strip():
        pieces[:2] = [pieces[0] + pieces[1]]
    return tuple(pieces)


def key(sentence: str) -> str:
    """Return what a sentence says: without its list marker or the level of a heading, with single blanks.

    Wrapping a paragraph anew or numbering a list anew changes no key.
    """
    words = " ".join(_LEADING.sub("", sentence).split())
    return words.replace(" |", "|").replace("| ", "|") if words.startswith("|") else words


def _paragraphs(text: str) -> Iterator[str]:
    """Yield the paragraphs with the blank lines after them."""
    start = 0
    for blank in _BLANK.finditer(text):
        yield text[start : blank.end()]
        start = blank.end()
    if start < len(text):
        yield text[start:]


def _sentences_of(paragraph: str) -> Iterator[str]:
    for unit in _units(paragraph):
        start = 0
        for end in _END.finditer(unit):
            if end["stop"] != "." or _is_full_stop(unit, end.start(), end.end()):
                yield unit[start : end.end()]
                start = end.end()
        yield unit[start:]


def _units(paragraph: str) -> Iterator[str]:
    """Yield runs of lines that are one stretch of prose."""
    unit: list[str] = []
    is_blank = goes_on = True
    for line in paragraph.splitlines(keepends=True):
        has_words = not line.isspace()
        if has_words and not is_blank and (not goes_on or _OWN_LINE.match(line)):
            yield "".join(unit)
            unit = []
        if has_words:
            goes_on = not _ALONE.match(line)
            is_blank = False
        unit.append(line)
    if unit:
        yield "".join(unit)


def _is_full_stop(unit: str, at: int, following: int) -> bool:
    """Whether the full stop at `at` ends a sentence: not after an abbreviation, an initial or the number of a day.

    Args:
        following: where the next word begins.
    """
    if unit[following].islower():
        return False
    if _SHORT_NUMBER.search(unit, max(0, at - 12), at):
        return _ends_with_number(unit, at, following)
    if unit[following].isdigit() and _SHORT_WORD.search(unit, max(0, at - 12), at):
        return False  # no. 5, vol. 2, S. 12
    return not lines.is_abbreviated(unit, 0, at + 1)


def _ends_with_number(unit: str, at: int, following: int) -> bool:
    """Whether a sentence ends with the short number before `at`, which is no item's and no day's."""
    line = unit[unit.rfind("\n", 0, at) + 1 : at]
    is_item = not line.strip(" \t>-*+•0123456789")
    next_word = _WORD.match(unit, following)
    return not is_item and next_word is not None and next_word[0].lower() in _BEGINNINGS
