"""The words of one owner: their terms, and known words one letter away from a misspelt one.

Belongs here: numbering words and terms, finding a word one letter away.
Not here: which chunks contain a term (`postings`) and which terms mean nearly the same (`selection`).
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count, islice, pairwise
from zlib import crc32

import numpy as np
import numpy.typing as npt
from rapidfuzz.distance import OSA

from memory_app.text import patterns
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
STOP_WORDS = frozenset(" ".join(patterns.beside(__file__)["stop"]).split())

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


def content_stems(words: list[str]) -> list[str]:
    """Return the stem of each word; of a stop word ""."""
    return ["" if is_stop(word) else stem for word, stem in zip(words, stems(words), strict=True)]


def query_words(query: str) -> list[str]:
    """Return the distinct words of `query` that count, in order: its stop words only where it has no others."""
    distinct = list(dict.fromkeys(words(query[:LONGEST_QUERY], query=True)))
    content = [word for word in distinct if not is_stop(word)]
    return (content or distinct)[:MOST_QUERY_WORDS]


Ids = npt.NDArray[np.int32]

#: Shorter words have too many neighbours one letter away.
SHORTEST_MISSPELT = 5

#: So much is added bit by bit before it is packed with the rest: this many, or this share.
_PACK_AT_LEAST, _PACK_SHARE = 1_000, 0.1


def is_much(added: int, there: int) -> bool:
    """Whether so much was added to what was there that it is worth packing all of it."""
    return added > max(_PACK_AT_LEAST, _PACK_SHARE * there)


class Codes:
    """Texts as numbers, in the order in which they came.

    Packed: 12 bytes each beside their letters. As objects in dictionaries and lists they took 200 to 300 bytes, half of
    what an owner's index held.
    """

    def __init__(self, texts: Iterable[str] = ()) -> None:
        self._letters = b""
        self._ends = np.zeros(1, dtype=np.int32)
        # Checksums, ascending, and the number of the text that each is of.
        self._sums = np.zeros(0, dtype=np.uint32)
        self._numbers = np.zeros(0, dtype=np.int32)
        self._late: defaultdict[str, int] = defaultdict(count().__next__)
        self.numbers(texts)

    def __len__(self) -> int:
        return len(self._sums) + len(self._late)

    def numbers(self, texts: Iterable[str]) -> Ids:
        """Return the numbers of texts; those that have none are given the next ones."""
        if len(self._sums):
            texts = list(texts)
            known = [self.known(text) for text in texts]
            found = [self._late[text] if number < 0 else number for text, number in zip(texts, known, strict=True)]
        else:
            found = [*map(self._late.__getitem__, texts)]
        return np.array(found, dtype=np.int32)

    def known(self, text: str) -> int:
        """Return the number of `text`; of an unknown text -1, which no chunk has."""
        late = self._late.get(text)
        if late is not None or not len(self._sums):
            return -1 if late is None else late
        letters = _letters_of(text)
        at = int(np.searchsorted(self._sums, checksum := np.uint32(crc32(letters))))
        while at < len(self._sums) and self._sums[at] == checksum:
            if self._at(number := int(self._numbers[at])) == letters:
                return number
            at += 1
        return -1

    def text(self, number: int) -> str:
        packed = len(self._sums)
        if number >= packed:
            return next(islice(self._late, number - packed, None))
        return self._at(number).decode("utf-8", _ANY)

    def like(self, text: str) -> list[str]:
        """Return the texts that begin with the letter of `text` and are as long as it or nearly so."""
        letters = _letters_of(text)
        lengths = np.diff(self._ends)
        # In bytes: one letter in place of another is up to three more or less.
        near = np.flatnonzero((lengths > 0) & (np.abs(lengths - len(letters)) <= 3))
        firsts = np.frombuffer(self._letters, dtype=np.uint8)[self._ends[near]]
        found = chain(map(self.text, near[firsts == letters[0]].tolist()), self._late)
        return [each for each in found if each[:1] == text[0] and abs(len(each) - len(text)) <= 1]

    @property
    def is_to_pack(self) -> bool:
        """Whether enough was added since that packing is worth while."""
        return is_much(len(self._late), len(self._sums))

    def pack(self) -> None:
        """Pack what was added since."""
        late = [_letters_of(text) for text in self._late]
        ends = self._ends[-1] + np.cumsum([*map(len, late)], dtype=np.int32)
        sums = np.concatenate([self._sums, np.array([*map(crc32, late)], dtype=np.uint32)])
        numbers = np.concatenate([self._numbers, np.arange(len(self._numbers), len(sums), dtype=np.int32)])
        order = np.argsort(sums, kind="stable")
        self._letters += b"".join(late)
        self._ends = np.concatenate([self._ends, ends])
        self._sums, self._numbers = sums[order], numbers[order]
        self._late = defaultdict(count(len(sums)).__next__)

    @property
    def nbytes(self) -> int:
        arrays = self._ends.nbytes + self._sums.nbytes + self._numbers.nbytes
        return len(self._letters) + arrays + 200 * len(self._late)

    def _at(self, number: int) -> bytes:
        return self._letters[self._ends[number] : self._ends[number + 1]]


#: Lone surrogates, too, are letters of a text.
_ANY = "surrogatepass"


def _letters_of(text: str) -> bytes:
    return text.encode("utf-8", _ANY)


class Vocabulary:
    """Words to term numbers. Words of one stem share a term; a stop word has a term of its own, whatever its stem."""

    def __init__(self) -> None:
        self._words = Codes()
        self._keys = Codes()
        self._terms: Ids = np.zeros(0, dtype=np.int32)
        self._surfaces: Ids = np.zeros(0, dtype=np.int32)
        self.stop = np.zeros(0, dtype=bool)

    def __len__(self) -> int:
        return len(self._surfaces)

    def learn(self, words: Sequence[str], stemmed: Sequence[str]) -> tuple[Ids, npt.NDArray[np.intp]]:
        """Number all new words.

        Arguments:
            words: each once.
            stemmed: their `content_stems`.

        Returns:
            The term of each word, and the places among `words` of those that are the first of a new term.
        """
        known, terms = len(self._words), len(self)
        numbers = self._words.numbers(words)
        fresh = np.flatnonzero(numbers >= known)
        keys = self._keys.numbers(stemmed[place] or f"\0{words[place]}" for place in fresh.tolist())
        _, first = np.unique(keys[keys >= terms], return_index=True)
        places = fresh[keys >= terms][first]
        self._terms = np.concatenate([self._terms, keys])
        self._surfaces = np.concatenate([self._surfaces, numbers[places]])
        is_stop = np.array([not stemmed[place] for place in places.tolist()], dtype=bool)
        self.stop = np.concatenate([self.stop, is_stop])
        return self._terms[numbers], places

    def surfaces(self, start: int) -> list[str]:
        """Return the words that terms were first met as, from one term on. Stems are no words."""
        return [self._words.text(number) for number in self._surfaces[start:].tolist()]

    def term(self, word: str) -> int | None:
        """Return the term of a query's word; None where no chunk ever had it."""
        number = self._words.known(word)
        term = int(self._terms[number]) if number >= 0 else -1 if is_stop(word) else self._keys.known(stems([word])[0])
        return None if term < 0 else term

    def one_letter_away(self, word: str) -> list[str]:
        """Return known words one letter from `word` (added, left out, changed, or two swapped), with its first letter.

        Four of five typing errors are of this kind.
        """
        if len(word) < SHORTEST_MISSPELT or not word.isalpha():
            return []
        near = [each for each in self._words.like(word) if OSA.distance(word, each, score_cutoff=1) == 1]
        return sorted(near, key=lambda each: (len(each) != len(word), len(each)))

    def pack(self) -> None:
        self._words.pack()
        self._keys.pack()

    @property
    def nbytes(self) -> int:
        arrays = self._terms.nbytes + self._surfaces.nbytes + self.stop.nbytes
        return self._words.nbytes + self._keys.nbytes + arrays
