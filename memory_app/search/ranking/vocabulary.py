"""The words of one owner: their terms, and known words one letter away from a misspelt one.

Belongs here: numbering words and terms, finding a word one letter away.
Not here: which chunks contain a term (`postings`) and which terms mean nearly the same (`similar`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.words import is_stop
from memory_app.text.stems import stems

Ids = npt.NDArray[np.int32]

#: Shorter words have too many neighbours one letter away.
SHORTEST_MISSPELT = 5


class Vocabulary:
    """Words to term numbers. Words of one stem share a term; a stop word has a term of its own, whatever its stem."""

    def __init__(self) -> None:
        self._word_terms: dict[str, int] = {}
        self._stem_terms: dict[str, int] = {}
        #: The word each term was first met as; stems are no words, so vectors are made of these.
        self.surfaces: list[str] = []
        self.stop: list[bool] = []
        self._by_length: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        self._lengths_done = 0
        self._words: list[str] = []

    def __len__(self) -> int:
        return len(self.surfaces)

    def learn(self, words: Iterable[str]) -> None:
        """Number all new words."""
        fresh = [word for word in dict.fromkeys(words) if word not in self._word_terms]
        for word, stem in zip(fresh, stems(fresh), strict=True):
            stop = is_stop(word)
            key = f"\0{word}" if stop else stem
            term = self._stem_terms.get(key)
            if term is None:
                term = self._stem_terms[key] = len(self.surfaces)
                self.surfaces.append(word)
                self.stop.append(stop)
            self._word_terms[word] = term
        self._words += fresh

    def terms(self, words: Sequence[str]) -> Ids:
        """Return the terms of words that have all been learnt."""
        return np.fromiter(map(self._word_terms.__getitem__, words), dtype=np.int32, count=len(words))

    def term(self, word: str) -> int | None:
        """Return the term of a query's word; None where no chunk ever had it."""
        known = self._word_terms.get(word)
        if known is None and not is_stop(word):
            known = self._stem_terms.get(stems([word])[0])
        return known

    def one_letter_away(self, word: str) -> list[str]:
        """Return known words one letter from `word` (added, left out, changed, or two swapped), with its first letter.

        Four of five typing errors are of this kind. Searching the lists of neighbouring lengths takes 1 ms at 50,000
        words, so it is done for unknown words only.
        """
        if len(word) < SHORTEST_MISSPELT or not word.isalpha():
            return []
        for each in self._words[self._lengths_done :]:
            self._by_length[each[0], len(each)].append(each)
        self._lengths_done = len(self._words)
        near = (self._by_length.get((word[0], len(word) + by), ()) for by in (0, -1, 1))
        return [each for words in near for each in words if one_apart(word, each)]

    @property
    def nbytes(self) -> int:
        """Bytes, roughly: of a word its object, its number, and its places in two dictionaries and two lists."""
        return 300 * len(self._words)


def one_apart(a: str, b: str) -> bool:
    """Whether `a` becomes `b` by adding, leaving out, changing or swapping one letter."""
    if len(a) > len(b):
        a, b = b, a
    if len(b) - len(a) > 1 or a == b:
        return False
    start = 0
    while start < len(a) and a[start] == b[start]:
        start += 1
    if len(a) < len(b):
        return a[start:] == b[start + 1 :]
    if a[start + 1 :] == b[start + 1 :]:
        return True
    return a[start : start + 2] == b[start : start + 2][::-1] and a[start + 2 :] == b[start + 2 :]
