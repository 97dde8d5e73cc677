"""Which chunks hold which terms: postings that grow with each chunk, weighed only when asked.

Belongs here: postings, lengths, document frequencies, the weights of BM25 in Lucene's form.
Not here: how weights become a ranking (`signals`, `fuse`).

Weights are computed at query time, so rarity is always that of today and a chunk is added in .1 ms; libraries that
store weighted postings (bm25s) cannot add at all.
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
Leads = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]

#: Saturation and length normalisation, measured on LoCoMo: repetition says little in short texts, and a longer one is
#: not the worse for being long.
K1, B = 0.9, 0.2

#: Words that count at the head of a chunk whose places are kept: what a statement opens with is what it is about.
LEADING = 3

#: Chunks added one by one until their postings are merged with the others'.
_MERGE_AT_LEAST, _MERGE_SHARE = 1_000, 0.1


class Postings:
    """The postings of one owner's chunks. A chunk is known by its slot: 0, 1, 2 … in order of arrival."""

    def __init__(self) -> None:
        self.vocabulary = Vocabulary()
        self.alive = 0
        # With room for slots to come: nothing that is only read may change anything, for `nbytes` takes no lock.
        self._lengths: Values = np.zeros(0, dtype=np.float32)
        self._leads: Leads = np.zeros((0, LEADING), dtype=np.int32)
        self._dead: set[int] = set()
        self._kept_mask: npt.NDArray[np.bool_] | None = None
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
        """Slots given so far, those of removed chunks included."""
        return len(self._starts) - 1 + len(self._added)

    @property
    def lengths(self) -> Values:
        """Words that count, per slot."""
        return self._lengths[: self.slots]

    @property
    def leads(self) -> Leads:
        """The first `LEADING` terms that count, per slot; -1 where there are fewer."""
        return self._leads[: self.slots]

    @property
    def norms(self) -> Values:
        """BM25's denominator beside the count, per slot."""
        average = max(self._total / max(self.alive, 1), 1e-9)
        norms: Values = (K1 * (1 - B + B * self.lengths / np.float32(average))).astype(np.float32)
        return norms

    def extend(self, terms: Sequence[str]) -> None:
        """Add chunks by their words (`Row.terms`), each in the next slot."""
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
        self._leads = grown(self._leads, slot + 1)
        self._leads[slot] = _leads(ids, ~np.array([self.vocabulary.stop[term] for term in ids], dtype=bool), [0])[0]
        self._total += length
        self.alive += 1

    def _merge(self, split: list[list[str]]) -> None:
        """Sort all postings anew, with those of `split` in the next slots."""
        self.vocabulary.learn(chain.from_iterable(split))
        fresh = self.vocabulary.terms(list(chain.from_iterable(split)))
        sizes = [*map(len, self._added), *map(len, split)]
        first = self.slots
        self._words = np.concatenate([self._words, *self._added, fresh])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(sizes, dtype=np.int64)])
        self._added, self._new = [], defaultdict(list)
        terms, count = len(self.vocabulary), len(self._starts) - 1
        slot_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(self._starts))
        telling = ~np.array(self.vocabulary.stop, dtype=bool)[self._words]
        lengths = np.bincount(slot_of[telling], minlength=count).astype(np.float32)
        self._total += float(lengths[first:].sum())
        self.alive += len(split)
        self._lengths = lengths
        self._leads = _leads(self._words, telling, self._starts[:-1])
        if self._dead:
            telling &= self._kept()[slot_of]
        pairs, counts = np.unique(self._words[telling].astype(np.int64) * count + slot_of[telling], return_counts=True)
        self._counts = np.minimum(counts, np.iinfo(np.uint16).max).astype(np.uint16)
        self._slots = (pairs % max(count, 1)).astype(np.int32)
        self._frequency = np.bincount(pairs // max(count, 1), minlength=terms).astype(np.int32)
        self._from = np.concatenate([[0], np.cumsum(self._frequency, dtype=np.int64)])

    def remove(self, slot: int) -> None:
        """Forget the chunk in `slot`; its slot is not given again."""
        if slot in self._dead:
            return
        self._dead.add(slot)
        self._kept_mask = None
        self.alive -= 1
        self._total -= float(self.lengths[slot])
        for term in np.unique(self._terms_in(slot)).tolist():
            if not self.vocabulary.stop[term]:
                self._frequency[term] -= 1

    def rarity(self, term: int | None) -> float:
        """The IDF of a term in Lucene's form; of one that no chunk has, when None."""
        frequency = 0 if term is None or term >= len(self._frequency) else int(self._frequency[term])
        if term is not None and self.vocabulary.stop[term]:
            frequency = len(self.holding(term)[0])
        return math.log(1 + (self.alive - frequency + 0.5) / (frequency + 0.5))

    def holding(self, term: int) -> tuple[Slots, Values]:
        """The slots of the chunks that hold `term`, ascending, and how often each does. Removed ones are left out."""
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
        if self._dead and len(slots):
            kept = self._kept()[slots]
            slots, counts = slots[kept], counts[kept]
        return slots, counts

    def frequent(self) -> npt.NDArray[np.bool_]:
        """Which terms any chunk has today."""
        present: npt.NDArray[np.bool_] = self._frequency > 0
        return present

    @property
    def nbytes(self) -> int:
        arrays = (self._words, self._starts, self._slots, self._counts, self._from, self._frequency)
        by_slot = self._lengths.nbytes + self._leads.nbytes
        return sum(each.nbytes for each in arrays) + by_slot + self.vocabulary.nbytes + 200 * sum(map(len, self._added))

    def _scanned(self, term: int) -> tuple[Slots, Values]:
        """A stop word's postings: not kept, since they would double the memory for queries nobody should ask."""
        at = np.flatnonzero(self._words == term)
        slots, counts = np.unique(np.searchsorted(self._starts, at, side="right") - 1, return_counts=True)
        late = [(len(self._starts) - 1 + i, int((ids == term).sum())) for i, ids in enumerate(self._added)]
        held = [pair for pair in late if pair[1]]
        all_slots: Slots = np.concatenate([slots, [slot for slot, _ in held]]).astype(np.int32)
        all_counts: Values = np.concatenate([counts, [count for _, count in held]]).astype(np.float32)
        return all_slots, all_counts

    def _kept(self) -> npt.NDArray[np.bool_]:
        """Which slots still have their chunk."""
        if self._kept_mask is None or len(self._kept_mask) != self.slots:
            self._kept_mask = np.ones(self.slots, dtype=bool)
            self._kept_mask[list(self._dead)] = False
        return self._kept_mask

    def _terms_in(self, slot: int) -> Ids:
        main = len(self._starts) - 1
        if slot >= main:
            return self._added[slot - main]
        return self._words[self._starts[slot] : self._starts[slot + 1]]

    def _grow_frequency(self) -> None:
        missing = len(self.vocabulary) - len(self._frequency)
        if missing > 0:
            self._frequency = np.concatenate([self._frequency, np.zeros(max(missing, 256), dtype=np.int32)])


def _leads(words: Ids, telling: npt.NDArray[np.bool_], starts: Sequence[int] | npt.NDArray[np.int64]) -> Leads:
    """The first terms that count of each of the texts that begin at `starts` in `words`."""
    places = np.flatnonzero(telling)
    text = np.searchsorted(np.asarray(starts), places, side="right") - 1
    rank = np.arange(len(places)) - np.searchsorted(text, text, side="left")
    first = rank < LEADING
    leads: Leads = np.full((len(starts), LEADING), -1, dtype=np.int32)
    leads[text[first], rank[first]] = words[places[first]]
    return leads
