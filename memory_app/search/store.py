"""The table of chunks: bringing it up to the memory, by following the ledger.

Belongs here: what a change of the memory does to an owner's chunks. Idempotent and coalescing: each run
takes all the ledger has since the last one, so a lost, repeated or killed task loses nothing.
Not here: ranking (`index`), the arrays (`cache`) and answers (`service`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F, OuterRef, Q, Subquery, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory_app import reads
from memory_app.models import Change, Message, SearchIndex, TargetKind
from memory_app.models import Chunk as ChunkRow
from memory_app.runtime import deadlines
from memory_app.search import embedders
from memory_app.search.ranking import chunking
from memory_app.search.ranking.chunking import (
    Source,
    TextChunk,
    chunks_of_block,
    chunks_of_conversation,
    chunks_of_note,
    row_of,
)
from memory_app.search.ranking.dense import Embedder, EmbedderUnavailable, Vector, stored
from memory_app.writing.ledger_lock import lock_owner

log = structlog.get_logger(__name__)

#: Documents written in one transaction: SQLite has one writer, and others wait for it.
PORTION = 500
#: More changes than this are left by whoever may not be held up by them: 2,000 are indexed in a second.
MANY = 300
#: Removed chunks are kept for this many versions, for processes that hold older arrays.
KEPT_VERSIONS = 200

#: How long a process that writes chunks may take for one portion of them.
LEASE = timedelta(seconds=60)
#: How often a run looks for what came in while it ran.
MOST_ROUNDS = 5

#: What is left of a removed chunk: its number, which tells processes that hold the arrays. The words go at once, and
#: with them whose they were, when they were said, and every id and tag, which agents make up.
_EMPTIED: dict[str, Any] = {
    "removed": True,
    "document_id": "",
    "item_id": "",
    "text": "",
    "title": "",
    "section": "",
    "type": "",
    "tags": [],
    "category": "",
    "author": "",
    "at": None,
    "session_id": "",
    "terms": "",
    "vector": b"",
}

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Reindexed:
    """What a run did: documents written, and whether the embedder answered."""

    documents: int
    has_vectors: bool


@dataclass(frozen=True)
class _Document:
    source: Source
    id: str
    chunks: tuple[TextChunk, ...]


@dataclass(frozen=True)
class IndexState:
    """What an owner's chunks reflect, and what there is to reflect.

    Args:
        commit: of main, that the chunks reflect.
        version, floor: of the chunks; see `cache`.
        newest_commit: of main, that the ledger knows, whosever memory it changed.
    """

    embedder: str
    change_id: int
    message_id: int
    commit: str
    version: int
    floor: int
    newest_change: int
    newest_message: int
    newest_commit: str

    @property
    def is_behind(self) -> bool:
        return (
            embedders.is_to_replace(self.embedder)
            or self.change_id < self.newest_change
            or self.message_id < self.newest_message
        )


def state_of(owner: str) -> IndexState | None:
    """In one query, since every search and save asks; None for an owner without an index."""
    with connection.cursor() as cursor:  # building this query with the ORM takes 1 ms, as long as saving a row
        cursor.execute(_STATE, [owner, owner, owner])
        values = cursor.fetchone()
    return IndexState(*values) if values else None


_CHANGES = Change._meta.db_table
_STATE = f"""
    SELECT embedder, change_id, message_id, "commit", version, floor,
        (SELECT COALESCE(MAX(id), 0) FROM {_CHANGES} WHERE owner = %s),
        (SELECT COALESCE(MAX(id), 0) FROM {Message._meta.db_table} WHERE owner = %s),
        COALESCE((SELECT "commit" FROM {_CHANGES} WHERE id = (SELECT MAX(id) FROM {_CHANGES})), '')
    FROM {SearchIndex._meta.db_table} WHERE owner = %s
"""  # noqa: S608 (names of our own tables)


def is_behind(owner: str) -> bool:
    """Whether the memory or the conversations have changed since the owner's chunks were brought up to them."""
    state = state_of(owner)
    if state is None:
        return Change.objects.filter(owner=owner).exists() or Message.objects.filter(owner=owner).exists()
    return state.is_behind


def owners_behind() -> list[str]:
    """Owners whose index is behind; for `/readyz` and the beat. One nobody has searched yet has no index."""
    # Asked owner by owner, at the end of an index: grouping them meant reading the index of the whole ledger.
    states = SearchIndex.objects.annotate(newest_change=_newest(Change), newest_message=_newest(Message))
    return sorted(
        state.owner
        for state in states
        if embedders.is_to_replace(state.embedder)
        or state.change_id < state.newest_change
        or state.message_id < state.newest_message
    )


def _newest(model: type[Change] | type[Message]) -> Coalesce:
    """The highest id of a model's rows about the owner of an index."""
    rows = model._default_manager.filter(owner=OuterRef("owner")).order_by("-id").values("id")
    return Coalesce(Subquery(rows[:1]), 0)


def reindex(
    owner: str, *, whole: bool = False, unless_many: bool = False, progress: Progress | None = None
) -> Reindexed:
    """Bring an owner's chunks up to the memory and the conversations.

    Args:
        whole: make all of them anew, whatever the ledger says.
        unless_many: do nothing, and take no lease, where `_is_much`: ten thousand notes take 4 s.
        progress: called with (documents done, documents in all) during a rebuild.

    Raises:
        EngineUnavailable: the memory could not be read; the next run takes it up.
    """
    done = Reindexed(0, has_vectors=True)
    for _ in range(MOST_ROUNDS):
        # Checked before taking the lease: a search that finds the lease taken makes no index, so a run that took it
        # and then left the work made that search answer nothing.
        if unless_many and _is_much(owner):
            break
        if not _take(owner):
            break  # the process that has the lease looks once more after it gives it back
        try:
            state = state_of(owner)
            if state is not None and (whole or state.is_behind):
                anew = whole or embedders.is_to_replace(state.embedder)
                more = _rebuild(owner, state, progress) if anew else _follow(owner, state)
                done = Reindexed(done.documents + more.documents, done.has_vectors and more.has_vectors)
                whole, progress = False, None
        finally:
            _give_back(owner)
        # Look after giving the lease back: a writer that finds it taken leaves its change to this run. When the run
        # looked before, a change of the moment in between waited for the next search or the beat.
        if not is_behind(owner):
            break
    return done


def _is_much(owner: str) -> bool:
    """Whether all of the owner's chunks have to be made anew, or the chunks of more than `MANY` changes."""
    state = state_of(owner)
    is_anew = state is None or embedders.is_to_replace(state.embedder)
    return is_anew or how_far_behind(owner, most=MANY + 1) > MANY


def _give_back(owner: str) -> None:
    """End the lease, also when the time for the call is up."""
    deadlines.extend()
    try:
        SearchIndex.objects.filter(owner=owner).update(busy_until=None)
    except DatabaseError:  # the lease runs out by itself
        log.exception("index_lease_kept", user_id=owner)


def is_busy(owner: str) -> bool:
    """Whether a process is writing the owner's chunks this moment."""
    return SearchIndex.objects.filter(owner=owner, busy_until__gt=timezone.now()).exists()


def _take(owner: str) -> bool:
    """Be the one process that writes this owner's chunks, for as long as the lease lasts."""
    now = timezone.now()
    free = Q(busy_until=None) | Q(busy_until__lte=now)
    for _ in range(2):
        if SearchIndex.objects.filter(free, owner=owner).update(busy_until=now + LEASE):
            return True
        # Made by another this moment, it is nobody's yet: a search that took it for busy did not wait for it.
        _make_row(owner)
    return False


def _make_row(owner: str) -> None:
    """Make the owner's `SearchIndex`, unless it is there.

    Not before a deletion under way that found none, and so leaves the chunks alone, has ended (`forget_messages`): on
    PostgreSQL the first index beside it took up the message that was being deleted, and kept it findable.
    """
    if not SearchIndex.objects.filter(owner=owner).exists():
        with transaction.atomic():
            lock_owner(owner)
            SearchIndex.objects.get_or_create(owner=owner)


def how_far_behind(owner: str, *, most: int) -> int:
    """How many changes of the memory the chunks do not reflect; at most `most` are counted."""
    known = SearchIndex.objects.filter(owner=owner).values_list("change_id", flat=True).first() or 0
    return len(Change.objects.filter(owner=owner, id__gt=known).order_by("id").values_list("id")[:most])


def _follow(owner: str, state: IndexState) -> Reindexed:
    """Bring the chunks up to `state`, some changes at a time. The mark moves with each portion, so that a run cut
    short is gone on with; making all chunks anew instead took 5 s for an import of 300 notes into 20,000."""
    documents, has_vectors, reached = 0, True, state.change_id
    while True:
        news = Change.objects.filter(owner=owner, id__gt=reached, id__lte=state.newest_change).order_by("id")
        some = list(news.values_list("id", "target_kind", "target")[:PORTION])
        is_last = len(some) < PORTION
        reached = state.newest_change if is_last else some[-1][0]
        labels = dict.fromkeys(target for _, kind, target in some if kind == TargetKind.BLOCK)
        ids = dict.fromkeys(target for _, kind, target in some if kind == TargetKind.NOTE)
        changed = [*_blocks(owner, [*labels]), *_notes(owner, [*ids])]
        said = _messages(owner, after=state.message_id) if is_last and state.newest_message > state.message_id else []
        newest_message = state.newest_message if is_last else state.message_id
        reflects = replace(state, newest_change=reached, newest_message=newest_message)
        has_vectors &= _write(owner, changed, said, reflects=reflects)
        documents += len(changed) + len(said)
        if is_last:
            return Reindexed(documents, has_vectors)


def forget_messages(owner: str, session_id: str | None = None, message_ids: Iterable[str] | None = None) -> None:
    """Remove the chunks of deleted messages: of all, of one session, or of some of its messages.

    Call it first in the transaction that deletes the messages.
    """
    # Until that transaction ends, no first index is begun, which would find them (`_make_row`). Always taken before the
    # row of the index is locked.
    lock_owner(owner)
    if not SearchIndex.objects.filter(owner=owner).exists():
        return  # nobody has searched yet; a row made here would pass for an index that is up to date
    gone = ChunkRow.objects.filter(owner=owner, source=Source.CONVERSATION, removed=False)
    if session_id is not None:
        gone = gone.filter(document_id=session_id)
    if message_ids is not None:
        gone = gone.filter(item_id__in=list(message_ids))
    with transaction.atomic():
        version = _next_version(owner)
        gone.update(version=version, **_EMPTIED)


def _rebuild(owner: str, state: IndexState, progress: Progress | None) -> Reindexed:
    documents: list[_Document] = [*_blocks(owner, None), *_notes(owner, None)]
    said = _messages(owner, after=0)
    total, has_vectors = len(documents) + len(said), True
    with transaction.atomic():
        version = _next_version(owner)
        # From nothing: a run that is killed half-way must not look finished.
        SearchIndex.objects.filter(owner=owner).update(
            floor=version, embedder=embedders.configured_name(), change_id=0, message_id=0, commit=""
        )
        ChunkRow.objects.filter(owner=owner).delete()
    for start in range(0, max(len(documents), 1), PORTION):
        part = documents[start : start + PORTION]
        is_last = start + PORTION >= len(documents)
        has_vectors &= _write(owner, part, said if is_last else [], reflects=state if is_last else None, is_new=True)
        if progress:
            progress(total if is_last else start + len(part), total)
    if total > PORTION:
        log.info("reindexed", user_id=owner, documents=total, has_vectors=has_vectors)
    return Reindexed(total, has_vectors)


def _write(
    owner: str,
    documents: Sequence[_Document],
    said: Sequence[TextChunk],
    *,
    reflects: IndexState | None,
    is_new: bool = False,
) -> bool:
    """Replace the chunks of documents, add those of messages, and move the marks, in one transaction.

    Args:
        reflects: what the chunks reflect after this; None while more is to come.
        is_new: there are no chunks of these documents yet.

    Returns:
        Whether the embedder answered.
    """
    chunks = [chunk for document in documents for chunk in document.chunks] + list(said)
    vectors, has_vectors = _vectors(chunks)
    moved: dict[str, object] = {
        "busy_until": timezone.now() + LEASE,
        "embedder": embedders.configured_name() if has_vectors else embedders.WORDS_ONLY,
    }
    if reflects is not None:
        newest = Change.objects.filter(id=reflects.newest_change).values("commit")
        moved |= {
            "change_id": reflects.newest_change,
            "message_id": reflects.newest_message,
            "commit": Coalesce(Subquery(newest), Value("")),
        }
    with transaction.atomic():
        version = _next_version(owner)
        if not is_new:
            for source in {document.source for document in documents}:
                ids = [document.id for document in documents if document.source is source]
                ChunkRow.objects.filter(owner=owner, source=source, document_id__in=ids, removed=False).update(
                    version=version, **_EMPTIED
                )
        gone = _deleted_since(owner, said)
        rows = [
            _row(owner, chunk, vector, version)
            for chunk, vector in zip(chunks, vectors, strict=True)
            if chunk.source is not Source.CONVERSATION or (chunk.document_id, chunk.item_id) not in gone
        ]
        ChunkRow.objects.bulk_create(rows, batch_size=PORTION)
        SearchIndex.objects.filter(owner=owner).update(**moved)
        if version % KEPT_VERSIONS == 0:
            old = version - KEPT_VERSIONS
            ChunkRow.objects.filter(owner=owner, removed=True, version__lt=old).delete()
            SearchIndex.objects.filter(owner=owner, floor__lt=old).update(floor=old)
    return has_vectors


def _deleted_since(owner: str, said: Sequence[TextChunk]) -> set[tuple[str, str]]:
    """The messages among these that somebody deleted after they were read: (session, message id).

    Asked while the version is held, which deleting takes too: whoever deletes later removes the chunks himself.
    """
    gone = {(chunk.document_id, chunk.item_id) for chunk in said}
    sessions = sorted({session for session, _ in gone})
    for start in range(0, len(sessions), PORTION):
        there = Message.objects.filter(owner=owner, session_id__in=sessions[start : start + PORTION])
        gone.difference_update(there.values_list("session_id", "message_id"))
    return gone


def _next_version(owner: str) -> int:
    """Take the owner's index for this transaction: the row stays locked until it ends."""
    if not SearchIndex.objects.filter(owner=owner).update(version=F("version") + 1):
        _make_row(owner)
        SearchIndex.objects.filter(owner=owner).update(version=F("version") + 1)
    return SearchIndex.objects.values_list("version", flat=True).get(owner=owner)


def _vectors(chunks: Sequence[TextChunk]) -> tuple[list[bytes], bool]:
    embedder = embedders.configured()
    if embedder is None or not chunks:
        return [b""] * len(chunks), True
    try:
        return [stored(vector) for vector in _embedded(embedder, chunks)], True
    except EmbedderUnavailable:
        return [b""] * len(chunks), False


def _embedded(embedder: Embedder, chunks: Sequence[TextChunk]) -> list[Vector]:
    vectors: list[Vector] = []
    for start in range(0, len(chunks), PORTION):
        deadlines.require()
        vectors += list(embedder.embed([chunk.meaning for chunk in chunks[start : start + PORTION]]))
    return vectors


def _row(owner: str, chunk: TextChunk, vector: bytes, version: int) -> ChunkRow:
    indexed = row_of(0, chunk, vector)
    return ChunkRow(
        owner=owner,
        source=indexed.source,
        document_id=chunk.document_id,
        item_id=chunk.item_id,
        order=chunk.order,
        text=chunk.text,
        title=chunk.title,
        section=chunk.section,
        type=chunk.type,
        tags=list(chunk.tags),
        category=chunk.category,
        author=chunk.author,
        at=chunk.at,
        session_id=chunk.session_id,
        superseded=chunk.superseded,
        terms=indexed.terms,
        marks=indexed.marks,
        vector=vector,
        version=version,
    )


# -- documents ------------------------------------------------------------------------------------


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


def _blocks(owner: str, labels: Sequence[str] | None) -> list[_Document]:
    if labels is None:
        return [_Document(Source.MEMORY_BLOCK, block.label, block_chunks(block)) for block in reads.blocks(owner)]
    found = {label: reads.find_block(owner, label) for label in labels}
    return [
        _Document(Source.MEMORY_BLOCK, label, block_chunks(block) if block else ()) for label, block in found.items()
    ]


def _notes(owner: str, ids: Sequence[str] | None) -> list[_Document]:
    if ids is None:
        return [_Document(Source.USER_MEMORY, note.id, note_chunks(note)) for note in reads.notes(owner)]
    found = reads.find_notes(owner, ids)
    return [_Document(Source.USER_MEMORY, id_, note_chunks(found[id_]) if id_ in found else ()) for id_ in ids]


def _messages(owner: str, *, after: int) -> list[TextChunk]:
    sessions: dict[str, list[chunking.ConversationMessage]] = {}
    for message in Message.objects.filter(owner=owner, id__gt=after).order_by("id"):
        sessions.setdefault(message.session_id, []).append(
            chunking.ConversationMessage(
                id=message.message_id,
                content=message.content,
                sequence=message.pk,
                author=message.author or message.role,
                at=message.at,
            )
        )
    return [chunk for session, said in sessions.items() for chunk in chunks_of_conversation(session, said)]
