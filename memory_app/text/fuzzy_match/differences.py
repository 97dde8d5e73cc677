"""In what a needle differs from its passage when it is not one thing alone: which words, and which forms besides."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from memory_app.text.fuzzy_match.folded import fold, plain_quotes

Form = Literal["line_numbers", "whitespace", "case", "quotes", "unicode", "words"]

#: Words compared: 300 on either side take 1 ms, and what is longer is read by nobody word by word.
_MOST_WORDS = 300
_WORD = re.compile(r"(\S+)(\s*)")


@dataclass(frozen=True, slots=True)
class Differences:
    """All that differs.

    Attributes:
        forms: `words` among them where words do; the others are about words that are the same otherwise.
        words: what the needle has and what the passage has instead, in order; either may be empty.
    """

    forms: tuple[Form, ...]
    words: tuple[tuple[str, str], ...]


def differences(needle: str, passage: str) -> Differences | None:
    """Compare them word by word; None for texts too long for that, or where it tells nothing."""
    ours, theirs = _WORD.findall(needle.strip()), _WORD.findall(passage.strip())
    if max(len(ours), len(theirs)) > _MOST_WORDS:
        return None
    forms: set[Form] = set()
    words: list[tuple[str, str]] = []
    plain = SequenceMatcher(None, [fold(word) for word, _ in ours], [fold(word) for word, _ in theirs], autojunk=False)
    for kind, a, b, c, d in plain.get_opcodes():
        if kind == "equal":
            forms |= _forms(ours[a:b], theirs[c:d])
        else:
            words.append((_joined(ours[a:b]), _joined(theirs[c:d])))
    if words:
        forms.add("words")
    order: tuple[Form, ...] = ("whitespace", "case", "quotes", "unicode", "words")
    return Differences(tuple(form for form in order if form in forms), tuple(words)) if forms else None


def _forms(ours: Sequence[tuple[str, str]], theirs: Sequence[tuple[str, str]]) -> set[Form]:
    """How words differ that fold to the same; the white space after the last of them belongs to what comes next."""
    found: set[Form] = set()
    for place, ((word, space), (other, other_space)) in enumerate(zip(ours, theirs, strict=True), 1):
        if place < len(ours) and space != other_space:
            found.add("whitespace")
        if word == other:
            continue
        if plain_quotes(word) != word or plain_quotes(other) != other:
            word, other = plain_quotes(word), plain_quotes(other)
            found.add("quotes")
        if word.casefold() == other.casefold():
            if word != other:
                found.add("case")
        else:
            found.add("unicode")
    return found


def _joined(words: Sequence[tuple[str, str]]) -> str:
    return " ".join(word for word, _ in words)
