"""Normalising words: without case, accents and curly quotes, and as the stem that inflected forms have in common.

Not here: cutting a text into words, which searches do (`search.ranking.vocabulary`).
"""

import re
import threading
import unicodedata

import Stemmer  # type: ignore[import-not-found]  # compiled, without stubs

from assent_client.text.invisible.tables import PILED
from memory_app.text import patterns

#: Irregular form → root form: no stemmer finds that "went" is "go" or "children" is "child".
_ROOTS = {form: root for root, *forms in map(str.split, patterns.beside(__file__)["irregular"]) for form in forms}

_MARKS = re.compile("[\u0300-\u036f]+")
# Unicode's own bound (UAX 15, stream-safe text): to bring more of them in order takes the square of their number.
_PILED_UP = re.compile(f"([{PILED}]{{30}})[{PILED}]+")
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")

# A stemmer keeps its buffers between calls and may not be used by two threads at once.
_stemmers = threading.local()


def folded(text: str) -> str:
    """Return `text` without differences that no search should depend on: case, width, accents of Latin letters, curly
    quotes."""
    if _NOT_ASCII.search(text):
        text = unicodedata.normalize("NFKC", _PILED_UP.sub(r"\1", text)).replace("\u2019", "'")
        # Taken apart, accents are characters of their own; put together again, Hangul is whole as before.
        text = unicodedata.normalize("NFC", _MARKS.sub("", unicodedata.normalize("NFD", text)))
    return text.casefold()


def stems(surfaces: list[str]) -> list[str]:
    """Return the term of each word: its English stem, or that of its root form where it is irregular ("bought": "buy").

    Roots lift the first hit on LoCoMo's turns (MRR of BM25 alone .501 → .513). An English
    stemmer does no harm to other languages: it cuts off the same letters in query and text. Cyrillic has its own.
    """
    if not hasattr(_stemmers, "english"):
        _stemmers.english, _stemmers.russian = Stemmer.Stemmer("english"), Stemmer.Stemmer("russian")
    stemmed: list[str] = _stemmers.english.stemWords([_ROOTS.get(word, word) for word in surfaces])
    for at, word in enumerate(surfaces):
        if "а" <= word[:1] <= "я":
            # Folding makes и of the й that endings are known by.
            stemmed[at] = _stemmers.russian.stemWord(f"{word[:-1]}й" if word.endswith(("ои", "ыи")) else word)
    return stemmed
