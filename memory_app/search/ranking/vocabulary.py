"""The words of one owner: their terms, and known words one letter away from a misspelt one.

Belongs here: numbering words and terms, finding a word one letter away.
Not here: which chunks contain a term (`postings`) and which terms mean nearly the same (`selection`).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from memory_app.text.stems import folded, stems

# -- words ----------------------------------------------------------------------------------------

#: A longer query is cut here: beyond it lie pasted documents, whose first paragraphs say what is looked for.
LONGEST_QUERY = 4_000
#: Distinct words of a query that are looked up. LoCoMo's questions have 4 to 12; each costs about 0.2 ms at 100,000
#: chunks.
MOST_QUERY_WORDS = 48
#: A longer run of letters is no word (base64, a hash of hashes) and would only fill the vocabulary.
_LONGEST_WORD = 64

#: Wide on purpose, question words and auxiliaries included: with k1 .9 and b .2 this list lifts BM25's recall at 10
#: on LoCoMo's turns from .584 to .653 (the narrow lists of search engines leave "what", "did", "does" in).
_STOP = """
a about after again against all also am an and any are as at be been before being between both but by can could did didn
do does doesn doing don done down during each few for from further had hadn has hasn have haven having he her here hers
herself him himself his how i if in into is isn it its itself just ll may me might mine more most must my myself no nor
not of off on once only or other our ours out over own re same shall she should shouldn so some such than that the their
theirs them themselves then there these they this those through to too under until up us ve very was wasn we were weren
what when where which while who whom whose why will with won would wouldn you your yours yourself
"""
STOP_WORDS = frozenset(_STOP.split())

# Scripts written without spaces, and Hangul, whose particles hang on to the words: all are searched by pairs of
# characters. Thai to Myanmar, Khmer, kana, Han, Hangul.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_UNSPACED += "\U00020000-\U0003134f"
_PIECE = re.compile(rf"([{_UNSPACED}]+)|((?:(?![{_UNSPACED}])[^\W_])+)")
# Names that people search for whole: PROJ-1234, v2.3.1, mem-1700000000-ab12, read_file. What is longer than
# `_LONGEST_WORD` is none, and a.a.a.a… would otherwise be read to its end from each of its letters.
_COMPOUND = re.compile(r"(?<![\w-])(?=[\w.-]{0,64}[\d_])[^\W_]++(?:[-_.][^\W_]++){1,31}(?![\w-])")
# C++, C#, F#, .NET: without their signs they are a letter or another word.
_SIGNED = re.compile(r"(?<![\w.])(?:[^\W_]{1,32}(?:\+\+|#(?!\w))|\.[a-z][a-z\d]{1,32}(?![\w.]))")
_POSSESSIVE = re.compile(r"'s\b")


def words(text: str, *, query: bool = False) -> list[str]:
    """Return all words of `text` in order, folded, stop words included.

    Compound and signed names follow their parts once more as a whole. Unspaced scripts give their characters and pairs
    of characters; a query of two or more such characters gives the pairs only, or every text with one would match.
    """
    text = _POSSESSIVE.sub("", folded(text))
    found: list[str] = []
    for unspaced, word in _PIECE.findall(text):
        if word:
            if len(word) <= _LONGEST_WORD:
                found.append(word)
            continue
        if not query or len(unspaced) == 1:
            found += unspaced
        found += (a + b for a, b in pairwise(unspaced))
    found += (name for name in _COMPOUND.findall(text) if len(name) <= _LONGEST_WORD)
    found += _SIGNED.findall(text)
    return found


def is_stop(word: str) -> bool:
    """Whether `word` is a stop word: one listed above, or a single letter of an alphabet."""
    return word in STOP_WORDS or (len(word) == 1 and word.isalpha() and word < "\u0e00")


def query_words(query: str) -> list[str]:
    """Return the distinct words of `query` that count, in order: its stop words only where it has no others."""
    distinct = list(dict.fromkeys(words(query[:LONGEST_QUERY], query=True)))
    content = [word for word in distinct if not is_stop(word)]
    return (content or distinct)[:MOST_QUERY_WORDS]


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
        return [each for words in near for each in words if OSA.distance(word, each, score_cutoff=1) == 1]

    @property
    def nbytes(self) -> int:
        """Bytes, roughly: of a word its object, its number, and its places in two dictionaries and two lists."""
        return 300 * len(self._words)
