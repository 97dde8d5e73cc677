"""Terms that mean nearly the same as a query's word, by the vectors of single words.

Belongs here: the vectors of an owner's vocabulary and finding the nearest.
Not here: what a similar term is worth (`fuse.SIMILAR`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_app.search.columns import grown
from memory_app.search.dense import Vectors, WordEmbedder, unit
from memory_app.search.lexical import Postings

#: A query's word is met by the ten most similar terms of the owner, from this cosine. All terms above .2, or only
#: the best 10, 30 or 100, find the same (MRR on LoCoMo's observations .534 → .546); the best ten are cheapest.
MOST_SIMILAR, SIMILAR_FROM = 10, 0.2


class WordVectors:
    """The vectors of one owner's vocabulary, made when first needed and for new words as they come."""

    def __init__(self, embedder: WordEmbedder, postings: Postings) -> None:
        self._embedder = embedder
        self._postings = postings
        self._room: Vectors = np.zeros((0, embedder.dimensions), dtype=np.float32)
        self._made = 0

    @property
    def nbytes(self) -> int:
        """With the vectors that the next search makes: an index is measured when it is loaded, before any search."""
        return max(self._room.nbytes, len(self._postings.vocabulary) * self._embedder.dimensions * 4)

    def knows(self, word: str) -> bool:
        """Whether `word` is a common word of the language, even when this owner never used it."""
        return self._embedder.knows(word)

    def nearest(self, words: Sequence[str]) -> list[list[tuple[int, float]]]:
        """For each word: (term, cosine) of the owner's most similar terms, best first, stop words left out."""
        self._catch_up()
        if not self._made or not words:
            return [[] for _ in words]
        cosines = unit(self._embedder.embed_words(words)) @ self._room[: self._made].T
        present = self._postings.frequent()[: self._made]
        cosines[:, ~present] = 0
        found = []
        for row in cosines:
            near = np.flatnonzero(row >= SIMILAR_FROM)
            if len(near) > MOST_SIMILAR:
                near = near[np.argpartition(-row[near], MOST_SIMILAR)[:MOST_SIMILAR]]
            near = near[np.argsort(-row[near], kind="stable")]
            found.append([(int(term), float(row[term])) for term in near])
        return found

    def _catch_up(self) -> None:
        surfaces = self._postings.vocabulary.surfaces
        missing = surfaces[self._made :]
        if missing:
            self._room = grown(self._room, len(surfaces))
            self._room[self._made : len(surfaces)] = unit(self._embedder.embed_words(missing))
            self._made = len(surfaces)
