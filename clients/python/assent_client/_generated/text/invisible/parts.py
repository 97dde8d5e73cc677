"""A text cut into parts that a page can show: what is seen, and marks for what is not.

Belongs here: finding unseen characters with their names, and the parts. Not here: what counts as unseen (`kinds`,
`crowds`), which letters are of another script (`scripts`), and HTML.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from assent_client._generated.text.invisible.kinds import HARMLESS, NO_INK_CHARACTER, Kind, kinds
from assent_client._generated.text.invisible.scripts import stray_letters

_WHITE_SPACE = re.compile(r"\r?\n| +|\t+|[^ \t\r\n]+|\r")
_TAG = re.compile("[\U000e0000-\U000e007f]")
# Blanks as wide as a letter: a reader sees a gap where a program sees a letter.
_WIDE_BLANK = re.compile("[\u115f\u1160\u2800\u3164\uffa0]")
_CONTROL_NAMES = {
    "\x00": "NULL",
    "\x07": "BELL",
    "\x08": "BACKSPACE",
    "\x0b": "LINE TABULATION",
    "\x0c": "FORM FEED",
    "\x0d": "CARRIAGE RETURN",
    "\x1b": "ESCAPE",
    "\x7f": "DELETE",
    "\x85": "NEXT LINE",
}


@dataclass(frozen=True, slots=True)
class Hidden:
    """One unseen character: where (in characters from 0), which (`U+200B` and its Unicode name), of what kind."""

    offset: int
    char: str
    code: str
    name: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class VisibleText:
    """A part to be shown as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class InvisibleMark:
    """Unseen characters in a row, to be shown by name.

    Attributes:
        text: the characters themselves.
        code: the first one, as `U+200B`.
        says: what a run of tag characters spells.
    """

    text: str
    code: str
    name: str
    kind: Kind
    says: str = ""

    @property
    def label(self) -> str:
        """Return the mark as text, such as `⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩`."""
        times = f" ×{len(self.text)}" if len(self.text) > 1 else ""
        says = f": {self.says}" if self.says else ""
        return f"⟨{self.code} {self.name}{times}{says}⟩"


@dataclass(frozen=True, slots=True)
class Letters:
    """Letters in a row that belong to another script than the rest of their word, such as the first two of "Тіm".

    Attributes:
        script: what they belong to, as `Cyrillic`.
        names: their Unicode names.
    """

    text: str
    script: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Whitespace:
    """White space of the source view.

    Attributes:
        text: the spaces, tabs or line end themselves.
        sign: what to show for them, one sign each.
        trailing: whether these are spaces or tabs at the end of a line.
    """

    text: str
    sign: str
    trailing: bool


def find(text: str) -> tuple[Hidden, ...]:
    """Return every unseen character of `text` in order.

    Left out as ordinary: line feed, tab, CR LF, what holds an emoji together, variation selectors after a character
    that has variants, and the wide space between wide characters.
    """
    return tuple(Hidden(at, text[at], _code(text[at]), _name(text[at]), kind) for at, kind in kinds(text))


def inked(text: str) -> tuple[str, ...]:
    """Return `text` without all that leaves no ink, for looking for words in it.

    Spaces of all kinds become ordinary ones. Where there are blanks as wide as a letter, return two readings: one in
    which they separate words, one without them.
    """
    readings = (text,) if not _WIDE_BLANK.search(text) else (_WIDE_BLANK.sub(" ", text), text)
    return tuple(NO_INK_CHARACTER.sub(_space_or_nothing, reading) for reading in readings)


def _space_or_nothing(match: re.Match[str]) -> str:
    return " " if match[0].isspace() else ""


def visible(text: str, *, harmless: bool = False) -> tuple[VisibleText | Letters | InvisibleMark, ...]:
    """Return `text` in parts: a mark for each run of unseen characters of one kind, letters of another script apart.

    Args:
        harmless: whether to mark `HARMLESS` kinds too, as where one space was replaced by another.
    """
    return tuple(_with_letters(text, _parts(text, harmless)))


def plain(text: str) -> str:
    """Return `text` for places that take text only, such as a title: each run of unseen characters by its label."""
    return "".join(part.label if isinstance(part, InvisibleMark) else part.text for part in _parts(text, False))


def mark_whitespace(
    text: str, *, continues: bool = False
) -> tuple[VisibleText | Letters | InvisibleMark | Whitespace, ...]:
    """Return `text` in parts for the source view: every unseen character marked, white space too.

    Args:
        continues: whether more text follows on the last line, so that its last spaces are not trailing.
    """
    parts: list[VisibleText | Letters | InvisibleMark | Whitespace] = []
    for part in visible(text, harmless=True):
        if isinstance(part, VisibleText):
            parts += _cut_at_whitespace(part.text)
        else:
            parts.append(part)
    return tuple(_with_trailing(parts, continues))


def _parts(text: str, harmless: bool) -> Iterator[VisibleText | InvisibleMark]:
    at = 0
    shown = (hidden for hidden in find(text) if harmless or hidden.kind not in HARMLESS)
    # A thousand tags in a row are one mark, not a thousand. Of other kinds each character has its own name.
    for _, run in groupby(enumerate(shown), key=lambda item: (item[1].offset - item[0], _group(item[1]))):
        members = [hidden for _, hidden in run]
        first = members[0]
        if at < first.offset:
            yield VisibleText(text[at : first.offset])
        chars = "".join(hidden.char for hidden in members)
        says = tagged(chars) if first.kind == "tag" else ""
        name = "TAGS" if first.kind == "tag" else first.name
        if first.kind == "piled" and len(set(chars)) > 1:
            name = "and other marks"
        yield InvisibleMark(chars, first.code, name, first.kind, says)
        at = first.offset + len(chars)
    if at < len(text):
        yield VisibleText(text[at:])


def _with_letters(
    text: str, parts: Iterator[VisibleText | InvisibleMark]
) -> Iterator[VisibleText | Letters | InvisibleMark]:
    strays = list(stray_letters(text))
    begin = number = 0
    for part in parts:
        at, end = begin, begin + len(part.text)
        while isinstance(part, VisibleText) and number < len(strays) and strays[number].offset < end:
            stray = strays[number]
            if at < stray.offset:
                yield VisibleText(text[at : stray.offset])
            yield Letters(stray.letters, stray.script, stray.names)
            at = stray.offset + len(stray.letters)
            number += 1
        if at < end:
            yield part if at == begin else VisibleText(text[at:end])
        begin = end


def _group(hidden: Hidden) -> str:
    # A thousand marks piled on a letter are one mark too, whichever they are.
    return hidden.kind if hidden.kind in ("tag", "variation", "piled", "private") else hidden.char


def tagged(text: str) -> str:
    """Return what the tag characters in `text` spell in ASCII."""
    return "".join(chr(ord(char) - 0xE0000) for char in _TAG.findall(text) if 0xE0020 <= ord(char) < 0xE007F)


def _cut_at_whitespace(text: str) -> Iterator[VisibleText | Whitespace]:
    for piece in _WHITE_SPACE.findall(text):
        if piece.endswith("\n"):
            yield Whitespace(piece, "␍¶" if len(piece) > 1 else "¶", trailing=False)
        elif piece[0] in " \t":
            yield Whitespace(piece, ("·" if piece[0] == " " else "→") * len(piece), trailing=False)
        else:
            yield VisibleText(piece)


def _with_trailing(
    parts: list[VisibleText | Letters | InvisibleMark | Whitespace], continues: bool
) -> Iterator[VisibleText | Letters | InvisibleMark | Whitespace]:
    """Return the parts, with spaces and tabs before a line end or the end of the text flagged."""
    flagged: list[VisibleText | Letters | InvisibleMark | Whitespace] = []
    at_end = not continues
    for part in reversed(parts):
        if not isinstance(part, Whitespace):
            at_end = False
        elif part.text.endswith("\n"):
            at_end = True
        elif at_end:
            part = Whitespace(part.text, part.sign, trailing=True)
        flagged.append(part)
    return reversed(flagged)


@cache
def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


@cache
def _name(char: str) -> str:
    named = unicodedata.name(char, "") or _CONTROL_NAMES.get(char)
    if named:
        return named
    if unicodedata.category(char) == "Co":
        return "PRIVATE USE"
    return "CONTROL" if ord(char) < 0xA0 else "UNNAMED"
