"""The inverted index: which chunks contain which terms. It grows with each chunk; BM25 weights come at query time.

Belongs here: postings, lengths, document frequencies, the weights of BM25 in Lucene's form.
Not here: how the weights become a ranking (`scoring`).

Since weights are computed at query time, the IDF is always current and a chunk is added in .1 ms. Libraries that store
weighted postings (bm25s) cannot add at all.
"""

from __future__ import annotations

import math
from bisect import insort
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.chunking import IndexRow, Source
from memory_app.search.ranking.dates import day_of
from memory_app.search.ranking.vocabulary import Ids, Vocabulary

# -- columns and filters --------------------------------------------------------------------------

Mask = npt.NDArray[np.bool_]

SOURCES = tuple(Source)
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


class Codes:
    """Texts as small numbers; the empty text is 0."""

    def __init__(self) -> None:
        self.texts = [""]
        self._numbers = {"": 0}

    def __getitem__(self, text: str) -> int:
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.texts)
            self.texts.append(text)
        return number

    def known(self, text: str) -> int:
        """Return the number of `text`; of an unknown text -1, which no chunk has."""
        return self._numbers.get(text, -1)


def grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    """Return `array` with room for `size` rows: itself, or a copy half as large again, so that adding stays cheap."""
    if len(array) >= size:
        return array
    room = np.zeros((max(size, len(array) * 3 // 2), *array.shape[1:]), dtype=array.dtype)
    room[: len(array)] = array
    return room


class Columns:
    """The fields of all chunks by slot. `before` and `after` are the neighbours in the document, -1 for none."""

    def __init__(self) -> None:
        self.size = 0
        self._room: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(0, dtype=kind) for name, (kind, _) in _COLUMNS.items()
        }
        self.strings = Codes()
        self.document_keys = Codes()
        self._tags: defaultdict[str, list[int]] = defaultdict(list)
        #: Slot, year, month and day of each day that a text names.
        self.named_days = np.zeros((0, 4), dtype=np.int32)
        self._in_document: defaultdict[int, list[int]] = defaultdict(list)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _COLUMNS:
            raise AttributeError(name)
        return self._room[name][: self.size]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self._room.values()) + 150 * self.size + self.named_days.nbytes

    def extend(self, rows: Sequence[IndexRow]) -> None:
        """Add rows in the next slots."""
        first, self.size = self.size, self.size + len(rows)
        for name, (_, values_of) in _COLUMNS.items():
            self._room[name] = grown(self._room[name], self.size)
            self._room[name][first : self.size] = values_of(self, rows)
        named = [(slot, *day) for slot, row in enumerate(rows, first) for day in row.named_days]
        if named:
            self.named_days = np.concatenate([self.named_days, np.array(named, dtype=np.int32)])
        for slot, row in enumerate(rows, first):
            for tag in row.tags:
                self._tags[tag].append(slot)
        touched: defaultdict[int, list[int]] = defaultdict(list)
        for slot, document in enumerate(self.documents[first:].tolist(), first):
            touched[document].append(slot)
        for document, slots in touched.items():
            self._place(document, slots)

    def remove(self, slot: int) -> None:
        """Remove the chunk and link its neighbours with each other."""
        self.live[slot] = False
        self._in_document[int(self.documents[slot])].remove(slot)
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
            for tag in filters.tags:
                tagged[self._tags.get(tag, [])] = True
            mask &= tagged
        return mask

    def _place(self, document: int, slots: list[int]) -> None:
        """Put new chunks of a document among its others and link the neighbours."""
        order, placed = self.order, self._in_document[document]
        if placed and len(slots) == 1:
            # One message more: link it only, a session may have thousands.
            insort(placed, slots[0], key=order.__getitem__)
            at = placed.index(slots[0]) if order[placed[-1]] > order[slots[0]] else len(placed) - 1
            run = placed[max(at - 1, 0) : at + 2]
        else:
            placed.extend(slots)
            placed.sort(key=order.__getitem__)
            run = placed
        if len(run) > 1:
            self.after[run[:-1]] = run[1:]
            self.before[run[1:]] = run[:-1]


# A document is known by its key among all sources: a label may look like a session id.
#: What a column holds: its type, and its values for rows.
_COLUMNS: dict[str, tuple[Any, Callable[[Columns, Sequence[IndexRow]], list[Any]]]] = {
    "chunk_ids": (np.int64, lambda _, rows: [row.chunk_id for row in rows]),
    "sources": (np.int8, lambda _, rows: [SOURCES.index(Source(row.source)) for row in rows]),
    "marks": (np.uint8, lambda _, rows: [row.marks for row in rows]),
    "days": (np.int32, lambda _, rows: [day_of(row.at) for row in rows]),
    "seconds": (np.float64, lambda _, rows: [row.at.timestamp() if row.at else 0.0 for row in rows]),
    "authors": (np.int32, lambda all, rows: [all.strings[row.author] for row in rows]),
    "documents": (np.int32, lambda all, rows: [all.document_keys[f"{row.source}\n{row.document_id}"] for row in rows]),
    "items": (np.int32, lambda all, rows: [all.strings[row.item_id] for row in rows]),
    "order": (np.int64, lambda _, rows: [row.order for row in rows]),
    "types": (np.int32, lambda all, rows: [all.strings[row.type] for row in rows]),
    "categories": (np.int32, lambda all, rows: [all.strings[row.category] for row in rows]),
    "sessions": (np.int32, lambda all, rows: [all.strings[row.session_id] for row in rows]),
    "superseded": (np.bool_, lambda _, rows: [row.superseded for row in rows]),
    "live": (np.bool_, lambda _, rows: [True] * len(rows)),
    "texts": (np.int64, lambda _, rows: [hash(row.terms) for row in rows]),
    "before": (np.int32, lambda _, rows: [-1] * len(rows)),
    "after": (np.int32, lambda _, rows: [-1] * len(rows)),
}

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
