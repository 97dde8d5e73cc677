"""The table of chunks: bringing it up to date with the memory, by following the ledger.

Belongs here: what a change of the memory does to an owner's chunks. Idempotent and coalescing: each run
takes all the ledger has since the last one, so a lost, repeated or killed task loses nothing.
Not here: how a text becomes chunks (`ranking.chunking`), the lease and the marks (`index_state`), the arrays (`cache`).
"""

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

import structlog
from django.db import transaction

from memory_app import reads
from memory_app.databases import clock, prepared
from memory_app.databases.prepared import batched
from memory_app.databases.row_order import lock_owner
from memory_app.models import Change, Message, PackedChunks, SearchIndex, TargetKind
from memory_app.models import Chunk as ChunkRow
from memory_app.runtime import background, deadlines
from memory_app.runtime.workers import enqueue
from memory_app.search import embedders, index_state, snapshots
from memory_app.search.ranking.chunking import (
    Source,
    TextChunk,
    chunks_of_block,
    chunks_of_message,
    chunks_of_note,
    meaning,
    row_of,
)
from memory_app.search.ranking.dense import Embedder, EmbedderUnavailable, Vector, stored


def block_chunks(block: reads.Block) -> tuple[TextChunk, ...]:
    return chunks_of_block(
        label=block.label,
        title=block.display_title,
        body=block.body,
        description=block.description,
        at=block.updated_at,
    )


def note_chunks(note: reads.Note) -> tuple[TextChunk, ...]:
    return chunks_of_note(
        note_id=note.id,
        content=note.content,
        type=note.type,
        tags=note.tags,
        category=note.category or "",
        rationale=note.rationale or "",
        at=note.created_at,
        session_id=note.session_id or "",
        superseded=note.is_superseded,
    )


def memory_chunks(blocks: Iterable[reads.Block], notes: Iterable[reads.Note]) -> list[TextChunk]:
    return [*chain.from_iterable(map(block_chunks, blocks)), *chain.from_iterable(map(note_chunks, notes))]


def message_chunks(owner: str, *, after: int) -> list[TextChunk]:
    """Return the chunks of the owner's messages after the one with this key."""
    return [
        chunk
        for message in Message.objects.filter(owner=owner, id__gt=after).order_by("id")
        for chunk in chunks_of_message(
            message.session_id,
            message.message_id,
            message.content,
            sequence=message.pk,
            author=message.author or message.role,
            at=message.at,
        )
    ]


log = structlog.get_logger(__name__)

#: Changes, or chunks, written in one transaction: SQLite has one writer, and others wait for it.
PORTION = 500
#: More changes than this are not indexed by a process that has other work: 2,000 take a second.
MANY = 300
#: Removed chunks are kept for this many versions, for processes that hold older arrays.
KEPT_VERSIONS = 200
#: Every so many versions, and after as many chunks at once, chunks are packed.
PACKED_VERSIONS = 64

#: How often a run looks for changes that came in while it ran.
MOST_ROUNDS = 5

#: What is written over a removed chunk. Its id stays for processes that hold the arrays. The words go at once, with
#: author, time, and every id and tag, which agents make up.
_EMPTIED: dict[str, Any] = {"removed": True, "tags": [], "at": None, "vector": b""} | dict.fromkeys(
    "document_id item_id text title section type category author session_id terms".split(), ""
)


@dataclass(frozen=True)
class Reindexed:
    """What a run did.

    Args:
        documents: how many it wrote.
        has_vectors: whether the embedder answered.
        is_anew: whether it rebuilt all chunks. After `whole`, False means that another process had the lease.
    """

    documents: int
    has_vectors: bool
    is_anew: bool = False


def reindex(owner: str, *, whole: bool = False, unless_many: bool = False) -> Reindexed:
    """Bring an owner's chunks up to the memory and the conversations.

    Args:
        whole: rebuild all of them, whatever the ledger says, unless another process has the lease.
        unless_many: do nothing, and take no lease, where `is_much`: ten thousand notes take 4 s.

    Raises:
        EngineUnavailable: the memory could not be read; the next run continues.
    """
    done = Reindexed(0, has_vectors=True)
    for _ in range(MOST_ROUNDS):
        # Checked before taking the lease: a search that finds the lease taken makes no index, so a run that took it
        # and then left the work made that search answer nothing.
        if unless_many and is_much(index_state.state_of(owner)):
            break
        if not index_state.take_lease(owner):
            break  # the process that has the lease checks again after ending it
        try:
            state = index_state.state_of(owner)
            if whole or state.is_behind:
                anew = whole or state.is_outdated
                more = _rebuild(owner, state) if anew else _follow(owner, state)
                done = Reindexed(
                    done.documents + more.documents, done.has_vectors and more.has_vectors, done.is_anew or more.is_anew
                )
                whole = False
        finally:
            index_state.end_lease(owner)
        # Check after ending the lease: a writer that finds it taken leaves its change to this run. When the check came
        # before, a change in between waited for the next search or the beat.
        if not index_state.is_behind(owner):
            break
    return done


def is_much(state: index_state.IndexState) -> bool:
    """Whether all of the owner's chunks have to be rebuilt, or those of more than `MANY` changes."""
    return state.embedder is None or state.is_outdated or state.is_behind_by(MANY)


def _follow(owner: str, state: index_state.IndexState) -> Reindexed:
    """Bring the chunks up to `state`, some changes at a time.

    The mark moves with each portion, so that the next run continues one that was cut short. Rebuilding all chunks
    instead took 5 s for an import of 300 notes into 20,000.
    """
    documents, has_vectors, reached, commit = 0, True, state.change_id, state.commit
    news = _NEWS.all(owner=owner, after=state.change_id, until=state.newest_change)
    portions = [*batched(news, PORTION)] or [[]]
    for number, some in enumerate(portions, 1):
        is_last = number == len(portions)
        labels = dict.fromkeys(target for kind, target, *_ in some if kind == TargetKind.BLOCK)
        ids = dict.fromkeys(target for kind, target, *_ in some if kind == TargetKind.NOTE)
        blocks, notes = reads.find_blocks((owner, label) for label in labels), reads.find_notes(owner, ids)
        has_messages = is_last and state.newest_message > state.message_id
        messages = message_chunks(owner, after=state.message_id) if has_messages else []
        if some:
            reached, commit = some[-1][2:]
        newest_message = state.newest_message if is_last else state.message_id
        marks: dict[str, object] = {"change_id": reached, "message_id": newest_message, "commit": commit}
        if is_last:
            marks["writes_indexed"] = state.writes
        chunks = memory_chunks(blocks.values(), notes.values()) + messages
        has_vectors &= _write(owner, chunks, marks, {Source.MEMORY_BLOCK: [*labels], Source.USER_MEMORY: [*ids]})
        documents += len(labels) + len(ids) + len(messages)
    return Reindexed(documents, has_vectors)


_NEWS = prepared.Prepared(
    lambda owner, after, until: (
        Change.objects.filter(owner=owner, id__gt=after, id__lte=until)
        .order_by("id")
        .values_list("target_kind", "target", "id", "commit")
    ),
    owner=str,
    after=int,
    until=int,
)


def forget_messages(owner: str, session_id: str, message_ids: Collection[str]) -> None:
    """Remove the chunks of deleted messages of a session.

    Call it first in the transaction that deletes the messages.
    """
    # Until that transaction ends, no first index is created, which would find the messages (`index_state`). Taken
    # before the row of the index is locked.
    lock_owner(owner)
    if not SearchIndex.objects.filter(owner=owner).exists():
        return  # not searched yet; a row created here would look like an index that is up to date
    there = ChunkRow.objects.filter(owner=owner, source=Source.CONVERSATION, removed=False)
    with transaction.atomic():
        version = index_state.next_version(owner)
        there.filter(document_id=session_id, item_id__in=message_ids).update(version=version, **_EMPTIED)
        snapshots.remove(owner, version)


def _vectors_to_keep(owner: str, embedder: str | None) -> dict[str, bytes]:
    """Return vectors by what they were made of, where only the form of the index changed: a service may be paid."""
    if not embedders.are_vectors_of_today(embedder):
        return {}
    there = ChunkRow.objects.filter(owner=owner, removed=False).exclude(vector=b"")
    rows = there.values_list("text", "title", "section", "author", "vector")
    return {meaning(*parts): bytes(vector) for *parts, vector in rows.iterator()}


def _rebuild(owner: str, state: index_state.IndexState) -> Reindexed:
    chunks = memory_chunks(reads.blocks(owner), reads.notes(owner)) + message_chunks(owner, after=0)
    documents, has_vectors = len({(chunk.source, chunk.document_id, chunk.item_id) for chunk in chunks}), True
    commit = Change.objects.filter(id=state.newest_change).values_list("commit", flat=True).first() or ""
    marks = {"change_id": state.newest_change, "message_id": state.newest_message, "commit": commit}
    marks["writes_indexed"] = state.writes
    kept = _vectors_to_keep(owner, state.embedder)
    with transaction.atomic():
        version = index_state.next_version(owner)
        # From nothing: a run that is killed half-way must not look finished.
        SearchIndex.objects.filter(owner=owner).update(
            floor=version,
            embedder=embedders.configured_name(),
            change_id=0,
            message_id=0,
            commit="",
            writes_indexed=0,
        )
        ChunkRow.objects.filter(owner=owner).delete()
        PackedChunks.objects.filter(owner=owner).delete()
    for start in range(0, max(len(chunks), 1), PORTION):
        is_last = start + PORTION >= len(chunks)
        has_vectors &= _write(owner, chunks[start : start + PORTION], marks if is_last else {}, {}, kept)
    if len(chunks) > PORTION:
        log.info("reindexed", user_id=owner, documents=documents, has_vectors=has_vectors)
    return Reindexed(documents, has_vectors, is_anew=True)


def _write(
    owner: str,
    chunks: Sequence[TextChunk],
    marks: Mapping[str, object],
    replaced: Mapping[Source, Sequence[str]],
    kept: Mapping[str, bytes] | None = None,
) -> bool:
    """Add chunks in place of those that their documents had, and move the marks, in one transaction.

    Args:
        marks: what the chunks reflect after this, as fields of `SearchIndex`; none while more is to come.
        replaced: the documents that may have chunks already, the deleted ones too.
        kept: vectors to use again, by what they were made of.

    Returns:
        Whether the embedder answered.
    """
    vectors, has_vectors = vectors_of(chunks, embedders.configured(), kept)
    embedder = embedders.configured_name() if has_vectors else embedders.WORDS_ONLY
    with transaction.atomic():
        version, replaces = index_state.next_version(owner), False
        for source, ids in replaced.items():
            if ids:
                of_these = {"owner": owner, "source": source.value, "document_id": ids, "removed": False}
                replaces = prepared.update(ChunkRow, _EMPTIED | {"version": version}, where=of_these) or replaces
        if replaces:
            snapshots.remove(owner, version)
        gone = _deleted_since(owner, [chunk for chunk in chunks if chunk.source is Source.CONVERSATION])
        rows = [
            _row(owner, chunk, vector, version)
            for chunk, vector in zip(chunks, vectors, strict=True)
            if chunk.source is not Source.CONVERSATION or (chunk.document_id, chunk.item_id) not in gone
        ]
        if len(rows) == 1:  # a note is saved far more often than anything else
            prepared.insert(rows[0])
        else:
            ChunkRow.objects.bulk_create(rows, batch_size=PORTION)
        busy_until = clock.now() + index_state.LEASE
        moved = {**marks, "busy_until": busy_until, "embedder": embedder}
        prepared.update(SearchIndex, moved, where={"owner": owner})
        if version % KEPT_VERSIONS == 0:
            old = version - KEPT_VERSIONS
            ChunkRow.objects.filter(owner=owner, removed=True, version__lt=old).delete()
            SearchIndex.objects.filter(owner=owner, floor__lt=old).update(floor=old)
    if version % PACKED_VERSIONS == 0 or len(rows) >= PACKED_VERSIONS:
        snapshots.pack(owner)
    return has_vectors


def _deleted_since(owner: str, messages: Sequence[TextChunk]) -> set[tuple[str, str]]:
    """Return the messages among these that were deleted after they were read: (session, message id).

    Called with the row of the index locked, which a deletion locks too: a later deletion removes the chunks itself.
    """
    gone = {(chunk.document_id, chunk.item_id) for chunk in messages}
    sessions = sorted({session for session, _ in gone})
    for some in batched(sessions):
        there = Message.objects.filter(owner=owner, session_id__in=some)
        gone.difference_update(there.values_list("session_id", "message_id"))
    return gone


def vectors_of(
    chunks: Sequence[TextChunk], embedder: Embedder | None, kept: Mapping[str, bytes] | None = None
) -> tuple[list[bytes], bool]:
    """Return the stored vectors of chunks, empty ones without an embedder, and False where that did not answer."""
    if embedder is None or not chunks:
        return [b""] * len(chunks), True
    kept = kept or {}
    fresh = [chunk for chunk in chunks if chunk.meaning not in kept]
    try:
        made = iter(_embedded(embedder, fresh))
    except EmbedderUnavailable:
        return [b""] * len(chunks), False
    return [kept.get(chunk.meaning) or stored(next(made)) for chunk in chunks], True


def _embedded(embedder: Embedder, chunks: Sequence[TextChunk]) -> list[Vector]:
    vectors: list[Vector] = []
    for some in batched(chunks, PORTION):
        deadlines.require()
        vectors += list(embedder.embed([chunk.meaning for chunk in some]))
    return vectors


def _row(owner: str, chunk: TextChunk, vector: bytes, version: int) -> ChunkRow:
    stored_fields = row_of(0, chunk, vector)._asdict() | {"tags": list(chunk.tags)}
    del stored_fields["chunk_id"]
    return ChunkRow(owner=owner, version=version, title=chunk.title, section=chunk.section, **stored_fields)


# -- enqueueing -----------------------------------------------------------------------------------


def enqueue_reindex(owner: str) -> None:
    """Enqueue the reindexing of an owner's chunks from the memory and the conversations."""
    _changed.add(owner)


def settle() -> None:
    """Wait until everything enqueued in this process is done."""
    _changed.settle()


def in_background(owner: str) -> threading.Thread:
    """Reindex in a thread of its own, which continues after the deadline of the call that started it.

    Within the call, a rebuild that takes longer would be cut short each time and start from nothing each time.
    """
    return background.soon(f"reindex {owner}", partial(reindex, owner))


def _bring_up(owners: list[str]) -> None:
    for owner in dict.fromkeys(owners):
        if not _is_brought_up_here(owner):
            # Without a worker the next search finds that the index is behind.
            enqueue("memory_app.reindex", owner, otherwise=lambda: None)


def _is_brought_up_here(owner: str) -> bool:
    """Bring up an index that lacks little, in the process that made the change; return whether it is done.

    A message to a worker takes 2 ms of a processor here and 30 there, as much as indexing some notes.
    """
    try:
        # An owner never searched gets an index with the first search, or by a worker. So does a change so large that
        # everything is indexed again: the process that writes it needs its processor for other work.
        if not SearchIndex.objects.filter(owner=owner).exists():
            return False
        reindex(owner, unless_many=True)
        return not index_state.is_behind(owner)
    except Exception:
        # The index is derived data: its failure must not break the change it follows.
        log.exception("reindex_failed", user_id=owner)
        return False


_changed = background.Gatherer("reindex", _bring_up)
