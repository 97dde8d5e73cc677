"""The fields of each chunk beside its words and vector, as arrays, and which chunks pass a filter.

Belongs here: one array per field by slot, the order of chunks in their documents, filters.
Not here: postings (`postings`) and ranking.
"""

from __future__ import annotations

from bisect import insort
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from memory_app.search.ranking.chunking import IndexRow, Source
from memory_app.search.ranking.dates import day_of

Mask = npt.NDArray[np.bool_]

SOURCES = tuple(Source)
NOTE, BLOCK, CONVERSATION = map(SOURCES.index, (Source.USER_MEMORY, Source.MEMORY_BLOCK, Source.CONVERSATION))

_FIELDS: dict[str, Any] = {
    "chunk_ids": np.int64,
    "sources": np.int8,
    "marks": np.uint8,
    "days": np.int32,
    "seconds": np.float64,
    "authors": np.int32,
    "documents": np.int32,
    "items": np.int32,
    "order": np.int64,
    "types": np.int32,
    "categories": np.int32,
    "sessions": np.int32,
    "superseded": np.bool_,
    "live": np.bool_,
    "texts": np.int64,
    "before": np.int32,
    "after": np.int32,
}


@dataclass(frozen=True)
class ChunkFilters:
    """What a search is limited to; an empty field limits nothing. Tags are joined by OR."""

    sources: frozenset[str] = frozenset()
    types: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    category: str = ""
    session_id: str = ""
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
        self._room: dict[str, npt.NDArray[Any]] = {name: np.zeros(0, dtype=kind) for name, kind in _FIELDS.items()}
        self.strings = Codes()
        self.document_keys = Codes()
        self._tags: defaultdict[str, list[int]] = defaultdict(list)
        self._in_document: defaultdict[int, list[int]] = defaultdict(list)

    def __getattr__(self, name: str) -> npt.NDArray[Any]:
        if name not in _FIELDS:
            raise AttributeError(name)
        return self._room[name][: self.size]

    @property
    def nbytes(self) -> int:
        return sum(each.nbytes for each in self._room.values()) + 150 * self.size

    def extend(self, rows: Sequence[IndexRow]) -> None:
        """Add rows in the next slots."""
        first, self.size = self.size, self.size + len(rows)
        strings, documents = self.strings, self.document_keys
        values: dict[str, list[Any]] = {
            "chunk_ids": [row.chunk_id for row in rows],
            "sources": [SOURCES.index(Source(row.source)) for row in rows],
            "marks": [row.marks for row in rows],
            "days": [day_of(row.at) for row in rows],
            "seconds": [row.at.timestamp() if row.at else 0.0 for row in rows],
            "authors": [strings[row.author] for row in rows],
            "documents": [documents[document_key(row.source, row.document_id)] for row in rows],
            "items": [strings[row.item_id] for row in rows],
            "order": [row.order for row in rows],
            "types": [strings[row.type] for row in rows],
            "categories": [strings[row.category] for row in rows],
            "sessions": [strings[row.session_id] for row in rows],
            "superseded": [row.superseded for row in rows],
            "live": [True] * len(rows),
            "texts": [hash(row.terms) for row in rows],
            "before": [-1] * len(rows),
            "after": [-1] * len(rows),
        }
        for name, column in values.items():
            self._room[name] = grown(self._room[name], self.size)
            self._room[name][first : self.size] = column
        for slot, row in enumerate(rows, first):
            for tag in row.tags:
                self._tags[tag].append(slot)
        touched: defaultdict[int, list[int]] = defaultdict(list)
        for slot, document in enumerate(values["documents"], first):
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

    def in_document(self, source: str, document_id: str) -> list[int]:
        """Return the slots of a document's chunks in order."""
        known = self.document_keys.known(document_key(source, document_id))
        return list(self._in_document.get(known, ()))

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


def document_key(source: str, document_id: str) -> str:
    """Return a document's key among all sources: a label may look like a session id."""
    return f"{source}\n{document_id}"
