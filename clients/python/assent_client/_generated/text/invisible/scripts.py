"""Words that mix scripts, so that a letter looks like another: the first two letters of "Тіm" are Cyrillic.

Belongs here: which script a letter belongs to, and which mixtures are never intended. Not here: how serious
that is (`approvals.risks.flags`).

The rule is Unicode's for identifiers (UTS 39, "highly restrictive"), word by word: one script, or Latin with Chinese,
Japanese or Korean. Prose needs a little more: Latin beside a script that looks nothing like it ("WhatsAppها"), and the
Greek letters of formulas and units ("µm", "Δt", "TNFα").
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import groupby

from assent_client._generated.text.invisible.classes import PILED, SPACING

# Only a word with one of these can be mistaken for another: Greek and Coptic to Cyrillic and Armenian, Cherokee, their
# supplements, Deseret, Lisu and the like. All else needs no look.
_ALIKE = re.compile(
    "[\u0370-\u058f\u13a0-\u13ff\u1c80-\u1c8f\u1f00-\u1fff\u2c80-\u2cff\u2de0-\u2dff\ua4d0-\ua4ff\ua640-\ua69f"
    "\uab70-\uabbf\U00010280-\U0001029f\U000102a0-\U000102df\U00010400-\U0001044f\U000118a0-\U000118ff]"
)
_WORD = re.compile(f"[^\\W\\d_]+(?:[{PILED}{SPACING}]+[^\\W\\d_]*)*")
_TO_BE_MISTAKEN = frozenset(
    "GREEK CYRILLIC ARMENIAN COPTIC CHEROKEE LISU DESERET LYCIAN CARIAN WARANG OLD GLAGOLITIC".split()
)
#: How letters of a script are named in Unicode when not by the script.
_NAMED = {
    "CJK": "HAN", "IDEOGRAPHIC": "HAN", "KANGXI": "HAN", "HIRAGANA": "JAPANESE", "KATAKANA": "JAPANESE",
    "KATAKANA-HIRAGANA": "JAPANESE", "HALFWIDTH": "JAPANESE", "HANGUL": "HAN", "BOPOMOFO": "HAN",
}  # fmt: skip
_COMMON = frozenset(("MICRO", "OHM", "KELVIN", "ANGSTROM", "FEMININE", "MASCULINE", "MATHEMATICAL", "MODIFIER"))

# Letters that look like Latin ones (confusables.txt), for words that are of one script and still not what they seem.
_LIKE_LATIN = frozenset(
    "АВЕЅІЈКМНОРСТУХԚԜҮаеоорсухіјѕһԁԛԝүѵӀӏғк" + "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧινορυϲϳ" + "ՍՏԼՕաոսօքցհոզԁ" + "ᎪᎬᎢᎫᎠᎡᎷᏃᏒᏚᏞᏟᏢᏙᎻ"
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


def stray_letters(text: str) -> Iterator[Stray]:
    """Yield every letter of `text` that may be taken for one of another script, in order, those in a row together."""
    if text.isascii() or not _ALIKE.search(text):
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
