"""The arrays of recently searched owners, in this process, within a bound on memory.

Built at first use from what is packed (`snapshots`) and refreshed by version: only newer rows are read.
"""

import threading
from collections import OrderedDict
from dataclasses import dataclass, replace
from weakref import WeakValueDictionary

from django.conf import settings

from memory_app.models import Chunk
from memory_app.runtime import deadlines
from memory_app.search import embedders, snapshots
from memory_app.search.index_state import IndexState, state_of
from memory_app.search.ranking.chunking import IndexRow
from memory_app.search.ranking.index import OwnerIndex


@dataclass(frozen=True)
class _Held:
    """The arrays of an owner.

    Args:
        version: of the chunks they reflect.
        embedder: the name of the one they were built with; `WORDS_ONLY` without one.
        nbytes: stored, since computing it for 2,000 owners took each search 20 ms.
    """

    index: OwnerIndex
    version: int
    embedder: str
    nbytes: int


class IndexCache:
    """Owner → arrays, the least recently used evicted first. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, _Held] = OrderedDict()
        self._nbytes = 0
        # A lock lives as long as a thread holds it or waits for it. Dropped sooner, two threads would refresh the same
        # arrays, and an older chunk might come back.
        self._building: WeakValueDictionary[str, threading.Lock] = WeakValueDictionary()

    def index_of(self, owner: str, state: IndexState | None = None) -> OwnerIndex:
        """Return the owner's arrays, up to date with the chunks.

        Args:
            state: of the owner's index, if the caller has just read it.

        Raises:
            DeadlineExceeded: another thread was building them for as long as this one may wait.
        """
        with self._lock:
            building = self._building.setdefault(owner, threading.Lock())
        # Two first searches of one owner build the arrays once.
        if not building.acquire(timeout=max(0.0, min(deadlines.remaining(), threading.TIMEOUT_MAX))):
            raise deadlines.DeadlineExceeded
        try:
            held = self._owners.get(owner)
            if state is None or (held and held.version > state.version):  # another thread was faster
                state = state_of(owner)
            if state.embedder is None:
                return OwnerIndex()
            if held is None or not _is_usable(held, state):
                held = self._load(owner, state.version)
            elif held.version < state.version:
                held = self._refresh(owner, held, state.version)
            self._hold(owner, held)
            return held.index
        finally:
            building.release()

    def clear(self) -> None:
        with self._lock:
            self._owners.clear()
            self._nbytes = 0

    def _load(self, owner: str, version: int) -> _Held:
        self._forget(owner)
        embedder = embedders.configured()
        name = embedders.name_of(embedder)
        batches, rows = snapshots.read(owner, name)
        index = OwnerIndex(rows, embedder, batches)
        return _Held(index, version, name, index.nbytes)

    def _refresh(self, owner: str, held: _Held, version: int) -> _Held:
        # One statement: with two, a chunk replaced in between would be there twice or not at all.
        newer = Chunk.objects.filter(owner=owner, version__gt=held.version).order_by("id")
        removed: list[int] = []
        added: list[IndexRow] = []
        for is_removed, *values in newer.values_list("removed", *snapshots.FIELDS):
            if is_removed:
                removed.append(values[0])
            else:
                added.append(IndexRow(*values))
        try:
            held.index.replace(removed, added)
        except BaseException:
            # Some arrays may have the new chunks and others not: every later search would fail.
            self._forget(owner)
            raise
        return replace(held, version=version, nbytes=held.index.nbytes)

    def _hold(self, owner: str, held: _Held) -> None:
        bound = settings.SEARCH_MEMORY_MB * 1024 * 1024
        with self._lock:
            before = self._owners.pop(owner, None)
            self._owners[owner] = held
            self._nbytes += held.nbytes - (before.nbytes if before else 0)
            while len(self._owners) > 1 and self._nbytes > bound:
                _, oldest = self._owners.popitem(last=False)
                self._nbytes -= oldest.nbytes

    def _forget(self, owner: str) -> None:
        with self._lock:
            held = self._owners.pop(owner, None)
            self._nbytes -= held.nbytes if held else 0


def _is_usable(held: _Held, state: IndexState) -> bool:
    """Whether reading newer rows brings the arrays up to `state`, and their vectors are right.

    Arrays built while the embedder was set aside have no vectors, and are built again once it is back.
    """
    is_followed = state.floor <= held.version <= state.version
    return is_followed and not held.index.is_fragmented and not embedders.is_to_replace(held.embedder)


#: One for the process.
indices = IndexCache()
