"""Which of the chunks that match are answered, and in which order.

Belongs here: no text of a block or message and no note twice; for agents the order of notes, passages of blocks and
notes that do not match when places are few (why: docs/decisions/0017).
Not here: what matches (`index`), and the scores (`scoring`).
"""

import math
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.dense import Pieces, Sizes, WordEmbedder, unit
from memory_app.search.ranking.postings import BLOCK, NOTE, Columns, Mask, Postings, Slots, Values

Scores = npt.NDArray[np.floating[Any]]

#: Spaces of their own for hashes of texts.
_TEXT, _SAID = -1, -2


def best_slots(
    columns: Columns, scores: Scores, matching: Mask, top_k: int, *, folded: bool = True, beside: Sequence[int] = ()
) -> list[int]:
    """Return the best of the matching slots, the newer first among equals; no text of blocks and messages twice, no
    note or message twice.

    Arguments:
        folded: whether of notes that say the same only the best is returned.
        beside: slots that were returned already.
    """
    slots = np.flatnonzero(matching).astype(np.int32)
    few = top_k * 4 + 50
    if len(slots) > few:
        # Sorting 100,000 hits takes 15 ms; the best few are nearly always distinct enough.
        chosen = slots[np.argpartition(-scores[slots], few)[:few]]
        best = _first_distinct(columns, scores, chosen, top_k, folded, beside)
        if len(best) == top_k:
            return best
    return _first_distinct(columns, scores, slots, top_k, folded, beside)


#: At most so many notes that do not match are shown, where nothing matches.
MOST_WEAK = 3
#: Evidence from which a note is shown beside what matches.
BESIDE = 0.3
#: Evidence that a passage of a block needs, and its share of what the best note has.
PASSAGE_FROM, PASSAGE_SHARE = 0.1, 0.6


def near_from(notes: Mask) -> float:
    """Return the evidence from which one of these notes that does not match is near; from half of it, it is shown.

    The more notes there are, the nearer is the nearest of those about other things.
    """
    return 0.05 + 0.025 * math.log(max(int(np.count_nonzero(notes)), 1))


def answers_for_agents(columns: Columns, evidence: Values, matching: Mask, notes: Mask) -> Mask:
    """Return the slots that are answered to an agent as matches: of blocks, only passages that are really about it.

    Arguments:
        notes: the eligible slots of notes.
    """
    best_note = float(evidence[notes & matching].max(initial=0))
    about = evidence >= max(PASSAGE_FROM, PASSAGE_SHARE * best_note)
    answers: Mask = matching & (about | (columns.sources != BLOCK))
    if answers.any():
        answers |= notes & (evidence >= BESIDE)
    return answers


def best_slots_for_agents(
    columns: Columns, scores: Values, evidence: Values, answers: Mask, notes: Mask, worth: Scores | None, top_k: int
) -> list[int]:
    """Return the slots for an agent: the answers, best first; where there are none, the nearest notes (MOST_WEAK).

    Beside notes, passages of blocks get half of the places, and only what notes leave of them but for the best one.

    Arguments:
        answers: see `answers_for_agents`.
        notes: the eligible slots of notes.
        worth: of each slot, for a question about everything: all notes follow the answers, the most valuable first.
    """
    if not answers.any() and worth is None:
        return best_slots(columns, evidence, notes & (evidence >= near_from(notes) / 2), min(top_k, MOST_WEAK))
    found = best_slots(columns, scores, answers & notes, top_k)
    passages = best_slots(columns, scores, answers & ~notes, max(top_k // 2, 1) if found else top_k)
    best = sorted((passages[:1] + found + passages[1:])[:top_k], key=lambda slot: -scores[slot])
    if worth is not None:
        best += best_slots(columns, worth, notes, top_k - len(best), beside=best)
    return best


def _first_distinct(
    columns: Columns, scores: Scores, slots: Slots, top_k: int, folded: bool, beside: Sequence[int]
) -> list[int]:
    best: list[int] = []
    seen: set[tuple[int, ...]] = set()
    slots = slots[np.lexsort((slots, -columns.seconds[slots], -scores[slots]))]
    every = np.concatenate([np.array(beside, dtype=np.int32), slots])
    fields = (columns.sources, columns.documents, columns.items, columns.texts)
    for place, (slot, source, document, item, text) in enumerate(
        zip(every.tolist(), *(column[every].tolist() for column in fields), strict=True), -len(beside)
    ):
        if len(best) == top_k:
            break
        # Passages of one block are different things, and so are messages of two sessions that have one id.
        keys: set[tuple[int, ...]] = {(source, document, -slot if source == BLOCK else item)}
        if source != NOTE:
            keys.add((_TEXT, text))
        elif folded:
            keys.add((_SAID, *columns.said(slot)))
        if not seen & keys:
            seen |= keys
            best += [slot] * (place >= 0)
    return best


# -- similar terms --------------------------------------------------------------------------------

#: A query's word matches the ten most similar terms of the owner, from this cosine. All terms above .2, or only the
#: best 10, 30 or 100, find the same (MRR on LoCoMo's observations .534 → .546); the best ten are cheapest.
MOST_SIMILAR, SIMILAR_FROM = 10, 0.2

#: Bytes that near terms may take, and for each term there is as many more. One word of a query has a dozen to some
#: hundreds of them, of eight bytes each.
_NEAR_ROOM, _NEAR_BYTES = 4_000, 8
#: Bytes of a term at most, but for a few: where its pieces begin, one to four of them, and the length of its vector.
_TERM_BYTES = 16


@dataclass(frozen=True)
class _Near:
    """The terms from SIMILAR_FROM on among the first `of`, and their cosines, in the order of the vocabulary."""

    of: int
    terms: Slots
    cosines: Values

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.cosines.nbytes + (200 if self.of else 0)


_NOTHING = _Near(0, np.zeros(0, np.int32), np.zeros(0, np.float32))


_VOWELS = frozenset("aeiouyæøœ")


def is_foreign(word: str) -> bool:
    """Whether a word is written in letters that are not Latin: the vectors are of a model that read English."""
    return any(char > "\u024f" and char.isalpha() for char in word)


class WordVectors:
    """The vectors of one owner's terms, as the pieces they are made of.

    The pieces' vectors are the embedder's, once in a process. With a vector of its own a term took 1,024 bytes.
    """

    def __init__(self, embedder: WordEmbedder, postings: Postings) -> None:
        self._embedder = embedder
        self._postings = postings
        self._pieces: Pieces = np.zeros(0, dtype=np.uint16)
        self._ends = np.zeros(1, dtype=np.int32)
        self._lengths: Values = np.zeros(0, dtype=np.float32)
        #: Word of a query → what is near it among the first so many terms. Words recur in queries.
        self._near: OrderedDict[str, _Near] = OrderedDict()
        self._near_bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes, with what the next search makes: an index is measured at loading, before any search."""
        terms = len(self._postings.vocabulary)
        arrays = self._pieces.nbytes + self._ends.nbytes + self._lengths.nbytes
        return max(arrays, terms * _TERM_BYTES) + self._most_near(terms)

    @staticmethod
    def _most_near(terms: int) -> int:
        return _NEAR_ROOM + _NEAR_BYTES * terms

    @property
    def _made(self) -> int:
        return len(self._lengths)

    def knows(self, word: str) -> bool:
        """Whether `word` is a common word of the language, even when this owner never used it."""
        return self._embedder.knows(word)

    def means(self, word: str) -> bool:
        """Whether the vector of `word` says anything: "zzzz" and words of other alphabets are made of pieces."""
        return not is_foreign(word) and (self.knows(word) or not word.isalpha() or not _VOWELS.isdisjoint(word))

    def nearest(self, words: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Return for each word (term, cosine) of the owner's most similar terms, best first, without stop words."""
        self._catch_up()
        if not self._made or not words:
            return [[] for _ in words]
        used = self._postings.used_terms()[: self._made]
        found = []
        for word, near in zip(words, self._near_each(words), strict=True):
            is_used = used[near.terms] & self.means(word)
            terms, cosines = near.terms[is_used], near.cosines[is_used]
            if len(terms) > MOST_SIMILAR:
                best = np.argpartition(-cosines, MOST_SIMILAR)[:MOST_SIMILAR]
                terms, cosines = terms[best], cosines[best]
            order = np.argsort(-cosines, kind="stable")
            found.append([(int(terms[place]), float(cosines[place])) for place in order])
        return found

    def _near_each(self, words: Sequence[str]) -> list[_Near]:
        """Return what is near each word among all terms so far, those that no chunk has any more included."""
        behind = [word for word in dict.fromkeys(words) if word not in self._near or self._near[word].of < self._made]
        start = min((self._near[word].of if word in self._near else 0 for word in behind), default=0)
        if behind:
            rows = self._cosines(behind, start)
            for word, row in zip(behind, rows, strict=True):
                known = self._near.pop(word, _NOTHING)
                self._near_bytes -= known.nbytes
                fresh = np.flatnonzero(row[known.of - start :] >= SIMILAR_FROM).astype(np.int32)
                near = self._near[word] = _Near(
                    self._made,
                    np.concatenate((known.terms, fresh + np.int32(known.of))),
                    np.concatenate((known.cosines, row[known.of - start :][fresh])),
                )
                self._near_bytes += near.nbytes
        found = [self._near[word] for word in words]
        for word in words:
            self._near.move_to_end(word)
        while self._near_bytes > self._most_near(self._made):
            self._near_bytes -= self._near.popitem(last=False)[1].nbytes
        return found

    def learn(self, start: int, pieces: Pieces, sizes: Sizes, lengths: Values) -> None:
        """Take the pieces of the terms from `start` on, unless those before are missing."""
        if start != self._made:
            return
        self._pieces = np.concatenate([self._pieces, pieces])
        self._ends = np.concatenate([self._ends, self._ends[-1] + np.cumsum(sizes, dtype=np.int32)])
        self._lengths = np.concatenate([self._lengths, lengths])

    def _catch_up(self) -> None:
        if self._made < len(self._postings.vocabulary):
            self.learn(self._made, *self._embedder.pieces(self._postings.vocabulary.surfaces(self._made)))

    def _cosines(self, words: Sequence[str], start: int) -> Values:
        """Return the cosines of words with the terms from `start` on: sums of those with the terms' pieces."""
        pieces = self._pieces[self._ends[start] :]
        is_used = np.zeros(int(pieces.max(initial=0)) + 1, dtype=bool)
        is_used[pieces] = True
        used = np.flatnonzero(is_used).astype(np.uint16)
        products: Values = unit(self._embedder.embed_words(words)) @ self._embedder.piece_vectors(used).T
        # One column more: a term without pieces begins where the last one ends.
        each = products.take(np.append((np.cumsum(is_used) - 1)[pieces], 0), axis=1)
        each[:, -1] = 0
        sizes = np.diff(self._ends[start:])
        sums = np.add.reduceat(each, self._ends[start:-1] - self._ends[start], axis=1)
        cosines: Values = np.where(sizes > 0, sums / np.maximum(sizes * self._lengths[start:], 1e-9), 0)
        return cosines.astype(np.float32)
