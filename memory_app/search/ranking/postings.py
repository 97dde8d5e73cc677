"""The inverted index: which chunks contain which terms. It grows with each chunk; BM25 weights come at query time.

Belongs here: postings, lengths, document frequencies, the weights of BM25 in Lucene's form.
Not here: how the weights become a ranking (`scoring`).

Since weights are computed at query time, the IDF is always current and a chunk is added in .1 ms. Libraries that store
weighted postings (bm25s) cannot add at all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.chunking import Source
from memory_app.search.ranking.packed import NAMED, PLAIN, SOURCES, PackedRows
from memory_app.search.ranking.vocabulary import Codes, Ids, Vocabulary, is_much

# -- columns and filters --------------------------------------------------------------------------

Mask = npt.NDArray[np.bool_]

NOTE, BLOCK, CONVERSATION = map(SOURCES.index, (Source.USER_MEMORY, Source.MEMORY_BLOCK, Source.CONVERSATION))


@dataclass(frozen=True)
class ChunkFilters:
    """What a search is limited to; an empty field limits nothing. Tags are joined by OR."""

    sources: Collection[str] = ()
    types: Collection[str] = ()
    tags: Collection[str] = ()
    category: str | None = None
    session_id: str | None = None
    include_superseded: bool = False


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return `array` with room for `size` rows: itself, or a copy with an eighth to spare, to keep adding cheap."""
    if len(array) >= size:
        return array
    room = np.zeros((max(size, len(array) * 9 // 8), *array.shape[1:]), dtype=array.dtype)
    room[: len(array)] = array
    return room


class Columns:
    """The fields of all chunks by slot. `before` and `after` are the neighbours in the document, -1 for none."""

    def __init__(self) -> None:
        self.size = 0
        self._room: dict[str, npt.NDArray[Any]] = {name: np.zeros(0, dtype=kind) for name, kind in _KINDS.items()}
        self.strings = Codes([""])
        #: Slot and tag, of each tag of a chunk.
        self._tags = np.zeros((0, 2), dtype=np.int32)
        #: Slot, year, month and day of each day that a text names.
        self.named_days = np.zeros((0, 4), dtype=np.int32)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _KINDS:
            raise AttributeError(name)
        return self._room[name][: self.size]

    @property
    def nbytes(self) -> int:
        others = self.named_days.nbytes + self._tags.nbytes + self.strings.nbytes
        return sum(each.nbytes for each in self._room.values()) + others

    def extend(self, batches: Sequence[PackedRows]) -> None:
        """Add the rows of batches in the next slots."""
        first, self.size = self.size, self.size + sum(map(len, batches))
        codes = [self.strings.numbers(batch.texts["strings"]) for batch in batches]
        for name in _KINDS:
            self._room[name] = grown(self._room[name], self.size)
            fresh = self._room[name][first : self.size]
            if name in _LINKS:
                fresh[:] = -1
            elif name in NAMED:
                fresh[:] = np.concatenate([code[each.arrays[name]] for code, each in zip(codes, batches, strict=True)])
            elif name != "live":
                fresh[:] = np.concatenate([batch.arrays[name] for batch in batches])
        self.live[first:] = True
        # A document is known by its id and its source: a label may look like a session id.
        self.documents[first:] = self.documents[first:] * len(SOURCES) + self.sources[first:]
        starts = accumulate(map(len, batches), initial=first)
        for start, code, batch in zip(starts, codes, batches, strict=False):
            tags, days = batch.arrays["tags"], batch.arrays["named_days"]
            self._tags = np.concatenate([self._tags, np.column_stack([tags[:, 0] + start, code[tags[:, 1]]])])
            self.named_days = np.concatenate([self.named_days, days + np.array([start, 0, 0, 0], dtype=np.int32)])
        self._link(np.unique(self.documents[first:]))

    def said(self, slot: int) -> tuple[int, ...]:
        """Return what the note of a chunk says: a number for the text of each of its chunks."""
        while (before := int(self.before[slot])) >= 0:
            slot = before
        parts = []
        while slot >= 0:
            parts.append(int(self.texts[slot]))
            slot = int(self.after[slot])
        return tuple(parts)

    def same(self, slot: int) -> list[int]:
        """Return the first chunks of other notes that say what the note of this chunk says, the newest first."""
        said, own = self.said(slot), int(self.documents[slot])
        found = [
            each
            for each in np.flatnonzero(self.texts == said[0]).tolist()
            if self.documents[each] != own and self.live[each] and self.before[each] < 0 and self.said(each) == said
        ]
        return sorted(found, key=lambda each: (self.seconds[each], each), reverse=True)

    def remove(self, slot: int) -> None:
        """Remove the chunk and link its neighbours with each other."""
        self.live[slot] = False
        before, after = int(self.before[slot]), int(self.after[slot])
        if before >= 0:
            self.after[before] = after
        if after >= 0:
            self.before[after] = before

    def eligible(self, filters: ChunkFilters) -> Mask:
        """Return which slots pass the filters."""
        mask: Mask = self.live.copy()
        if not filters.include_superseded:
            mask &= ~self.superseded
        if filters.sources:
            mask &= np.array([source.value in filters.sources for source in SOURCES])[self.sources]
        if filters.types:
            mask &= np.isin(self.types, [self.strings.known(each) for each in filters.types])
        if filters.category:
            mask &= self.categories == self.strings.known(filters.category)
        if filters.session_id:
            mask &= self.sessions == self.strings.known(filters.session_id)
        if filters.tags:
            tagged = np.zeros(self.size, dtype=bool)
            tagged[self._tags[np.isin(self._tags[:, 1], [*map(self.strings.known, filters.tags)]), 0]] = True
            mask &= tagged
        return mask

    def _link(self, documents: npt.NDArray[np.int32]) -> None:
        """Link the chunks of these documents with their neighbours, in their order."""
        slots = np.flatnonzero(self.live & np.isin(self.documents, documents))
        run = slots[np.lexsort((self.order[slots], self.documents[slots]))]
        is_next = self.documents[run[1:]] == self.documents[run[:-1]]
        self.after[run] = np.append(np.where(is_next, run[1:], -1), -1)
        self.before[run] = np.insert(np.where(is_next, run[:-1], -1), 0, -1)


#: What a column holds. `live`: whether its chunk is still there.
_LINKS = ("before", "after")
_KINDS: dict[str, Any] = {name: kind for name, (kind, _) in PLAIN.items()} | {"live": np.bool_}
_KINDS |= dict.fromkeys((*NAMED, *_LINKS), np.int32)

Slots = npt.NDArray[np.int32]
LeadTerms = npt.NDArray[np.int32]
Values = npt.NDArray[np.float32]

#: Saturation and length normalisation, measured on LoCoMo: in short texts repetition means little, and a longer text
#: is not worse.
K1, B = 0.9, 0.2

#: Content words kept from the beginning of a chunk: a statement opens with its subject.
LEADING = 3


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
        self._starts = np.zeros(1, dtype=np.int32)
        self._added: list[Ids] = []
        # Inverted: slots and counts by term, `_from[t]:_from[t + 1]`; and those of the chunks added since.
        self._slots = np.zeros(0, dtype=np.int32)
        self._counts: npt.NDArray[np.uint8] = np.zeros(0, dtype=np.uint8)
        self._from = np.zeros(1, dtype=np.int32)
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

    def extend(self, terms: Ids, sizes: npt.NDArray[np.int32]) -> None:
        """Add chunks by the terms of their words, so many for each, in the next slots."""
        if self.slots and not is_much(len(sizes) + len(self._added), self.slots):
            for ids in np.split(terms, np.cumsum(sizes)[:-1]):
                self._add(ids)
        else:
            self._merge(terms, sizes)

    def _add(self, ids: Ids) -> None:
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
        self._lead_terms[slot] = _lead_terms_of(ids, ~self.vocabulary.stop[ids], [0])[0]
        self._total += length
        self.live_count += 1

    def _merge(self, fresh: Ids, fresh_sizes: npt.NDArray[np.int32]) -> None:
        """Sort all postings again, with those of more chunks in the next slots."""
        sizes = np.concatenate([[*map(len, self._added)], fresh_sizes])
        first = self.slots
        every = np.concatenate([self._words, *self._added, fresh])
        self._starts = np.concatenate([self._starts, self._starts[-1] + np.cumsum(sizes)]).astype(np.int32)
        self._added, self._new = [], defaultdict(list)
        terms, count = len(self.vocabulary), len(self._starts) - 1
        slot_of = np.repeat(np.arange(count, dtype=np.int64), np.diff(self._starts))
        content_mask = ~self.vocabulary.stop[every]
        lengths = np.bincount(slot_of[content_mask], minlength=count).astype(np.float32)
        self._total += float(lengths[first:].sum())
        self.live_count += len(fresh_sizes)
        self._lengths = lengths
        self._lead_terms = _lead_terms_of(every, content_mask, self._starts[:-1])
        if self._removed:
            content_mask &= self._live()[slot_of]
        pairs, counts = np.unique(
            every[content_mask].astype(np.int64) * count + slot_of[content_mask], return_counts=True
        )
        self._words = _narrow(every, terms)
        self._counts = np.minimum(counts, np.iinfo(np.uint8).max).astype(np.uint8)
        self._slots = _narrow(pairs % max(count, 1), count)
        self._frequency = np.bincount(pairs // max(count, 1), minlength=terms).astype(np.int32)
        self._from = np.concatenate([[0], np.cumsum(self._frequency)]).astype(np.int32)
        self.vocabulary.pack()

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
        return self.idf_of(frequency)

    def idf_of(self, frequency: int) -> float:
        """Return the IDF of what so many live chunks have."""
        return math.log(1 + (self.live_count - frequency + 0.5) / (frequency + 0.5))

    def of(self, term: int) -> tuple[Slots, Values]:
        """Return the slots of the live chunks that contain `term`, ascending, and how often each does."""
        if self.vocabulary.stop[term]:
            slots, counts = self._scanned(term)
        else:
            known = term + 1 < len(self._from)
            main = slice(self._from[term], self._from[term + 1]) if known else slice(0)
            slots, counts = self._slots[main].astype(np.int32), self._counts[main].astype(np.float32)
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


def _narrow(values: npt.NDArray[Any], most: int) -> npt.NDArray[Any]:
    """Return numbers below `most` in two bytes each where they fit."""
    return values.astype(np.uint16 if most <= 1 << 16 else np.int32)


def _lead_terms_of(
    words: Ids, content_mask: npt.NDArray[np.bool_], starts: Sequence[int] | npt.NDArray[np.int32]
) -> LeadTerms:
    """Return the first content terms of each of the texts that begin at `starts` in `words`."""
    places = np.flatnonzero(content_mask)
    text = np.searchsorted(np.asarray(starts), places, side="right") - 1
    rank = np.arange(len(places)) - np.searchsorted(text, text, side="left")
    first = rank < LEADING
    lead_terms: LeadTerms = np.full((len(starts), LEADING), -1, dtype=np.int32)
    lead_terms[text[first], rank[first]] = words[places[first]]
    return lead_terms
