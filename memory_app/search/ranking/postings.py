"""The inverted index: which chunks contain which terms. It grows with each chunk; BM25 weights come at query time.

Belongs here: postings, lengths, document frequencies, the weights of BM25 in Lucene's form.
Not here: how the weights become a ranking (`scoring`).

Since weights are computed at query time, the IDF is always current and a chunk is added in .1 ms. Libraries that store
weighted postings (bm25s) cannot add at all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import chain

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.columns import grown
from memory_app.search.ranking.vocabulary import Ids, Vocabulary

Slots = npt.NDArray[np.int32]
LeadTerms = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]

#: Saturation and length normalisation, measured on LoCoMo: in short texts repetition means little, and a longer text
#: is not worse.
K1, B = 0.9, 0.2

#: Content words kept from the beginning of a chunk: a statement opens with its subject.
LEADING = 3

#: So many chunks are added one by one before their postings are merged with the rest: this many, or this share.
_MERGE_AT_LEAST, _MERGE_SHARE = 1_000, 0.1


class Postings:
    """The postings of one owner's chunks. A chunk is known by its slot: 0, 1, 2 … in order of arrival."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.live_count = 0
        # With room for slots to come. Reading must change nothing, since `nbytes` takes no lock.
        self._lengths: Values = np.zeros(0, dtype=np.float32)
        self._lead_terms: LeadTerms = np.zeros((0, LEADING), dtype=np.int32)
        self._removed: set[int] = set()
        self._live_mask: npt.NDArray[np.bool_] | None = None
        self._total = 0.0
        # Forward: the terms of each slot, which removal and stop-word queries need.
        self._words = np.zeros(0, dtype=np.int32)
        self._starts = np.zeros(1, dtype=np.int64)
        self._added: list[Ids] = []
        # Inverted: slots and counts by term, `_from[t]:_from[t + 1]`; and those of the chunks added since.
        self._slots: Slots = np.zeros(0, dtype=np.int32)
        self._counts: npt.NDArray[np.uint16] = np.zeros(0, dtype=np.uint16)
        self._from = np.zeros(1, dtype=np.int64)
        self._new: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._frequency = np.zeros(0, dtype=np.int32)

    @property
    def slots(self) -> int:
        """How many slots are taken, those of removed chunks included."""
        return len(self._starts) - 1 + len(self._added)

    @property
    def lengths(self) -> Values:
        """Content words per slot."""
        return self._lengths[: self.slots]

    @property
    def lead_terms(self) -> LeadTerms:
        """The terms of the first `LEADING` content words per slot; -1 where there are fewer."""
        return self._lead_terms[: self.slots]

    @property
    def norms(self) -> Values:
        """Return BM25's length normalisation, per slot."""
        average = max(self._total / max(self.live_count, 1), 1e-9)
        norms: Values = (K1 * (1 - B + B * self.lengths / np.float32(average))).astype(np.float32)
        return norms

    def extend(self, terms: Sequence[str]) -> None:
        """Add chunks by their words (`IndexRow.terms`), each in the next slot."""
        split = [each.split() for each in terms]
        if len(split) <= _MERGE_AT_LEAST and self.slots:
            for words in split:
                self._add(words)
            if len(self._added) > max(_MERGE_AT_LEAST, _MERGE_SHARE * self.slots):
                self._merge([])
            return
        self._merge(split)

    def _add(self, words: list[str]) -> None:
        self.vocabulary.learn(words)
        ids = self.vocabulary.terms(words)
        slot = self.slots
        self._added.append(ids)
        self._grow_frequency()
        length = 0
        for term, count in Counter(ids.tolist()).items():
            if not self.vocabulary.stop[term]:
                self._new[term].append((slot, count))
                self._frequency[term] += 1
                length += count
        self._lengths = grown(self._lengths, slot + 1)
        self._lengths[slot] = length
        self._lead_terms = grown(self._lead_terms, slot + 1)
        self._lead_terms[slot] = _lead_terms_of(
            ids, ~np.array([self.vocabulary.stop[term] for term in ids], dtype=bool), [0]
        )[0]
        self._total += length
        self.live_count += 1

    def _merge(self, split: list[list[str]]) -> None:
        """Sort all postings again, with those of `split` in the next slots."""
        self.vocabulary.learn(chain.from_iterable(split))
        fresh = self.vocabulary.terms(list(chain.from_iterable(split)))
        sizes = [*map(len, self._added), *map(len, split)]
        first = self.slots
        self._words = np.concatenate([self._words, *self._added, fresh])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(sizes, dtype=np.int64)])
        self._added, self._new = [], defaultdict(list)
        terms, count = len(self.vocabulary), len(self._starts) - 1
        slot_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(self._starts))
        content_mask = ~np.array(self.vocabulary.stop, dtype=bool)[self._words]
        lengths = np.bincount(slot_of[content_mask], minlength=count).astype(np.float32)
        self._total += float(lengths[first:].sum())
        self.live_count += len(split)
        self._lengths = lengths
        self._lead_terms = _lead_terms_of(self._words, content_mask, self._starts[:-1])
        if self._removed:
            content_mask &= self._live()[slot_of]
        pairs, counts = np.unique(
            self._words[content_mask].astype(np.int64) * count + slot_of[content_mask], return_counts=True
        )
        self._counts = np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)
        self._slots = (pairs % max(count, 1)).astype(np.int32)
        self._frequency = np.bincount(pairs // max(count, 1), minlength=terms).astype(np.int32)
        self._from = np.concatenate([[0], np.cumsum(self._frequency, dtype=np.int64)])

    def remove(self, slot: int) -> None:
        """Remove the chunk in `slot`; its slot is not used again."""
        if slot in self._removed:
            return
        self._removed.add(slot)
        self._live_mask = None
        self.live_count -= 1
        self._total -= float(self.lengths[slot])
        for term in np.unique(self._terms_in(slot)).tolist():
            if not self.vocabulary.stop[term]:
                self._frequency[term] -= 1

    def idf(self, term: int | None) -> float:
        """Return the IDF of a term in Lucene's form; for None that of a term no chunk has."""
        frequency = 0 if term is None or term >= len(self._frequency) else int(self._frequency[term])
        if term is not None and self.vocabulary.stop[term]:
            frequency = len(self.of(term)[0])
        return math.log(1 + (self.live_count - frequency + 0.5) / (frequency + 0.5))

    def of(self, term: int) -> tuple[Slots, Values]:
        """Return the slots of the live chunks that contain `term`, ascending, and how often each does."""
        if self.vocabulary.stop[term]:
            slots, counts = self._scanned(term)
        else:
            known = term + 1 < len(self._from)
            main = slice(self._from[term], self._from[term + 1]) if known else slice(0)
            slots, counts = self._slots[main], np.asarray(self._counts[main], dtype=np.float32)
            if new := self._new.get(term):
                more = np.array(new, dtype=np.int32)
                slots = np.concatenate([slots, more[:, 0]])
                counts = np.concatenate([counts, more[:, 1].astype(np.float32)])
        if self._removed and len(slots):
            kept = self._live()[slots]
            slots, counts = slots[kept], counts[kept]
        return slots, counts

    def used_terms(self) -> npt.NDArray[np.bool_]:
        """Return which terms any live chunk has."""
        present: npt.NDArray[np.bool_] = self._frequency > 0
        return present

    @property
    def nbytes(self) -> int:
        arrays = (self._words, self._starts, self._slots, self._counts, self._from, self._frequency)
        by_slot = self._lengths.nbytes + self._lead_terms.nbytes
        return sum(each.nbytes for each in arrays) + by_slot + self.vocabulary.nbytes + 200 * sum(map(len, self._added))

    def _scanned(self, term: int) -> tuple[Slots, Values]:
        """Return the postings of a stop word; not kept, since they would double the memory for few queries."""
        at = np.flatnonzero(self._words == term)
        slots, counts = np.unique(np.searchsorted(self._starts, at, side="right") - 1, return_counts=True)
        late = [(len(self._starts) - 1 + i, int((ids == term).sum())) for i, ids in enumerate(self._added)]
        present = [pair for pair in late if pair[1]]
        all_slots: Slots = np.concatenate([slots, [slot for slot, _ in present]]).astype(np.int32)
        all_counts: Values = np.concatenate([counts, [count for _, count in present]]).astype(np.float32)
        return all_slots, all_counts

    def _live(self) -> npt.NDArray[np.bool_]:
        """Return which slots still have their chunk."""
        if self._live_mask is None or len(self._live_mask) != self.slots:
            self._live_mask = np.ones(self.slots, dtype=bool)
            self._live_mask[list(self._removed)] = False
        return self._live_mask

    def _terms_in(self, slot: int) -> Ids:
        main = len(self._starts) - 1
        if slot >= main:
            return self._added[slot - main]
        return self._words[self._starts[slot] : self._starts[slot + 1]]

    def _grow_frequency(self) -> None:
        missing = len(self.vocabulary) - len(self._frequency)
        if missing > 0:
            self._frequency = np.concatenate([self._frequency, np.zeros(max(missing, 256), dtype=np.int32)])


def _lead_terms_of(
    words: Ids, content_mask: npt.NDArray[np.bool_], starts: Sequence[int] | npt.NDArray[np.int64]
) -> LeadTerms:
    """Return the first content terms of each of the texts that begin at `starts` in `words`."""
    places = np.flatnonzero(content_mask)
    text = np.searchsorted(np.asarray(starts), places, side="right") - 1
    rank = np.arange(len(places)) - np.searchsorted(text, text, side="left")
    first = rank < LEADING
    lead_terms: LeadTerms = np.full((len(starts), LEADING), -1, dtype=np.int32)
    lead_terms[text[first], rank[first]] = words[places[first]]
    return lead_terms
