"""Terms that mean nearly the same as a query's word, by the vectors of single words.

Belongs here: the vectors of an owner's vocabulary and finding the nearest.
Not here: the weight of a similar term (`scoring`).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory_app.search.ranking.columns import grown
from memory_app.search.ranking.dense import Vectors, WordEmbedder, unit
from memory_app.search.ranking.postings import Postings, Slots, Values

#: A query's word matches the ten most similar terms of the owner, from this cosine. All terms above .2, or only the
#: best 10, 30 or 100, find the same (MRR on LoCoMo's observations .534 → .546); the best ten are cheapest.
MOST_SIMILAR, SIMILAR_FROM = 10, 0.2

#: Near terms may take a sixteenth of what the vectors take: 600 kB for 10,000 terms, of which one word of a query has a
#: dozen to some hundreds, of eight bytes each.
_SHARE_OF_NEAR = 16


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


class WordVectors:
    """The vectors of one owner's vocabulary, made when first needed, and later for new words."""

    def __init__(self, embedder: WordEmbedder, postings: Postings) -> None:
        self._embedder = embedder
        self._postings = postings
        self._room: Vectors = np.zeros((0, embedder.dimensions), dtype=np.float32)
        self._made = 0
        #: Word of a query → what is near it among the first so many terms. Words recur in queries.
        self._near: OrderedDict[str, _Near] = OrderedDict()
        self._near_bytes = 0

    @property
    def nbytes(self) -> int:
        """Bytes, with the vectors that the next search makes: an index is measured at loading, before any search."""
        return self._vector_bytes + self._vector_bytes // _SHARE_OF_NEAR

    @property
    def _vector_bytes(self) -> int:
        return max(self._room.nbytes, len(self._postings.vocabulary) * self._embedder.dimensions * 4)

    def knows(self, word: str) -> bool:
        """Whether `word` is a common word of the language, even when this owner never used it."""
        return self._embedder.knows(word)

    def nearest(self, words: Sequence[str]) -> list[list[tuple[int, float]]]:
        """Return for each word (term, cosine) of the owner's most similar terms, best first, without stop words."""
        self._catch_up()
        if not self._made or not words:
            return [[] for _ in words]
        used = self._postings.used_terms()[: self._made]
        found = []
        for near in self._near_each(words):
            is_used = used[near.terms]
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
            rows = unit(self._embedder.embed_words(behind)) @ self._room[start : self._made].T
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
        while self._near_bytes > self._vector_bytes // _SHARE_OF_NEAR:
            self._near_bytes -= self._near.popitem(last=False)[1].nbytes
        return found

    def _catch_up(self) -> None:
        surfaces = self._postings.vocabulary.surfaces
        missing = surfaces[self._made :]
        if missing:
            self._room = grown(self._room, len(surfaces))
            self._room[self._made : len(surfaces)] = unit(self._embedder.embed_words(missing))
            self._made = len(surfaces)
