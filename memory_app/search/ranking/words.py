"""Words of a text: how texts and queries become terms.

Belongs here: splitting, stop words, and which words of a query count.
Not here: normalising and stems (`text.stems`), counting and weighing terms (`postings`) and what a chunk
consists of (`chunking`).
"""

from __future__ import annotations

import re
from itertools import pairwise

from memory_app.text.stems import folded

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
_POSSESSIVE = re.compile(r"'s\b")


def words(text: str, *, query: bool = False) -> list[str]:
    """Return all words of `text` in order, folded, stop words included.

    Compound names follow their parts once more as a whole. Unspaced scripts give their characters and pairs of
    characters; a query of two or more such characters gives the pairs only, or every text with one of them would match.
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
    return found


def is_stop(word: str) -> bool:
    """Whether `word` is a stop word: one listed above, or a single letter of an alphabet."""
    return word in STOP_WORDS or (len(word) == 1 and word.isalpha() and word < "\u0e00")


def query_words(query: str) -> list[str]:
    """Return the distinct words of `query` that count, in order: its stop words only where it has no others."""
    distinct = list(dict.fromkeys(words(query[:LONGEST_QUERY], query=True)))
    content = [word for word in distinct if not is_stop(word)]
    return (content or distinct)[:MOST_QUERY_WORDS]
