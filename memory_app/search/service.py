"""Searching one owner's memory: what tools and pages call.

Belongs here: putting the arrays, the texts of the hits and the state of the index together to an answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from memory_app import reads
from memory_app.databases.prepared import Prepared
from memory_app.models import Chunk as ChunkRow
from memory_app.models import SearchIndex
from memory_app.reads import recall_counts
from memory_app.runtime import deadlines
from memory_app.search import embedders, reindexing, store
from memory_app.search.cache import indices
from memory_app.search.ranking.chunking import Source, TextChunk, row_of
from memory_app.search.ranking.columns import ChunkFilters
from memory_app.search.ranking.dense import EmbedderUnavailable, stored
from memory_app.search.ranking.index import ChunkHit as FoundHit
from memory_app.search.ranking.index import OwnerIndex, RankedChunks
from memory_app.search.ranking.query import is_broad
from memory_app.text import context_budget

log = structlog.get_logger(__name__)

#: What is searched unless the caller says otherwise.
MEMORY = ("user_memory", "memory_block")

#: Seconds a search waits for an index that is being made; what it then answers is `index_behind`.
LONGEST_WAIT = 3.0
#: Behind more changes than this, which take more than the second anybody wants to wait, it waits less.
WORTH_WAITING_FOR = 2_000
SHORT_WAIT = 0.5

#: An index of the past is made for one answer; above this many chunks, of words alone.
MOST_EMBEDDED_AT_ONCE = 2_000


@dataclass(frozen=True)
class SearchHit:
    """Something found. `score` is from 0 to 1; exactly one of note_id, block_label, message_id is set.

    Args:
        text: the chunk: a note, a message, or a section of a block.
        title: the block's title (with its section), or the note's or message's first words.
        words: the words of the query it has, for marking them.
        weak: it does not match; it is among the nearest that do not.
    """

    source: str
    text: str
    score: float
    title: str
    type: str
    created_at: datetime | None
    note_id: str | None = None
    block_label: str | None = None
    message_id: str | None = None
    session_id: str | None = None
    author: str = ""
    words: tuple[str, ...] = ()
    weak: bool = False


@dataclass(frozen=True)
class SearchAnswer:
    """The hits, best first; an empty answer is no error.

    Args:
        is_broad: the question is about everything: the weak hits are in the order of `priming`.
        index_behind: the memory changed since the index was brought up to it.
        words_only: the embedder did not answer; meaning was left out.
        commit: the commit of main the index reflects.
        newest_commit: the newest one the ledger had when the search began; empty where that was not asked.
    """

    results: tuple[SearchHit, ...]
    is_broad: bool = False
    index_behind: bool = False
    words_only: bool = False
    commit: str = ""
    newest_commit: str = ""


@dataclass(frozen=True)
class Ranking:
    """Ids of notes, best first.

    Args:
        is_all: there are no more, however many are asked for.
        index_behind: as in `SearchAnswer`.
    """

    note_ids: tuple[str, ...]
    is_all: bool
    index_behind: bool = False


@dataclass(frozen=True)
class _Asked:
    """What is looked for, in today's memory or in one of the past.

    Args:
        is_broad: the question is about everything, and asked by an agent.
    """

    query: str
    filters: ChunkFilters
    top_k: int
    cosine_floor: float
    for_agents: bool = False
    is_broad: bool = False

    def of(self, index: OwnerIndex, *, useful: Sequence[str] = ()) -> RankedChunks:
        """Search an owner's arrays.

        Args:
            useful: ids of notes, for a broad question: see `OwnerIndex.search`.
        """
        return index.search(
            self.query,
            filters=self.filters,
            top_k=self.top_k,
            today=timezone.localdate(),
            cosine_floor=self.cosine_floor,
            for_agents=self.for_agents,
            useful=useful,
        )


def search(
    owner: str,
    query: str,
    *,
    top_k: int = 5,
    sources: Collection[str] = MEMORY,
    category: str | None = None,
    types: Collection[str] = (),
    tags: Collection[str] = (),
    session_id: str | None = None,
    include_superseded: bool = False,
    as_of: str | None = None,
    with_deleted: bool = True,
    cosine_floor: float | None = None,
    for_agents: bool = False,
) -> SearchAnswer:
    """Find what an owner's memory (and, if asked, conversations) says about `query`.

    Args:
        query: in natural language; of a very long one the beginning counts.
        sources: `user_memory` (notes), `memory_block`, `conversation`.
        tags: joined by OR; as `category` and `types` they leave only notes.
        session_id: only what was said or saved in that conversation.
        as_of: a commit of main; notes and blocks are searched as they were then.
        with_deleted: whether `as_of` finds what was deleted since.
        cosine_floor: how alike in meaning a hit must be that shares no word; the site's setting by default.
        for_agents: whether notes come before blocks, and those that do not match follow: see `OwnerIndex.search`.

    Raises:
        RevisionNotFound: of `as_of`.
        EngineUnavailable: the memory could not be read.
    """
    filters = ChunkFilters(
        sources=frozenset(sources),
        types=frozenset(types),
        tags=frozenset(tags),
        category=category or "",
        session_id=session_id or "",
        include_superseded=include_superseded,
    )
    asked = _Asked(
        query,
        filters,
        top_k,
        settings.COSINE_FLOOR if cosine_floor is None else cosine_floor,
        for_agents=for_agents,
        is_broad=for_agents and "user_memory" in filters.sources and is_broad(query),
    )
    if as_of is not None:
        commit = reads.resolve_revision(as_of)
        return _search_the_past(owner, asked, commit, _chunks_of_the_past(owner, commit, with_deleted=with_deleted))
    entries = reads.catalogue(owner).entries if asked.is_broad else ()
    useful = _most_useful(owner, {entry.id: entry.created_at for entry in entries})
    found, texts, is_behind, state = _search_now(owner, asked, useful=useful)
    return SearchAnswer(
        results=tuple(_hit(texts[hit.chunk_id], hit) for hit in found.hits if hit.chunk_id in texts),
        is_broad=asked.is_broad,
        index_behind=is_behind,
        words_only=found.by_words_only or (state is not None and state.embedder == embedders.WORDS_ONLY),
        commit=state.commit if state else "",
        newest_commit=state.newest_commit if state else "",
    )


def rank_notes(
    owner: str,
    query: str,
    *,
    top_k: int,
    types: Collection[str] = (),
    tags: Collection[str] = (),
    session_id: str | None = None,
    include_superseded: bool = False,
) -> Ranking:
    """The notes that `query` means, by id alone: for lists that go on, whose texts are read a page at a time.

    Arguments are those of `search`.
    """
    filters = ChunkFilters(
        sources=frozenset({"user_memory"}),
        types=frozenset(types),
        tags=frozenset(tags),
        session_id=session_id or "",
        include_superseded=include_superseded,
    )
    found, chunks, is_behind, _ = _search_now(owner, _Asked(query, filters, top_k, settings.COSINE_FLOOR))
    notes = dict.fromkeys(chunks[hit.chunk_id].item_id for hit in found.hits if hit.chunk_id in chunks)
    return Ranking(tuple(notes), len(found.hits) < top_k, is_behind)


def _search_now(
    owner: str, asked: _Asked, *, useful: Sequence[str] = ()
) -> tuple[RankedChunks, dict[int, _Shown], bool, store.IndexState | None]:
    """Return what the owner's arrays say, the row of each hit by its id, whether the arrays are behind the memory, and
    the state of the index.

    A chunk may be replaced between searching the arrays and reading its row: in 2 % of the searches for a note that
    was being changed, it was not found. The arrays are then searched once more; where even then a row is missing, the
    answer counts as behind.
    """
    # Asked before the arrays are read: asked after, a worker that finished in between would vouch for an
    # answer from before it.
    state = store.state_of(owner)
    is_behind = state.is_behind if state else store.is_behind(owner)
    if is_behind:
        _catch_up(owner)
        state = store.state_of(owner)
        is_behind = state.is_behind if state else store.is_behind(owner)
    at = {"version": state.version, "floor": state.floor} if state else None
    for _ in range(2):
        index = indices.index_of(owner, at)
        found = asked.of(index, useful=useful)
        chunks = _rows(owner, [hit.chunk_id for hit in found.hits])
        if len(chunks) == len(found.hits):
            return found, chunks, is_behind, state
        at = None
        # An index that is being made anew loses all its chunks at once: the second search may find nothing to miss.
        is_behind = is_behind or store.is_behind(owner)
    return found, chunks, True, state


#: So many rows are asked for by a statement that is ready, some of them several times.
_READY = (5, 20)


class _Shown(NamedTuple):
    """What a hit shows of its chunk; terms and vector are longer than the text."""

    owner: str
    removed: bool
    id: int
    source: str
    item_id: str
    text: str
    title: str
    section: str
    type: str
    author: str
    at: datetime | None
    session_id: str


def _by_ids(count: int) -> Prepared[tuple[Any, ...]]:
    return Prepared(
        lambda **ids: _shown(list(ids.values())),
        **{f"id{number}": int for number in range(count)},
    )


def _shown(ids: Sequence[int]) -> QuerySet[ChunkRow, tuple[Any, ...]]:
    # By number alone: asked for the owner too, SQLite goes through all of that owner's.
    return ChunkRow.objects.filter(pk__in=ids).order_by().values_list(*_Shown._fields)


_BY_IDS = {count: _by_ids(count) for count in _READY}


def _rows(owner: str, ids: Sequence[int]) -> dict[int, _Shown]:
    """The owner's chunks of these numbers that are there still."""
    count = next((count for count in _READY if len(ids) <= count), None)
    if not ids or count is None:
        found = list(_shown(ids)) if ids else []
    else:
        padded = [*ids, *[ids[0]] * (count - len(ids))]
        found = _BY_IDS[count].all(**{f"id{number}": id_ for number, id_ in enumerate(padded)})
    return {row.id: row for row in starmap(_Shown, found) if row.owner == owner and not row.removed}


def _catch_up(owner: str) -> None:
    """Wait a little for an index that is behind, and make it where nobody else does: an owner's first one (also
    when the first attempt was cut short), and any where there are no workers."""
    state = SearchIndex.objects.filter(owner=owner).first()
    is_first = state is None or not (state.change_id or state.message_id)
    if not is_first and not settings.CELERY_TASK_ALWAYS_EAGER:
        return
    is_short = store.how_far_behind(owner, most=WORTH_WAITING_FOR + 1) > WORTH_WAITING_FOR
    making = reindexing.in_background(owner)
    end = time.monotonic() + (SHORT_WAIT if is_short else LONGEST_WAIT)
    while time.monotonic() < end:
        making.join(0.05)
        deadlines.require()
        # A worker, or an earlier search, may be making it this moment.
        if not making.is_alive() and not (store.is_behind(owner) and store.is_busy(owner)):
            break


def _chunks_of_the_past(owner: str, commit: str, *, with_deleted: bool) -> list[TextChunk]:
    # Left out before anything is ranked: rare words of a deleted note would otherwise move the scores of the rest.
    blocks_at = reads.blocks_at if with_deleted else reads.surviving_blocks_at
    notes_at = reads.notes_at if with_deleted else reads.surviving_notes_at
    chunks: list[TextChunk] = []
    for block in blocks_at(owner, commit):
        chunks += store.block_chunks(block)
    for note in notes_at(owner, commit):
        chunks += store.note_chunks(note)
    return chunks


def _most_useful(owner: str, made: Mapping[str, datetime]) -> Sequence[str]:
    """Return ids of notes in the order in which `prime_memories` takes them.

    Args:
        made: when each was made, by id.
    """
    if not made:
        return ()
    recalled = recall_counts.counts(owner)
    return sorted(made, key=lambda id_: context_budget.worth(id_, made[id_], recalled), reverse=True)


def _search_the_past(owner: str, asked: _Asked, commit: str, chunks: list[TextChunk]) -> SearchAnswer:
    embedder = embedders.configured() if len(chunks) <= MOST_EMBEDDED_AT_ONCE else None
    vectors = [b""] * len(chunks)
    if embedder and chunks:
        try:
            vectors = [stored(vector) for vector in embedder.embed([chunk.meaning for chunk in chunks])]
        except EmbedderUnavailable:
            embedder = None
    notes = [chunk for chunk in chunks if asked.is_broad and chunk.source is Source.USER_MEMORY]
    useful = _most_useful(owner, {chunk.item_id: chunk.at for chunk in notes if chunk.at})
    rows = [row_of(number, chunk, vector) for number, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True))]
    found = asked.of(OwnerIndex(rows, embedder), useful=useful)
    return SearchAnswer(
        results=tuple(_hit(chunks[hit.chunk_id], hit) for hit in found.hits),
        is_broad=asked.is_broad,
        words_only=embedder is None or found.by_words_only,
        commit=commit,
    )


def _hit(chunk: _Shown | TextChunk, found: FoundHit) -> SearchHit:
    source = str(chunk.source)
    title = " › ".join(part for part in (chunk.title, chunk.section) if part)
    return SearchHit(
        source=source,
        text=chunk.text,
        score=found.score,
        title=title or _opening(chunk.text),
        type=chunk.type or ("block" if source == "memory_block" else "message" if source == "conversation" else "note"),
        created_at=chunk.at,
        note_id=chunk.item_id if source == "user_memory" else None,
        block_label=chunk.item_id if source == "memory_block" else None,
        message_id=chunk.item_id if source == "conversation" else None,
        session_id=chunk.session_id or None,
        author=chunk.author,
        words=found.reasons.words,
        weak=found.weak,
    )


def _opening(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59].rstrip() + "…"
