"""Sets of characters by Unicode property, as ranges for a regular expression.

Belongs here: which characters leave no ink, which are marks or symbols, and letters that look like those of another
script. Not here: where each of them is ordinary.

Taken from the properties rather than listed one by one: a list made by hand missed U+FFFC and U+070F.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import chain, groupby

from assent_client.text.invisible import look_alikes

# What lies between is ideographs and Hangul's syllables, tens of thousands of letters; planes 15 and 16 are private.
_PLANES = (
    range(0x3400),
    range(0x4DC0, 0x4E00),
    range(0xA000, 0xAC00),
    range(0xD7A4, 0x17000),
    range(0x1AFF0, 0x20000),
    range(0xE0000, 0xE1000),
)

# Unicode's property Default_Ignorable_Code_Point, which Python does not have (DerivedCoreProperties.txt).
_DEFAULT_IGNORABLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
# Blank or without width in spite of their property: a cell of Braille, OBJECT REPLACEMENT CHARACTER, a note head, a
# filler of Khitan.
_BLANK = "\u2800\ufffc\U0001d159\U00016fe4"
NONCHARACTERS = "\ufdd0-\ufdef" + "".join(
    f"{chr(plane << 16 | 0xFFFE)}{chr(plane << 16 | 0xFFFF)}" for plane in range(15)
)
PRIVATE = "\ue000-\uf8ff\U000f0000-\U0010ffff"

# Format characters that are drawn: signs around numbers, abbreviations over words. U+070F is not, in any browser.
_DRAWN = frozenset((*range(0x600, 0x606), 0x6DD, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD))

_IGNORED = re.compile(f"[{_DEFAULT_IGNORABLE}]")


def _by_category() -> dict[str, str]:
    """Return each general category as ranges for a character class, in one pass.

    Marks that are ignored by default, format characters that are drawn and ordinary white space are categories here.
    """
    ranges: dict[str, list[list[int]]] = defaultdict(list)
    for point in chain(*_PLANES):
        category = unicodedata.category(chr(point))
        if category in ("Mn", "Me"):
            category = "ignored" if _IGNORED.match(chr(point)) else category
        elif point in _DRAWN or point in (0x09, 0x0A, 0x20):
            category = "drawn"
        of_this = ranges[category]
        if of_this and of_this[-1][1] == point - 1:
            of_this[-1][1] = point
        else:
            of_this.append([point, point])
    return {
        category: "".join(f"{re.escape(chr(first))}-{re.escape(chr(last))}" for first, last in each)
        for category, each in ranges.items()
    }


_CATEGORIES = _by_category()


def _all(*categories: str) -> str:
    return "".join(_CATEGORIES[category] for category in categories)


NO_INK = _all("Cc", "Cf", "Zs", "Zl", "Zp") + _DEFAULT_IGNORABLE + _BLANK + NONCHARACTERS + PRIVATE
#: Marks without a width of their own: they are drawn above, below or around the character before them.
PILED = _all("Mn", "Me")
SPACING = _all("Mc")
#: Every combining mark.
MARKS = PILED + SPACING + _all("ignored")
#: ASCII has some too (+ < = > ^ `), none of which is ever varied.
SYMBOLS = "(?![\x00-\x7f])[" + _all("So", "Sm", "Sk") + "‼⁉ℹ〰〽]"


# -- letters of another script --------------------------------------------------------------------

# Only a word with one of these can be mistaken for another: Greek and Coptic to Cyrillic and Armenian, Cherokee, their
# supplements, Deseret, Lisu and the like. All else needs no look.
_ALIKE = re.compile(
    "[\u0370-\u058f\u13a0-\u167f\u16a0-\u16ff\u1c80-\u1c8f\u1f00-\u1fff\u2c80-\u2cff\u2d30-\u2dff\ua4d0-\ua4ff"
    "\ua640-\ua69f\uab70-\uabbf\U00010280-\U0001029f\U000102a0-\U000102df\U00010300-\U0001052f\U000118a0-\U000118ff"
    "\U00016f00-\U00016f9f]"
)
_WORD = re.compile(f"[^\\W\\d_]+(?:[{PILED}{SPACING}]+[^\\W\\d_]*)*")
_TO_BE_MISTAKEN = frozenset(
    "GREEK CYRILLIC ARMENIAN COPTIC CHEROKEE LISU DESERET LYCIAN CARIAN WARANG OLD GLAGOLITIC CANADIAN RUNIC TIFINAGH "
    "OSAGE ELBASAN MIAO".split()
)
#: How letters of a script are named in Unicode when not by the script.
_NAMED = {
    "CJK": "HAN", "IDEOGRAPHIC": "HAN", "KANGXI": "HAN", "HIRAGANA": "JAPANESE", "KATAKANA": "JAPANESE",
    "KATAKANA-HIRAGANA": "JAPANESE", "HALFWIDTH": "JAPANESE", "HANGUL": "HAN", "BOPOMOFO": "HAN",
}  # fmt: skip
_COMMON = frozenset(("MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE", "MATHEMATICAL", "MODIFIER"))

# Letters that look like Latin ones (confusables.txt), for words that are of one script and still not what they seem.
_LIKE_LATIN = frozenset(
    "АВЕЅІЈКМНОРСТУХԚԜҮаеоорсухіјѕһԁԛԝүѵӀӏғк"
    + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧινορυϲϳ"
    + "ՍՏԼՕաոսօքցհոզԁ"
    + "ᎪᎬᎢᎫᎠᎡᎷᏃᏒᏚᏞᏟᏢᏙᎻ"
    + "ꓮꓐꓚꓓꓰꓝꓖꓧꓙꓗꓲꓡꓟꓠꓳꓑꓣꓢꓔꓴꓦꓪꓫꓬꓜ"
    "ᗅᑲᗷᑯᗞᗪᖴᕼᒍᒪᗰᑭᖇᑌᐯᕁᕽ"
)
#: In formulas a Greek letter has few Latin ones beside it (Δt, λmax, kΩ) or capitals (TNFα, NFκB).
_FORMULA = 3
#: None of these means anything in a formula that its Latin double would not.
_NEVER_IN_FORMULAS = frozenset("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧικουϲϳ")


@dataclass(frozen=True, slots=True)
class Stray:
    """Letters in a row that are of another script than their word, or that make it look Latin.

    Attributes:
        offset: their position, in characters from 0.
        names: their Unicode names.
    """

    offset: int
    letters: str
    word: str
    script: str
    names: tuple[str, ...]


def stray_letters(text: str, whole: str | None = None) -> Iterator[Stray]:
    """Yield every letter of `text` that may be taken for another, in order, those in a row together.

    Args:
        whole: what is around the text, see `look_alikes.places`.
    """
    if text.isascii():
        return
    of_others = [*_of_other_scripts(text)]
    taken = {stray.offset + place for stray in of_others for place in range(len(stray.letters))}
    yield from sorted((*of_others, *_of_same_script(text, whole, taken)), key=lambda stray: stray.offset)


def _of_same_script(text: str, whole: str | None, taken: set[int]) -> Iterator[Stray]:
    odd = look_alikes.places(text, whole) - taken
    if not odd:
        return
    words = {at: match[0] for match in _WORD.finditer(text) for at in odd.intersection(range(*match.span()))}
    for _, row in groupby(enumerate(sorted(odd)), key=lambda item: item[1] - item[0]):
        run = [at for _, at in row]
        letters = text[run[0] : run[-1] + 1]
        yield Stray(run[0], letters, words.get(run[0], letters), "Other", tuple(map(_name, letters)))


def _of_other_scripts(text: str) -> Iterator[Stray]:
    if not _ALIKE.search(text):
        return
    words = [(match.start(), match[0]) for match in _WORD.finditer(text) if _ALIKE.search(match[0])]
    # A word of look-alikes only is Russian in a Russian text, and "Tim" or "score" in another.
    native = {
        script
        for _, word in words
        for script in {_script(char) for char in word} & _TO_BE_MISTAKEN
        if any(char not in _LIKE_LATIN and _script(char) == script for char in word)
    }
    for begin, word in words:
        strange = _strange_script(word, native)
        if strange:
            for is_strange, run in groupby(enumerate(word), key=lambda item: _script(item[1]) == strange):
                if is_strange:
                    found = [*run]
                    letters = "".join(char for _, char in found)
                    yield Stray(begin + found[0][0], letters, word, strange.capitalize(), tuple(map(_name, letters)))


def _strange_script(word: str, native: set[str]) -> str:
    """Return the script in `word` that imitates another; an empty text when none does."""
    scripts = {_script(char) for char in word} - {""}
    alike = sorted(scripts & _TO_BE_MISTAKEN)
    if not alike:
        return ""
    if len(scripts) == 1:
        looks_latin = len(word) > 1 and not (scripts & native) and all(char in _LIKE_LATIN for char in word)
        return alike[0] if looks_latin else ""
    if alike == ["GREEK"] and scripts == {"GREEK", "LATIN"} and _is_formula(word):
        return ""
    if "LATIN" in scripts or len(alike) == 1:
        # Of the two, the one with fewer letters is the imitation. It is never Latin, which is what it looks like.
        return min(alike, key=lambda script: sum(_script(char) == script for char in word))
    return min(scripts, key=lambda script: (sum(_script(char) == script for char in word), script))


def _is_formula(word: str) -> bool:
    latin = [char for char in word if _script(char) == "LATIN"]
    greek = [char for char in word if _script(char) == "GREEK"]
    if any(char in _NEVER_IN_FORMULAS and not "".join(latin).isupper() for char in greek):
        return False
    if len(greek) <= 2 and "".join(latin).isupper():
        return all(char.islower() or char not in _LIKE_LATIN for char in greek)
    at_an_edge = _script(word[0]) == "GREEK" or _script(word[-1]) == "GREEK"
    return len(latin) <= _FORMULA and len(greek) <= 2 and at_an_edge


@cache
def _script(char: str) -> str:
    """Return the script of a letter, as the first word of its name; empty for marks and what all scripts share."""
    if unicodedata.category(char)[0] != "L":
        return ""
    first = unicodedata.name(char, "").split(" ")[0].split("-")[0]
    if first == "FULLWIDTH":
        return "LATIN"
    return "" if first in _COMMON else _NAMED.get(first, first)


def _name(char: str) -> str:
    return unicodedata.name(char, "UNNAMED")
