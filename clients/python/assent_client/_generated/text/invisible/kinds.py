"""Which characters of a text are invisible, and of what kind each is: distinguished from ordinary use by neighbours.

Belongs here: one character and its neighbours. Not here: how many a text may have (`crowds`), how they
are shown (`parts`), and how dangerous a find is (`approvals.risks.flags`).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Literal

from assent_client._generated.text.invisible import crowds
from assent_client._generated.text.invisible.classes import NO_INK, NONCHARACTERS, PRIVATE

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
_ZERO_WIDTH = frozenset(
    "\u034f\u070f\u115f\u1160\u17b4\u17b5\u180e\u200b\u2060\u2061\u2062\u2063\u2064\u3164\ufeff\uffa0\ufffc"
    "\U00016fe4\U0001d159"
)
_BIDI = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DIRECTION_MARKS = frozenset("\u200e\u200f\u061c")
_LINE_SEPARATORS = frozenset("\u0085\u2028\u2029")
_JOINERS = frozenset("\u200c\u200d")
_VARIATION = re.compile("[\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
_NONCHARACTER = re.compile(f"[{NONCHARACTERS}]")
_PRIVATE = re.compile(f"[{PRIVATE}]")

# The three flags in use that are spelled with tags (England, Scotland, Wales), as flag, letters, end.
_TAG_FLAG = re.compile(
    "\U0001f3f4(?:{}|{}|{})\U000e007f".format(
        *("".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls"))
    )
)
_JOINING = re.compile(f"[{crowds.JOINING}]")
# What Unicode has registered: for ideographs the forms of compatibility characters and of the Ideographic Variation
# Database, for Mongolian its own selectors, for signs of mathematics, Myanmar and Phags-pa the first one.
_IDEOGRAPHIC_VARIANT = re.compile(f"[{crowds.IDEOGRAPHS}][\ufe00-\ufe02\U000e0100-\U000e01ef]")
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
    # Most texts have none, which their distinct characters tell without reading all of it time and again.
    distinct = "".join(set(text))
    if not NO_INK_CHARACTER.search(distinct):
        if crowds.MARK.search(distinct):
            yield from ((at, "piled") for at in crowds.piles(text))
        return
    if text.isascii():
        for match in NO_INK_CHARACTER.finditer(text):
            if kind := _kind(text, match.start()):
                yield match.start(), kind
        return
    in_flags = {at for match in _TAG_FLAG.finditer(text) for at in range(*match.span())}
    crowd: dict[int, Kind] = dict.fromkeys(crowds.variants(text), "variation")
    crowd |= dict.fromkeys(crowds.joiners(text) | _needless_joiners(text), "zero_width")
    crowd |= dict.fromkeys(crowds.spaces(text), "odd_space")
    found: dict[int, Kind] = dict.fromkeys(crowds.piles(text), "piled")
    for match in NO_INK_CHARACTER.finditer(text):
        at = match.start()
        kind = crowd.get(at) or (None if at in in_flags else _kind(text, at))
        if kind:
            found[at] = kind
    yield from sorted(found.items())


def _kind(text: str, at: int) -> Kind | None:
    """Return the kind of the candidate `text[at]`; None where its neighbours make it ordinary."""
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
    return "joiner" if _JOINING.match(text[max(at - 1, 0) : at]) else "zero_width"


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
    at = text.find("\u200d")
    while at >= 0:
        before, after = _joined(text, at)
        if not _LEADS.match(before) and _JOINS_NEXT.match(before) and _JOINS_PREVIOUS.match(after):
            pairs.append(at)
        at = text.find("\u200d", at + 1)
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
