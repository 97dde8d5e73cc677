"""Characters that are ordinary one by one and, in a crowd, can only say something else.

Belongs here: for each class of them how many a text may have. Not here: what is out of place by itself (`kinds`).

A selector after a symbol, a joiner inside a Persian word or a no-break space is typography. 144 of them, present or
absent, encode a sentence that a model reads and a person does not. So each class has a budget: what typography needs.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from assent_client._generated.text.invisible.classes import PILED, SPACING, SYMBOLS, TEXT_BY_DEFAULT

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
_NEEDS_STYLE = re.compile(f"[{TEXT_BY_DEFAULT}]")
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
            places.append((match.end() - 1, base, bool(_NEEDS_STYLE.match(base))))
        elif _NEEDS_STYLE.match(base):
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
    if sum(sorted((len(plain), *counts.values()))[:-1]) > _MOST_MIXED_SYMBOLS:
        found |= {at for at, _, _ in places}
    return found


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
