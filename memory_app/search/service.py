"""Searching one owner's memory: what tools and pages call.

Belongs here: putting the arrays, the texts of the hits and the state of the index together to an answer.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.conf import settings
from django.db.models import QuerySet
from django.utils import timezone

from memory_app import deadlines, recall, reindexing
from memory_app.models import Chunk as ChunkRow
from memory_app.models import SearchIndex
from memory_app.search import embedders, store
from memory_app.search.cache import indices
from memory_app.search.chunking import Chunk
from memory_app.search.columns import Filters
from memory_app.search.dense import EmbedderUnavailable, stored
from memory_app.search.index import Found, OwnerIndex
from memory_app.search.rows import row_of

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
class Hit:
    """Something found. `score` is from 0 to 1; exactly one of note_id, block_label, message_id is set.

    Args:
        text: the chunk: a note, a message, or a section of a block.
        title: the block's title (with its section), or the note's or message's first words.
        words: the words of the query it has, for marking them.
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


@dataclass(frozen=True)
class SearchAnswer:
    """The hits, best first; an empty answer is no error.

    Args:
        index_behind: the memory changed since the index was brought up to it.
        words_only: the embedder did not answer; meaning was left out.
        commit: the commit of main the index reflects.
    """

    results: tuple[Hit, ...]
    index_behind: bool = False
    words_only: bool = False
    commit: str = ""


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

    Raises:
        RevisionNotFound: of `as_of`.
        EngineUnavailable: the memory could not be read.
    """
    filters = Filters(
        sources=frozenset(sources),
        types=frozenset(types),
        tags=frozenset(tags),
        category=category or "",
        session_id=session_id or "",
        include_superseded=include_superseded,
    )
    floor = settings.COSINE_FLOOR if cosine_floor is None else cosine_floor
    if as_of is not None:
        commit = recall.resolve_revision(as_of)
        chunks = _chunks_of_the_past(owner, commit, with_deleted=with_deleted)
        return _search_the_past(query, commit, chunks, filters, top_k, floor)
    rows = ChunkRow.objects.filter(owner=owner, removed=False)
    found, texts, is_behind = _search_now(owner, query, filters, top_k, floor, rows)
    state = SearchIndex.objects.filter(owner=owner).first()
    return SearchAnswer(
        results=tuple(
            _hit(texts[hit.chunk_id], hit.score, hit.reasons.words) for hit in found.hits if hit.chunk_id in texts
        ),
        index_behind=is_behind,
        words_only=found.by_words_only or (state is not None and state.embedder == embedders.WORDS_ONLY),
        commit=state.commit if state else "",
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
    filters = Filters(
        sources=frozenset({"user_memory"}),
        types=frozenset(types),
        tags=frozenset(tags),
        session_id=session_id or "",
        include_superseded=include_superseded,
    )
    rows = ChunkRow.objects.filter(owner=owner, removed=False).only("item_id")
    found, chunks, is_behind = _search_now(owner, query, filters, top_k, settings.COSINE_FLOOR, rows)
    notes = dict.fromkeys(chunks[hit.chunk_id].item_id for hit in found.hits if hit.chunk_id in chunks)
    return Ranking(tuple(notes), len(found.hits) < top_k, is_behind)


def _search_now(
    owner: str, query: str, filters: Filters, top_k: int, floor: float, rows: QuerySet[ChunkRow]
) -> tuple[Found, dict[int, ChunkRow], bool]:
    """Return what the owner's arrays say, the row of each hit by its id, and whether the arrays are behind the memory.

    A chunk may be replaced between searching the arrays and reading its row: in 2 % of the searches for a note that
    was being changed, it was not found. The arrays are then searched once more; where even then a row is missing, the
    answer counts as behind.

    Args:
        rows: the owner's chunks, with the columns that the caller needs.
    """
    # Asked before the arrays are read: asked after, a worker that finished in between would vouch for an
    # answer from before it.
    is_behind = store.is_behind(owner)
    if is_behind:
        _catch_up(owner)
        is_behind = store.is_behind(owner)
    for _ in range(2):
        index = indices.index_of(owner)
        found = index.search(query, filters=filters, top_k=top_k, today=timezone.localdate(), cosine_floor=floor)
        chunks = rows.in_bulk([hit.chunk_id for hit in found.hits])
        if len(chunks) == len(found.hits):
            return found, chunks, is_behind
        # An index that is being made anew loses all its chunks at once: the second search may find nothing to miss.
        is_behind = is_behind or store.is_behind(owner)
    return found, chunks, True


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


def _chunks_of_the_past(owner: str, commit: str, *, with_deleted: bool) -> list[Chunk]:
    # Left out before anything is ranked: rare words of a deleted note would otherwise move the scores of the rest.
    blocks_at = recall.blocks_at if with_deleted else recall.surviving_blocks_at
    notes_at = recall.notes_at if with_deleted else recall.surviving_notes_at
    chunks: list[Chunk] = []
    for block in blocks_at(owner, commit):
        chunks += store.block_chunks(block)
    for note in notes_at(owner, commit):
        chunks += store.note_chunks(note)
    return chunks


def _search_the_past(
    query: str, commit: str, chunks: list[Chunk], filters: Filters, top_k: int, floor: float
) -> SearchAnswer:
    embedder = embedders.configured() if len(chunks) <= MOST_EMBEDDED_AT_ONCE else None
    vectors = [b""] * len(chunks)
    if embedder and chunks:
        try:
            vectors = [stored(vector) for vector in embedder.embed([chunk.meaning for chunk in chunks])]
        except EmbedderUnavailable:
            embedder = None
    rows = [row_of(number, chunk, vector) for number, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True))]
    found: Found = OwnerIndex(rows, embedder).search(
        query, filters=filters, top_k=top_k, today=timezone.localdate(), cosine_floor=floor
    )
    return SearchAnswer(
        results=tuple(_hit(chunks[hit.chunk_id], hit.score, hit.reasons.words) for hit in found.hits),
        words_only=embedder is None or found.by_words_only,
        commit=commit,
    )


def _hit(chunk: ChunkRow | Chunk, score: float, words: tuple[str, ...]) -> Hit:
    source = str(chunk.source)
    title = " › ".join(part for part in (chunk.title, chunk.section) if part)
    return Hit(
        source=source,
        text=chunk.text,
        score=score,
        title=title or _opening(chunk.text),
        type=chunk.type or ("block" if source == "memory_block" else "message" if source == "conversation" else "note"),
        created_at=chunk.at,
        note_id=chunk.item_id if source == "user_memory" else None,
        block_label=chunk.item_id if source == "memory_block" else None,
        message_id=chunk.item_id if source == "conversation" else None,
        session_id=chunk.session_id or None,
        author=chunk.author,
        words=words,
    )


def _opening(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 60 else words[:59].rstrip() + "…"
