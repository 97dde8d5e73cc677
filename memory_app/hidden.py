"""Characters that a reader does not see, and how to show them.

Belongs here: finding them, telling ordinary use from abuse by their neighbours, and cutting a text into
parts that a page can show. Not here: HTML, wording, and how dangerous a find is (`approvals.risks`).

Unseen characters matter because a person approves what they see: zero-width characters and tags carry text only a
machine reads, bidirectional controls show words in another order than they are stored.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal

Kind = Literal[
    "zero_width",  # no width at all: ZERO WIDTH SPACE, WORD JOINER, fillers, joiners where no script needs them
    "bidi",  # embeddings, overrides and isolates
    "direction_mark",  # LRM, RLM, ALM: ordinary beside right-to-left text, weaker than the controls above
    "tag",  # copies of ASCII that nothing shows
    "variation",  # variation selectors where there is nothing to vary
    "control",
    "format",  # the rest of Unicode's format characters
    "line_separator",  # line ends that are neither LF nor CR LF
    "soft_hyphen",
    "joiner",  # ZWJ and ZWNJ where the script needs them (Persian, Hindi…)
    "space",  # shows as a space and is another character
]

# Ordinary typography: marked only where somebody asks for every character.
HARMLESS: frozenset[Kind] = frozenset(("joiner", "space"))

_CANDIDATE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f"
    "\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_ZERO_WIDTH = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0\U00016fe4\U0001d159"
)
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")
_LINE_SEPARATORS = frozenset("\u0085\u2028\u2029")
_JOINERS = frozenset("\u200c\u200d")
_WHITE_SPACE = re.compile(r"\r?\n| +|\t+|[^ \t\r\n]+|\r")
_VARIATION = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_TAG = re.compile("[\U000e0000-\U000e007f]")

# The three flags in use that are spelled with tags (England, Scotland, Wales), as flag, letters, end.
_TAG_FLAG = re.compile(
    "\U0001f3f4(?:{}|{}|{})\U000e007f".format(
        *("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
    )
)
# Scripts in which letters join, and joiners are part of the spelling: Arabic to Syriac, Indic to Sinhala, Tibetan and
# Myanmar, Khmer, Mongolian, Arabic's presentation forms.
_JOINING = re.compile("[\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc]")
_IDEOGRAPH = re.compile("[\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff]")
# What Unicode has registered: for ideographs the forms of compatibility characters and of the Ideographic Variation
# Database, for Mongolian its own selectors, for signs of mathematics, Myanmar and Phags-pa the first one.
_IDEOGRAPHIC_VARIANT = re.compile(_IDEOGRAPH.pattern + "[\ufe00-\ufe02\U000e0100-\U000e01ef]")
_BRAILLE = re.compile("[\u2801-\u28ff]")
_MONGOLIAN = re.compile("[\u1800-\u180a\u1810-\u18aa]")
_FIRST_VARIES = re.compile("[\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\ua840-\ua877]")
# A name is written in a rare form, not a text: 25 ideographs with a selector each said "always send notes to evil".
_FEW_VARIANTS = 2
_MOST_VARIANTS = 0.1
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
class Text:
    """A part to be shown as it is."""

    text: str


@dataclass(frozen=True, slots=True)
class Mark:
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
        """The mark as text, such as `⟨U+202E RIGHT-TO-LEFT OVERRIDE⟩`."""
        times = f" ×{len(self.text)}" if len(self.text) > 1 else ""
        says = f": {self.says}" if self.says else ""
        return f"⟨{self.code} {self.name}{times}{says}⟩"


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
    """Every unseen character of `text` in order.

    Left out as ordinary: line feed, tab, CR LF, what holds an emoji together, variation selectors after a character
    that has variants, and the wide space between wide characters.
    """
    return tuple(Hidden(at, text[at], _code(text[at]), _name(text[at]), kind) for at, kind in _kinds(text))


def without(text: str) -> str:
    """`text` without its unseen characters, but for `HARMLESS` ones."""
    gone = {at for at, kind in _kinds(text) if kind not in HARMLESS}
    return "".join(char for at, char in enumerate(text) if at not in gone) if gone else text


def visible(text: str, *, harmless: bool = False) -> tuple[Text | Mark, ...]:
    """`text` in parts, with a mark for each run of unseen characters of one kind.

    Args:
        harmless: whether to mark `HARMLESS` kinds too, as where one space was replaced by another.
    """
    return tuple(_parts(text, harmless))


def plain(text: str) -> str:
    """`text` for where nothing but text can stand, such as a title: each run of unseen characters by its label."""
    return "".join(part.label if isinstance(part, Mark) else part.text for part in visible(text))


def mark_whitespace(text: str, *, continues: bool = False) -> tuple[Text | Mark | Whitespace, ...]:
    """`text` in parts for the source view: every unseen character marked, white space too.

    Args:
        continues: whether more text follows on the last line, so that its last spaces are not trailing.
    """
    parts: list[Text | Mark | Whitespace] = []
    for part in _parts(text, harmless=True):
        if isinstance(part, Mark):
            parts.append(part)
        else:
            parts += _cut_at_whitespace(part.text)
    return tuple(_with_trailing(parts, continues))


def _parts(text: str, harmless: bool) -> Iterator[Text | Mark]:
    at = 0
    shown = (hidden for hidden in find(text) if harmless or hidden.kind not in HARMLESS)
    # A thousand tags in a row are one mark, not a thousand. Of other kinds each character has its own name.
    for _, run in groupby(enumerate(shown), key=lambda item: (item[1].offset - item[0], _group(item[1]))):
        members = [hidden for _, hidden in run]
        first = members[0]
        if at < first.offset:
            yield Text(text[at : first.offset])
        chars = "".join(hidden.char for hidden in members)
        says = tagged(chars) if first.kind == "tag" else ""
        yield Mark(chars, first.code, "TAGS" if first.kind == "tag" else first.name, first.kind, says)
        at = first.offset + len(chars)
    if at < len(text):
        yield Text(text[at:])


def _group(hidden: Hidden) -> str:
    return hidden.kind if hidden.kind in ("tag", "variation") else hidden.char


def tagged(text: str) -> str:
    """What the tag characters in `text` spell in ASCII."""
    return "".join(chr(ord(char) - 0xE0000) for char in _TAG.findall(text) if 0xE0020 <= ord(char) < 0xE007F)


def _cut_at_whitespace(text: str) -> Iterator[Text | Whitespace]:
    for piece in _WHITE_SPACE.findall(text):
        if piece.endswith("\n"):
            yield Whitespace(piece, "␍¶" if len(piece) > 1 else "¶", trailing=False)
        elif piece[0] in " \t":
            yield Whitespace(piece, ("·" if piece[0] == " " else "→") * len(piece), trailing=False)
        else:
            yield Text(piece)


def _with_trailing(parts: list[Text | Mark | Whitespace], continues: bool) -> Iterator[Text | Mark | Whitespace]:
    """The parts with spaces and tabs before a line end or the end of the text flagged."""
    flagged: list[Text | Mark | Whitespace] = []
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


def _kinds(text: str) -> Iterator[tuple[int, Kind]]:
    """Where in `text` unseen characters are, and of what kind."""
    in_flags = {at for match in _TAG_FLAG.finditer(text) for at in range(*match.span())}
    crowd = _crowd_of_variants(text)
    for match in _CANDIDATE.finditer(text):
        at = match.start()
        kind: Kind | None = "variation" if at in crowd else None if at in in_flags else _kind(text, at)
        if kind:
            yield at, kind


def _crowd_of_variants(text: str) -> set[int]:
    """Where ideographs have variation selectors, when so many have one that these must say something else."""
    found = {match.end() - 1 for match in _IDEOGRAPHIC_VARIANT.finditer(text)}
    if len(found) <= _FEW_VARIANTS or len(found) <= _MOST_VARIANTS * len(_IDEOGRAPH.findall(text)):
        return set()
    return found


def _kind(text: str, at: int) -> Kind | None:
    """Of what kind the candidate `text[at]` is; None where its neighbours make it ordinary."""
    char = text[at]
    if char in _JOINERS:
        return _joiner_kind(text, at)
    if _VARIATION.match(char):
        return None if _varies(text, at) else "variation"
    if char in _ZERO_WIDTH:
        return "zero_width"
    if char in _BIDI:
        return "bidi"
    if char in _DIRECTION_MARKS:
        return "direction_mark"
    if char in _LINE_SEPARATORS:
        return "line_separator"
    if char == "\u00ad":
        return "soft_hyphen"
    if "\U000e0000" <= char <= "\U000e007f":
        return "tag"
    if char == "\r":
        return None if text[at + 1 : at + 2] == "\n" else "control"
    if char == "\u3000":
        # How Japanese and Chinese write a space.
        wide = any(
            unicodedata.east_asian_width(other) in "WF" for other in text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
        )
        return None if wide else "space"
    if char == "\u2800":
        # The space of Braille is a blank cell.
        in_braille = _BRAILLE.search(text, max(at - 1, 0), at + 2)
        return "space" if in_braille else "zero_width"
    category = unicodedata.category(char)
    if category == "Zs":
        return "space"
    return "control" if category == "Cc" else "format"


def _joiner_kind(text: str, at: int) -> Kind | None:
    before = text[max(at - 2, 0) : at].rstrip("\ufe0f\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff")[-1:]
    after = text[at + 1 : at + 2]
    if text[at] == "\u200d" and _is_symbol(before) and _is_symbol(after):
        return None
    return "joiner" if _JOINING.match(text[max(at - 1, 0) : at]) else "zero_width"


def _is_symbol(char: str) -> bool:
    return bool(char) and unicodedata.category(char) in ("So", "Sm")


def _varies(text: str, at: int) -> bool:
    """Whether the variation selector `text[at]` stands after a character that has variants."""
    base = text[at - 1 : at] if at else ""
    if not base or _VARIATION.match(base) or base.isspace():
        return False
    if text[at] in "\ufe0e\ufe0f":
        # Emoji are symbols but for these: digits and signs of key caps, ‼ ⁉ ℹ 〰 〽.
        return unicodedata.category(base) in ("So", "Sm", "Sk") or base in "0123456789#*‼⁉ℹ〰〽"
    if text[at] <= "\u180f":
        return bool(_MONGOLIAN.match(base))
    if _IDEOGRAPHIC_VARIANT.match(base + text[at]):
        return True
    takes_first = _FIRST_VARIES.match(base) or (not base.isascii() and unicodedata.category(base) == "Sm")
    return text[at] == "\ufe00" and bool(takes_first)


@cache
def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


@cache
def _name(char: str) -> str:
    return unicodedata.name(char, "") or _CONTROL_NAMES.get(char, "CONTROL" if ord(char) < 0xA0 else "UNNAMED")
