"""The arrays of the owners searched lately, in this process, within a bound on memory.

Built from chunk rows on first use and brought up by version: only what is newer is read.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from memory_app import deadlines
from memory_app.models import Chunk, SearchIndex
from memory_app.search import embedders
from memory_app.search.index import OwnerIndex
from memory_app.search.rows import Row

_FIELDS = (
    "id",
    "source",
    "document_id",
    "item_id",
    "order",
    "terms",
    "marks",
    "vector",
    "type",
    "tags",
    "category",
    "author",
    "at",
    "session_id",
    "superseded",
)


@dataclass
class _Held:
    index: OwnerIndex
    version: int
    embedder: str


class IndexCache:
    """Owner → arrays, least recently used out first. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, _Held] = OrderedDict()
        self._building: dict[str, threading.Lock] = {}

    def index_of(self, owner: str) -> OwnerIndex:
        """The owner's arrays, as their chunks are now."""
        with self._lock:
            building = self._building.setdefault(owner, threading.Lock())
        # Two first searches of one owner build once.
        if not building.acquire(timeout=max(0.0, min(deadlines.remaining(), threading.TIMEOUT_MAX))):
            raise deadlines.DeadlineExceeded
        try:
            state = SearchIndex.objects.filter(owner=owner).values("version", "floor", "embedder").first()
            if state is None:
                return OwnerIndex()
            held = self._owners.get(owner)
            is_usable = held is not None and held.version >= state["floor"] and held.embedder == state["embedder"]
            if held is None or not is_usable or held.index.worn or held.version > state["version"]:
                held = self._load(owner, state)
            elif held.version < state["version"]:
                self._refresh(owner, held, state["version"])
            with self._lock:
                self._owners[owner] = held
                self._owners.move_to_end(owner)
                self._bound()
            return held.index
        finally:
            building.release()

    def clear(self) -> None:
        with self._lock:
            self._owners.clear()

    def _load(self, owner: str, state: Mapping[str, Any]) -> _Held:
        rows = Chunk.objects.filter(owner=owner, removed=False).order_by("id").values_list(*_FIELDS)
        index = OwnerIndex([_row(values) for values in rows], embedders.configured())
        return _Held(index, state["version"], state["embedder"])

    def _refresh(self, owner: str, held: _Held, version: int) -> None:
        newer = Chunk.objects.filter(owner=owner, version__gt=held.version)
        held.index.remove(newer.filter(removed=True).values_list("id", flat=True))
        held.index.add([_row(values) for values in newer.filter(removed=False).order_by("id").values_list(*_FIELDS)])
        held.version = version

    def _bound(self) -> None:
        bound = settings.SEARCH_MEMORY_MB * 1024 * 1024
        while len(self._owners) > 1 and sum(held.index.nbytes for held in self._owners.values()) > bound:
            owner, _ = self._owners.popitem(last=False)
            self._building.pop(owner, None)


def _row(values: tuple[Any, ...]) -> Row:
    fields = dict(zip(_FIELDS, values, strict=True))
    fields["chunk_id"] = fields.pop("id")
    fields["vector"] = bytes(fields["vector"])
    fields["tags"] = tuple(fields["tags"])
    return Row(**fields)


#: One for the process.
indices = IndexCache()
