"""Searching one owner's memory: what tools and pages call.

Belongs here: bringing the index up to date, searching it, and reading the texts of the hits; the memory as it was.
Not here: the ranking (`ranking`), and how an answer is worded.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
from typing import Any

from django.conf import settings
from django.utils import timezone

from memory_app import reads, recall_counts
from memory_app.databases.prepared import Prepared, batched
from memory_app.models import Chunk as ChunkRow
from memory_app.reads.catalogue import NoteListCache, catalogue
from memory_app.runtime import deadlines
from memory_app.search import embedders, index_state, store
from memory_app.search.cache import indices
from memory_app.search.ranking.chunking import Source, TextChunk, row_of
from memory_app.search.ranking.index import ChunkHit, OwnerIndex, RankedChunks
from memory_app.search.ranking.postings import ChunkFilters
from memory_app.search.ranking.query import is_broad
from memory_app.text import context_budget
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


#: Hits more than asked for that are looked for where notes say the same, since of these the first is answered.
MOST_FOLDED = 100


#: Searches the arrays. Takes ids of notes too, for a broad question (see `OwnerIndex.search`), and how many hits.
Run = Callable[[OwnerIndex, Iterable[str] | None, int], RankedChunks]


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

    def run(index: OwnerIndex, useful: Iterable[str] | None, most: int) -> RankedChunks:
        return index.search(
            query,
            filters=filters,
            top_k=most,
            today=timezone.localdate(),
            cosine_floor=settings.COSINE_FLOOR,
            for_agents=for_agents,
            useful=useful,
        )

    if as_of is not None:
        commit = reads.resolve_revision(owner, as_of)
        return _search_the_past(owner, run, commit, top_k, with_deleted=with_deleted, is_broad=broad)
    return _search_now(owner, run, filters, top_k, is_broad=broad)


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


def _search_now(owner: str, run: Run, filters: ChunkFilters, top_k: int, *, is_broad: bool) -> SearchAnswer:
    """Search the owner's arrays and read the row of each hit, and main where it may have changed since.

    A chunk may be replaced in between: 2 % of the searches for a note that was being changed did not find it. The
    arrays are then searched again; if a row is missing even then, the answer counts as behind.
    """
    of_memory = set(filters.sources) != {Source.CONVERSATION.value}
    # Before the state: what is committed after it came after this search began.
    every = catalogue(owner) if of_memory else NoteListCache({}, 0, "")
    recalled = recall_counts.counts(owner) if is_broad else {}
    most = top_k + min(every.folded, MOST_FOLDED)
    state, is_behind = _up_to_date_state(owner)
    at: index_state.IndexState | None = state
    for _ in range(2):
        useful = (each.id for each in every.by_worth(recalled)) if is_broad else None
        found = run(indices.index_of(owner, at), useful, most)
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
    is_behind = is_behind or bool(every.under_way)
    if of_memory and is_behind:
        results = _as_they_are(owner, results, filters)
    folded = islice(every.fold(results, lambda hit: hit.note_id), top_k)
    return SearchAnswer(
        results=tuple(replace(hit, same=tuple(same)) if same else hit for hit, same in folded),
        is_broad=is_broad,
        is_near=found.is_near,
        index_behind=is_behind,
        words_only=found.by_words_only or state.embedder == embedders.WORDS_ONLY,
        commit=state.commit,
    )


def _as_they_are(owner: str, hits: Sequence[SearchHit], filters: ChunkFilters) -> list[SearchHit]:
    """Return the hits as main has them now, for an index that may be behind.

    What is gone is left out, and so is what changed, unless it still has a word of the query: then in its new words.
    """
    notes = reads.find_notes(owner, [hit.note_id for hit in hits if hit.note_id]).values()
    blocks = reads.find_blocks([(owner, hit.block_label) for hit in hits if hit.block_label]).values()
    there = {note.id: store.note_chunks(note) for note in notes if filters.include_superseded or not note.is_superseded}
    there_of_blocks = {block.label: store.block_chunks(block) for block in blocks}
    found: dict[tuple[str, str], SearchHit] = {}
    for hit in hits:
        id_ = hit.note_id or hit.block_label or ""
        now = (there if hit.note_id else there_of_blocks).get(id_, ())
        if hit.message_id or any(chunk.text == hit.text for chunk in now):
            found.setdefault((id_, hit.text), hit)
        elif still := next((chunk for chunk in now if any(word in chunk.text.casefold() for word in hit.words)), None):
            found.setdefault((id_, still.text), hit_of(still, hit))
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


def _most_useful(owner: str, chunks: Sequence[TextChunk]) -> Sequence[str]:
    """Return the ids of the notes among them in the order in which `prime_memories` would take them."""
    dated = {chunk.item_id: chunk.at for chunk in chunks if chunk.source is Source.USER_MEMORY and chunk.at}
    recalled = recall_counts.counts(owner)
    return sorted(dated, key=lambda id_: context_budget.worth(id_, dated[id_], recalled), reverse=True)


def _search_the_past(
    owner: str, run: Run, commit: str, top_k: int, *, with_deleted: bool, is_broad: bool
) -> SearchAnswer:
    chunks = _chunks_of_the_past(owner, commit, with_deleted=with_deleted)
    useful = _most_useful(owner, chunks) if is_broad else None
    embedder = embedders.configured() if len(chunks) <= MOST_EMBEDDED_AT_ONCE else None
    vectors, has_vectors = store.vectors_of(chunks, embedder)
    embedder = embedder if has_vectors else None
    rows = [row_of(number, chunk, vector) for number, (chunk, vector) in enumerate(zip(chunks, vectors, strict=True))]
    found = run(OwnerIndex(rows, embedder), useful, top_k)
    return SearchAnswer(
        results=tuple(hit_of(chunks[hit.chunk_id], hit) for hit in found.hits),
        is_broad=is_broad,
        is_near=found.is_near,
        words_only=embedder is None or found.by_words_only,
        commit=commit,
    )
