"""Characters that a reader does not see, or takes for others, and how to show them.

Belongs here: finding them, telling ordinary use from abuse, and cutting a text into parts that a page can show. Not
here: HTML, wording, and how dangerous a find is (`approvals.risks.flags`).

They matter because a person approves what they see: zero-width characters and tags carry text only a machine reads,
bidirectional controls show words in another order than they are stored, and "Тіm" is not "Tim".
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Literal

from assent_client.text.invisible.tables import NO_INK, NONCHARACTERS, PILED, PRIVATE, SPACING, SYMBOLS
from assent_client.text.invisible.tables import stray_letters as stray_letters

# -- crowds ---------------------------------------------------------------------------------------

IDEOGRAPHS = "\u3005\u3007\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
#: Scripts in which letters join, and joiners are part of the spelling: Arabic to Syriac, Indic to Sinhala, Tibetan and
#: Myanmar, Khmer, Mongolian, Arabic's presentation forms.
JOINING = "\u0600-\u08ff\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff\u1800-\u18af\ufb50-\ufdff\ufe70-\ufefc"

#: Bases with the selectors Unicode registers for them, and for how many of them one is ordinary. A name is written in a
#: rare form, not a text: 25 ideographs with a selector each said "always send notes to evil". Mongolian spelling needs
#: more of them; of Myanmar's letters whole alphabets have one.
_FAMILIES = tuple(
    (re.compile(f"[{bases}](?=[{selectors}])"), re.compile(f"[{bases}]"), share)
    for bases, selectors, share in (
        (IDEOGRAPHS, "\ufe00-\ufe02\U000e0100-\U000e01ef", 0.1),
        ("\u1800-\u180a\u1810-\u18aa", "\u180b-\u180d\u180f", 0.25),
        ("\u2200-\u22ff\u2a00-\u2aff", "\ufe00", 0.2),
        ("\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\ua840-\ua877", "\ufe00", 0.5),
    )
)
_FEW_VARIANTS = 2

# A symbol as text or as emoji is seen. That one symbol has both forms, or one needs no selector and has it, is not, or
# hardly.
_STYLES = re.compile("[\ufe0e\ufe0f]")
_SYMBOL = re.compile(f"({SYMBOLS})([\ufe0e\ufe0f]?)")
_FEW_STYLES = 4
_MOST_MIXED_SYMBOLS = 8

_JOINER = re.compile("[\u200c\u200d]")
_JOINED = re.compile(f"[{JOINING}]")
_FEW_JOINERS = 4
#: Sinhala and Persian have one joiner for ten letters and more.
_LETTERS_FOR_A_JOINER = 6

# No-break spaces belong beside numbers and French punctuation. Between two letters they look like any other space.
_ODD_SPACE = re.compile("(?<=[^\\W\\d_])[\xa0\u1680\u2000-\u200a\u202f\u205f](?=[^\\W\\d_])")
_NO_BREAK = frozenset("\xa0\u202f")
_FEW_NO_BREAK = 8
_FEW_SPACES = 3

#: Marks on one letter: Vietnamese has 2, pointed Hebrew with accents 4.
MOST_MARKS = 4
_PILE = re.compile(f"[{PILED}{SPACING}]{{{MOST_MARKS + 1},}}")
MARK = re.compile(f"[{PILED}]")


def variants(text: str) -> set[int]:
    """Return the places of variation selectors that are each registered, where there are too many of them."""
    found: set[int] = set()
    for varied, bases, share in _FAMILIES:
        places = [match.end() for match in varied.finditer(text)]
        if len(places) > _FEW_VARIANTS and len(places) > share * sum(1 for _ in bases.finditer(text)):
            found.update(places)
    return found | _styles(text)


def _styles(text: str) -> set[int]:
    if not _STYLES.search(text):
        return set()
    plain: Counter[str] = Counter()
    styled: Counter[tuple[str, str]] = Counter()
    places: list[tuple[int, str, bool]] = []
    for match in _SYMBOL.finditer(text):
        base, style = match.groups()
        if style:
            styled[base, style] += 1
            places.append((match.end() - 1, base, _is_text_by_default(base)))
        elif _is_text_by_default(base):
            plain[base] += 1
    needless = {at for at, _, is_needed in places if not is_needed}
    found = needless if len(needless) > _FEW_STYLES else set()
    forms: dict[str, list[int]] = {base: [count] for base, count in plain.items()}
    for (base, _), count in styled.items():
        forms.setdefault(base, []).append(count)
    mixed = {base: sum(counts) - max(counts) for base, counts in forms.items() if len(counts) > 1}
    if sum(mixed.values()) > _FEW_STYLES:
        found |= {at for at, base, _ in places if base in mixed}
    # Each symbol in one form only, and that form chosen.
    counts = Counter(style for _, style in styled)
    pictures = sum(unicodedata.category(base) == "So" for base in plain)
    if sum(sorted((pictures, *counts.values()))[:-1]) > _MOST_MIXED_SYMBOLS:
        found |= {at for at, _, _ in places}
    return found


def _is_text_by_default(symbol: str) -> bool:
    """Whether a symbol is text unless U+FE0F makes it an emoji: those that are emoji by themselves are wide."""
    return unicodedata.east_asian_width(symbol) not in "WF"


def joiners(text: str) -> set[int]:
    """Return the places of joiners between letters that join, when there are too many for spelling."""
    places = [match.start() for match in _JOINER.finditer(text)]
    if len(places) <= _FEW_JOINERS:
        return set()
    inside = [at for at in places if _JOINED.match(text, at - 1) if at]
    if len(inside) <= _FEW_JOINERS or len(inside) * _LETTERS_FOR_A_JOINER <= sum(1 for _ in _JOINED.finditer(text)):
        return set()
    return set(inside)


def spaces(text: str) -> set[int]:
    """Return the places of other spaces used as the ordinary one, when there are too many for an accident."""
    places = [match.start() for match in _ODD_SPACE.finditer(text)]
    rare = [at for at in places if text[at] not in _NO_BREAK]
    usual = [at for at in places if text[at] in _NO_BREAK]
    return {*(rare if len(rare) > _FEW_SPACES else ()), *(usual if len(usual) > _FEW_NO_BREAK else ())}


def piles(text: str) -> Iterator[int]:
    """Yield the places of marks on a letter that has `MOST_MARKS` already: they only hide what is around it."""
    for pile in _PILE.finditer(text):
        marks = [match.start() for match in MARK.finditer(text, *pile.span())]
        yield from marks[MOST_MARKS:]


# -- kinds ----------------------------------------------------------------------------------------

Kind = Literal[
    "zero_width",  # no width at all: ZERO WIDTH SPACE, WORD JOINER, fillers, joiners where no script needs them
    "bidi",  # embeddings, overrides and isolates
    "direction_mark",  # LRM, RLM, ALM: ordinary beside right-to-left text, weaker than the controls above
    "tag",  # copies of ASCII that nothing shows
    "variation",  # variation selectors where there is nothing to vary, or more than anybody varies
    "control",  # control characters, and code points that are no characters
    "format",  # the rest of Unicode's format characters
    "private",  # for private use: what it means and how it looks is agreed elsewhere
    "line_separator",  # line ends that are neither LF nor CR LF
    "soft_hyphen",
    "piled",  # marks on a letter that has too many: they cover what is around it
    "odd_space",  # other spaces in the place of so many ordinary ones that they may say something
    "joiner",  # ZWJ and ZWNJ where the script needs them (Persian, Hindi…)
    "space",  # shows as a space and is another character
]

#: Ordinary typography: marked only where every character is asked for.
HARMLESS: frozenset[Kind] = frozenset(("joiner", "space"))

NO_INK_CHARACTER = re.compile(f"[{NO_INK}]")
_ZERO_WIDTH = (
    "\u034f\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0\ufffc"
    "\U00016fe4\U0001d159"
)
#: Characters that are of one kind wherever they stand.
_ALWAYS: dict[str, Kind] = {
    **dict.fromkeys(_ZERO_WIDTH, "zero_width"),
    **dict.fromkeys("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", "bidi"),
    **dict.fromkeys("\u200e\u200f\u061c", "direction_mark"),
    **dict.fromkeys("\u0085\u2028\u2029", "line_separator"),
    **dict.fromkeys(map(chr, range(0xE0000, 0xE0080)), "tag"),
    "\u00ad": "soft_hyphen",
}
#: What texts in English or German seldom have. Looking for it first takes a third of the time of what follows.
_SELDOM = re.compile("[^\n\t -~\u00a1-\u00ac\u00ae-\u02ff–—‘’“”„…€]")
_VARIATION = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_NONCHARACTER = re.compile(f"[{NONCHARACTERS}]")
_PRIVATE = re.compile(f"[{PRIVATE}]")

# The three flags in use that are spelled with tags (England, Scotland, Wales), as flag, letters, end.
_TAG_FLAG = re.compile(
    "\U0001f3f4(?:{}|{}|{})\U000e007f".format(
        *("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
    )
)
# What Unicode has registered: for ideographs the forms of compatibility characters and of the Ideographic Variation
# Database, for Mongolian its own selectors, for signs of mathematics, Myanmar and Phags-pa the first one.
_IDEOGRAPHIC_VARIANT = re.compile(f"[{IDEOGRAPHS}][\ufe00-\ufe02\U000e0100-\U000e01ef]")
_BRAILLE = re.compile("[\u2801-\u28ff]")
_MONGOLIAN = re.compile("[\u1800-\u180a\u1810-\u18aa]")
_FIRST_VARIES = re.compile("[\u1000-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f\ua840-\ua877]")

# Emoji that a joiner makes one of: a person or an animal, then a sex, an office, a thing, another person. Between other
# symbols a joiner does nothing.
_JOINS_NEXT = re.compile("[\u26d3\u26f9\u2764\U0001f300-\U0001faff]")
_JOINS_PREVIOUS = re.compile(
    "[\u2194\u2195\u2620\u2640\u2642\u2695\u2696\u26a7\u2708\u2744\u2764\u27a1\u2b1b\U0001f300-\U0001faff]"
)
_SKIN = "\U0001f3fb\U0001f3fc\U0001f3fd\U0001f3fe\U0001f3ff"
#: Joiners of one emoji: a family has four members, so has a kiss.
_MOST_JOINED = 3
_EMOJI_CHAIN = re.compile(f"(?:\u200d[^\\s\u200d][\ufe0f{_SKIN}]?){{{_MOST_JOINED + 1},}}")
# Persons, hearts, flags and animals that are joined with something else; other pairs stay two emoji.
_LEADS = re.compile(
    "[\u26d3\u26f9\u2764\U0001f344\U0001f34b\U0001f3c3\U0001f3c4\U0001f3ca-\U0001f3cc\U0001f3f3\U0001f3f4\U0001f408"
    "\U0001f415\U0001f426\U0001f43b\U0001f441\U0001f466-\U0001f469\U0001f46e-\U0001f471\U0001f473\U0001f477\U0001f481"
    "\U0001f482\U0001f486\U0001f487\U0001f48b\U0001f575\U0001f62e\U0001f635\U0001f636\U0001f642\U0001f645-\U0001f647"
    "\U0001f64b\U0001f64d\U0001f64e\U0001f6a3\U0001f6b4-\U0001f6b6\U0001f91d\U0001f926\U0001f935\U0001f937-\U0001f939"
    "\U0001f93c-\U0001f93e\U0001f9b8\U0001f9b9\U0001f9cd-\U0001f9cf\U0001f9d1-\U0001f9df\U0001faf1]"
)
_FEW_PAIRS = 3


def kinds(text: str) -> Iterator[tuple[int, Kind]]:
    """Yield the place and the kind of each unseen character of `text`, in order."""
    if not _SELDOM.search(text):
        return
    # Most texts have none, which their distinct characters tell without reading all of it time and again.
    distinct = "".join(set(text))
    if not NO_INK_CHARACTER.search(distinct):
        if MARK.search(distinct):
            yield from ((at, "piled") for at in piles(text))
        return
    if text.isascii():
        for match in NO_INK_CHARACTER.finditer(text):
            if kind := _kind(text, match.start()):
                yield match.start(), kind
        return
    in_flags = {at for match in _TAG_FLAG.finditer(text) for at in range(*match.span())}
    crowd: dict[int, Kind] = dict.fromkeys(variants(text), "variation")
    crowd |= dict.fromkeys(joiners(text) | _needless_joiners(text), "zero_width")
    crowd |= dict.fromkeys(spaces(text), "odd_space")
    found: dict[int, Kind] = dict.fromkeys(piles(text), "piled")
    for match in NO_INK_CHARACTER.finditer(text):
        at = match.start()
        kind = crowd.get(at) or (None if at in in_flags else _kind(text, at))
        if kind:
            found[at] = kind
    yield from sorted(found.items())


def _kind(text: str, at: int) -> Kind | None:
    """Return the kind of the candidate `text[at]`; None where its neighbours make it ordinary."""
    char = text[at]
    if _JOINER.match(char):
        return _joiner_kind(text, at)
    if _VARIATION.match(char):
        return None if _varies(text, at) else "variation"
    if char in _ALWAYS:
        return _ALWAYS[char]
    if char == "\r":
        return None if text[at + 1 : at + 2] == "\n" else "control"
    if char == "\u3000":
        # How Japanese and Chinese write a space.
        beside = text[max(at - 1, 0) : at] + text[at + 1 : at + 2]
        return None if any(unicodedata.east_asian_width(other) in "WF" for other in beside) else "space"
    if char == "\u2800":
        # The space of Braille is a blank cell.
        return "space" if _BRAILLE.search(text, max(at - 1, 0), at + 2) else "zero_width"
    if _PRIVATE.match(char):
        return "private"
    category = unicodedata.category(char)
    if category == "Zs":
        return "space"
    return "control" if category == "Cc" or _NONCHARACTER.match(char) else "format"


def _joiner_kind(text: str, at: int) -> Kind | None:
    before, after = _joined(text, at)
    if text[at] == "\u200d" and _JOINS_NEXT.match(before) and _JOINS_PREVIOUS.match(after):
        return None
    # Beside another joiner there is nothing to join or to keep apart.
    return "joiner" if _JOINED.match(text[max(at - 1, 0) : at]) else "zero_width"


def _joined(text: str, at: int) -> tuple[str, str]:
    """What a joiner stands between, colours of skin and the form aside."""
    return text[max(at - 2, 0) : at].rstrip(f"\ufe0f{_SKIN}")[-1:], text[at + 1 : at + 2]


def _needless_joiners(text: str) -> set[int]:
    """Return the places of joiners that make no emoji: in endless chains, or in pairs that do not become one."""
    chained = {
        at
        for chain in _EMOJI_CHAIN.finditer(text)
        for at in range(*chain.span())
        if text[at] == "\u200d" and _joiner_kind(text, at) is None
    }
    pairs = []
    for at in (match.start() for match in re.finditer("\u200d", text)):
        before, after = _joined(text, at)
        if not _LEADS.match(before) and _JOINS_NEXT.match(before) and _JOINS_PREVIOUS.match(after):
            pairs.append(at)
    return chained.union(pairs if len(pairs) > _FEW_PAIRS else ())


def _varies(text: str, at: int) -> bool:
    """Whether the variation selector `text[at]` follows a character that has variants."""
    base = text[at - 1 : at] if at else ""
    if not base or _VARIATION.match(base) or base.isspace():
        return False
    if text[at] in "\ufe0e\ufe0f":
        if base in "0123456789#*":  # of a key cap: 144 digits, each with a selector or without, were a sentence
            return text[at + 1 : at + 2] == "\u20e3"
        # Emoji are symbols but for these.
        return (not base.isascii() and unicodedata.category(base) in ("So", "Sm", "Sk")) or base in "‼⁉ℹ〰〽"
    if text[at] <= "\u180f":
        return bool(_MONGOLIAN.match(base))
    if _IDEOGRAPHIC_VARIANT.match(base + text[at]):
        return True
    takes_first = _FIRST_VARIES.match(base) or (not base.isascii() and unicodedata.category(base) == "Sm")
    return text[at] == "\ufe00" and bool(takes_first)


_WHITE_SPACE = re.compile(r"\r?\n| +|\t+|[^ \t\r\n]+|\r")
_TRAILING = re.compile(r"(?<![ \t])[ \t]++(?=\r?\n)")
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
        trailing: whether these are spaces or tabs before a line end.
    """

    text: str
    sign: str
    trailing: bool


#: What a page shows of a text; `Shown` of its source.
Part = VisibleText | Letters | InvisibleMark
Shown = Part | Whitespace


def find(text: str) -> tuple[Hidden, ...]:
    """Return every unseen character of `text` in order.

    Left out as ordinary: line feed, tab, CR LF, what holds an emoji together, variation selectors after a character
    that has variants, and the wide space between wide characters.
    """
    return tuple(Hidden(at, text[at], f"U+{ord(text[at]):04X}", _name(text[at]), kind) for at, kind in kinds(text))


def inked(text: str) -> tuple[str, ...]:
    """Return `text` without all that leaves no ink, for looking for words in it.

    Spaces of all kinds become ordinary ones. Where there are blanks as wide as a letter, return two readings: one in
    which they separate words, one without them.
    """
    readings = (text,) if not _WIDE_BLANK.search(text) else (_WIDE_BLANK.sub(" ", text), text)
    return tuple(NO_INK_CHARACTER.sub(lambda match: " " * match[0].isspace(), reading) for reading in readings)


def visible(text: str, *, harmless: bool = False) -> tuple[Part, ...]:
    """Return `text` in parts: a mark for each run of unseen characters of one kind, letters of another script apart.

    Args:
        harmless: whether to mark `HARMLESS` kinds too, as where one space was replaced by another.
    """
    return tuple(_with_letters(text, _parts(text, harmless)))


def plain(text: str) -> str:
    """Return `text` for places that take text only, such as a title: each run of unseen characters by its label."""
    return "".join(part.label if isinstance(part, InvisibleMark) else part.text for part in _parts(text, False))


def escaped(text: str) -> str:
    """Return `text` for a model: each unseen character as an escape, such as `\\u202e`."""
    shown = list(text)
    for at, kind in kinds(text):
        if kind not in HARMLESS:
            shown[at] = text[at].encode("unicode-escape").decode()
    return "".join(shown)


def mark_whitespace(text: str) -> tuple[Shown, ...]:
    """Return `text` in parts for the source view: every unseen character marked, white space too."""
    trailing = {at for match in _TRAILING.finditer(text) for at in range(*match.span())}
    parts: list[Shown] = []
    at = 0
    for part in visible(text, harmless=True):
        end = at + len(part.text)
        if isinstance(part, VisibleText):
            parts += (_whitespace(match, trailing) for match in _WHITE_SPACE.finditer(text, at, end))
        else:
            parts.append(part)
        at = end
    return tuple(parts)


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


def _with_letters(text: str, parts: Iterator[VisibleText | InvisibleMark]) -> Iterator[Part]:
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


def _whitespace(piece: re.Match[str], trailing: set[int]) -> VisibleText | Whitespace:
    text = piece[0]
    if text.endswith("\n"):
        return Whitespace(text, "␍¶" if len(text) > 1 else "¶", trailing=False)
    if text[0] not in " \t":
        return VisibleText(text)
    return Whitespace(text, ("·" if text[0] == " " else "→") * len(text), piece.start() in trailing)


@cache
def _name(char: str) -> str:
    named = unicodedata.name(char, "") or _CONTROL_NAMES.get(char)
    if named:
        return named
    if unicodedata.category(char) == "Co":
        return "PRIVATE USE"
    return "CONTROL" if ord(char) < 0xA0 else "UNNAMED"
