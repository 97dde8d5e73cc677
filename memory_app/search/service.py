"""Searching one owner's memory: what tools and pages call.

Belongs here: bringing the index up to date, searching it, and reading the texts of the hits; the memory as it was.
Not here: the ranking (`ranking`), and how an answer is worded.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from django.conf import settings
from django.utils import timezone

from memory_app import reads, recall_counts
from memory_app.databases.prepared import Prepared, batched
from memory_app.models import Chunk as ChunkRow
from memory_app.reads.catalogue import is_write_under_way
from memory_app.runtime import deadlines
from memory_app.search import embedders, index_state, store
from memory_app.search.cache import indices
from memory_app.search.ranking.chunking import Source, TextChunk, row_of
from memory_app.search.ranking.index import ChunkHit, OwnerIndex, RankedChunks
from memory_app.search.ranking.postings import ChunkFilters
from memory_app.search.ranking.query import is_broad
from memory_app.text.alike import said_by
from memory_app.text.lines import first_words


@dataclass(frozen=True)
class SearchHit:
    """A hit; exactly one of note_id, block_label, message_id is set.

    Args:
        score: from 0 to 1, to compare with those of other searches: `ranking.scoring.score_chunks`, evidence.
        text: the chunk: a note, a message, or a section of a block.
        title: the block's title (with its section), or the note's or message's first words.
        words: the words of the query it contains, for marking them.
        weak: it does not match; it is one of the nearest notes.
        same: ids of other notes that say the same, which are no hits of their own.
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
    same: tuple[str, ...] = ()


@dataclass(frozen=True)
class SearchAnswer:
    """The hits, best first; an empty answer is no error.

    Args:
        is_broad: the query narrows nothing down: the weak hits are in the order of `context_budget`.
        is_near: one of the weak hits is nearer than notes about other things usually are.
        index_behind: the memory has, or may have, changes that the index does not have: what is new may be missing.
        words_only: the embedder did not answer; meaning was left out.
        commit: the commit of main the index reflects.
    """

    results: tuple[SearchHit, ...]
    is_broad: bool = False
    is_near: bool = False
    index_behind: bool = False
    words_only: bool = False
    commit: str = ""


#: So many rows are read by one statement; its spare parameters repeat the first id.
_AT_ONCE = 20
#: What a hit shows of its chunk. Terms and vector are not read: they are longer than the text.
_SHOWN = "source document_id item_id order text title section type author at session_id".split()

# By primary key alone: with the owner in the condition too, SQLite scans all of that owner's chunks.
_BY_IDS = Prepared(
    lambda **ids: (
        ChunkRow.objects.filter(pk__in=[*ids.values()]).order_by().values_list("id", "owner", "removed", *_SHOWN)
    ),
    **{f"id{number}": int for number in range(_AT_ONCE)},
)


def _shown_chunks(owner: str, ids: Sequence[int]) -> dict[int, TextChunk]:
    """Return the owner's chunks with these ids, without those removed since."""
    found: dict[int, TextChunk] = {}
    for some in batched(ids, _AT_ONCE):
        padded = enumerate([*some, *[some[0]] * (_AT_ONCE - len(some))])
        for id_, whose, is_removed, *shown in _BY_IDS.all(**{f"id{number}": each for number, each in padded}):
            if whose == owner and not is_removed:
                found[id_] = TextChunk(**dict(zip(_SHOWN, shown, strict=True)))
    return found


def hit_of(chunk: TextChunk, found: ChunkHit | SearchHit) -> SearchHit:
    source = str(chunk.source)
    title = " › ".join(part for part in (chunk.title, chunk.section) if part)
    return SearchHit(
        source=source,
        text=chunk.text,
        score=found.score,
        title=title or first_words(chunk.text, 60),
        type=chunk.type or ("block" if source == "memory_block" else "message" if source == "conversation" else "note"),
        created_at=chunk.at,
        note_id=chunk.item_id if source == "user_memory" else None,
        block_label=chunk.item_id if source == "memory_block" else None,
        message_id=chunk.item_id if source == "conversation" else None,
        session_id=chunk.session_id or None,
        author=chunk.author,
        words=found.words,
        weak=found.weak,
        same=found.same,
    )


#: What is searched unless the caller says otherwise.
MEMORY = ("user_memory", "memory_block")

#: Seconds a search waits for an index that is being made; after that its answer is `index_behind`.
LONGEST_WAIT = 3.0
#: Behind more changes than this, which take over a second to index, a search waits less.
WORTH_WAITING_FOR = 2_000
SHORT_WAIT = 0.5

#: An index of the past is made for one answer; above this many chunks, of words alone.
MOST_EMBEDDED_AT_ONCE = 2_000

#: Searches the arrays.
Run = Callable[[OwnerIndex], RankedChunks]


def search(
    owner: str,
    query: str,
    *,
    top_k: int = 5,
    as_of: str | None = None,
    with_deleted: bool = True,
    for_agents: bool = False,
    **limits: Any,
) -> SearchAnswer:
    """Find what an owner's memory (and, if asked, conversations) says about `query`.

    Args:
        query: in natural language; of a very long one the beginning counts.
        as_of: a commit of main; notes and blocks are searched as they were then.
        with_deleted: whether `as_of` finds what was deleted since.
        for_agents: whether notes keep their places before blocks, and the nearest are shown where nothing matches: see
            `OwnerIndex.search`.
        limits: fields of `ChunkFilters`. Types, tags and a category leave only notes; a session_id leaves what was said
            or saved in that conversation.

    Raises:
        RevisionNotFound: of `as_of`.
        EngineUnavailable: the memory could not be read.
    """
    filters = ChunkFilters(**{"sources": MEMORY, **limits})
    broad = for_agents and "user_memory" in filters.sources and is_broad(query)
    recalled = recall_counts.counts(owner) if broad else None

    def run(index: OwnerIndex) -> RankedChunks:
        return index.search(
            query,
            filters=filters,
            top_k=top_k,
            today=timezone.localdate(),
            cosine_floor=settings.COSINE_FLOOR,
            for_agents=for_agents,
            recalled=recalled,
        )

    if as_of is not None:
        answer = _search_the_past(owner, run, reads.resolve_revision(owner, as_of), with_deleted=with_deleted)
    else:
        answer = _search_now(owner, run, filters)
    return replace(answer, results=answer.results[:top_k], is_broad=broad)


def rank_notes(owner: str, query: str, *, top_k: int | None, **limits: Any) -> tuple[tuple[str, ...], bool, bool]:
    """Return the ids of the notes that match `query`, best first, for lists whose texts are read a page at a time.

    Rows of chunks are not read: an id may be that of a note deleted since.

    Args:
        top_k: without it, all that match.
        limits: fields of `ChunkFilters`.

    Returns:
        The ids, whether these are all (no more match with a larger `top_k`), and `SearchAnswer.index_behind`.
    """
    filters = ChunkFilters(sources=("user_memory",), **limits)
    state, is_behind = _up_to_date_state(owner)
    for _ in range(2):
        index = indices.index_of(owner, state)
        today, floor = timezone.localdate(), settings.COSINE_FLOOR
        ids = index.rank_items(query, filters=filters, top_k=top_k, today=today, cosine_floor=floor)
        before, state = state, index_state.state_of(owner)
        if (before.version, before.floor) == (state.version, state.floor):
            break
        # A chunk was replaced, and perhaps one that this query finds: the arrays are searched again.
    else:
        is_behind = True
    return ids, top_k is None or len(ids) < top_k, is_behind


def _up_to_date_state(owner: str) -> tuple[index_state.IndexState, bool]:
    """Return the state of the owner's index, after waiting for it where it is behind, and whether it still is.

    Call it before the arrays are read. A state read afterwards could be newer than the answer: a worker may finish in
    between.
    """
    state = index_state.state_of(owner)
    if state.is_behind:
        _catch_up(state)
        state = index_state.state_of(owner)
    return state, state.is_behind


def _search_now(owner: str, run: Run, filters: ChunkFilters) -> SearchAnswer:
    """Search the owner's arrays and read the row of each hit, and main where it may have changed since.

    A chunk may be replaced in between: 2 % of the searches for a note that was being changed did not find it. The
    arrays are then searched again; if a row is missing even then, the answer counts as behind.
    """
    of_memory = set(filters.sources) != {Source.CONVERSATION.value}
    # Before the state: what is committed after it came after this search began.
    is_unsure = of_memory and is_write_under_way(owner)
    state, is_behind = _up_to_date_state(owner)
    at: index_state.IndexState | None = state
    for _ in range(2):
        found = run(indices.index_of(owner, at))
        chunks = _shown_chunks(owner, [hit.chunk_id for hit in found.hits])
        if len(chunks) == len(found.hits):
            break
        at = None
        # An index being rebuilt loses all its chunks at once: the second search may find nothing, and so miss no row.
        is_behind = is_behind or index_state.is_behind(owner)
    else:
        is_behind = True
    results = [hit_of(chunks[hit.chunk_id], hit) for hit in found.hits if hit.chunk_id in chunks]
    # What the ledger does not have yet, the index, which follows it, does not know.
    is_behind = is_behind or is_unsure
    if of_memory and is_behind:
        results = _as_they_are(owner, results, filters)
    return SearchAnswer(
        results=tuple(results),
        is_near=found.is_near,
        index_behind=is_behind,
        words_only=found.by_words_only or state.embedder == embedders.WORDS_ONLY,
        commit=state.commit,
    )


def _as_they_are(owner: str, hits: Sequence[SearchHit], filters: ChunkFilters) -> list[SearchHit]:
    """Return the hits as main has them now, for an index that may be behind.

    What is gone is left out, and so is what changed, unless it still has a word of the query: then in its new words.
    """
    every = [(hit, id_) for hit in hits for id_ in (hit.note_id, *hit.same)]
    notes = reads.find_notes(owner, {id_ for _hit, id_ in every if id_}).values()
    blocks = reads.find_blocks([(owner, hit.block_label) for hit in hits if hit.block_label]).values()
    there = {note.id: store.note_chunks(note) for note in notes if filters.include_superseded or not note.is_superseded}
    there_of_blocks = {block.label: store.block_chunks(block) for block in blocks}
    says = {note.id: said_by(note.content) for note in notes if not note.is_superseded}
    found: dict[tuple[str, str], SearchHit] = {}
    for hit, id_ in every:
        now, said = (there.get(id_, ()) if id_ else there_of_blocks.get(hit.block_label or "", ())), said_by(hit.text)
        same = [chunk for chunk in now if said_by(chunk.text) == said]
        near = same or [chunk for chunk in now if any(word in chunk.text.casefold() for word in hit.words)]
        is_new = [hit_of(chunk, replace(hit, same=())) for chunk in near[:1]] or [hit] * bool(hit.message_id)
        for one in is_new:
            key = ("", says.get(id_, id_)) if id_ else (hit.block_label or hit.message_id or "", one.text)
            first = found.setdefault(key, one)
            if id_ and first is not one:
                found[key] = replace(first, same=(*first.same, id_))
    return list(found.values())


def _catch_up(state: index_state.IndexState) -> None:
    """Bring up an index that is behind, or wait a little for who does.

    Also where there are workers: of searches right after a change, all 15 tried gave the old text while they waited for
    one, for up to 0.7 s. What is much is left to them, but for an owner's first index.
    """
    is_first = not (state.change_id or state.message_id)
    if not is_first and not settings.CELERY_TASK_ALWAYS_EAGER and store.is_much(state):
        return
    making, was_busy = store.in_background(state.owner), False
    end = time.monotonic() + (SHORT_WAIT if state.is_behind_by(WORTH_WAITING_FOR) else LONGEST_WAIT)
    while time.monotonic() < end:
        making.join(0.05)
        deadlines.require()
        if making.is_alive():
            continue
        if not index_state.is_behind(state.owner):
            break
        if index_state.is_busy(state.owner):  # another process is at it
            was_busy = True
            time.sleep(0.02)
        elif was_busy:  # it ended before it knew of the last change
            making, was_busy = store.in_background(state.owner), False
        else:
            break


def _chunks_of_the_past(owner: str, commit: str, *, with_deleted: bool) -> list[TextChunk]:
    # What was deleted is left out before the ranking: its words would otherwise change the IDFs of the rest.
    blocks = reads.blocks_at(owner, commit, with_deleted=with_deleted)
    notes = reads.notes_at(owner, commit, with_deleted=with_deleted)
    return store.memory_chunks(blocks, notes)


def _search_the_past(owner: str, run: Run, commit: str, *, with_deleted: bool) -> SearchAnswer:
    chunks = _chunks_of_the_past(owner, commit, with_deleted=with_deleted)
    embedder = embedders.configured() if len(chunks) <= MOST_EMBEDDED_AT_ONCE else None
    vectors, has_vectors = store.vectors_of(chunks, embedder)
    embedder = embedder if has_vectors else None
    rows = [row_of(number, chunk, vector) for number, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True))]
    found = run(OwnerIndex(rows, embedder))
    return SearchAnswer(
        results=tuple(hit_of(chunks[hit.chunk_id], hit) for hit in found.hits),
        is_near=found.is_near,
        words_only=embedder is None or found.by_words_only,
        commit=commit,
    )
