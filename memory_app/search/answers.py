"""What a search answers, and reading the chunks that its hits show.

Belongs here: the values that pages and tools get. Not here: which chunks are found (`service`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import starmap
from typing import Any, NamedTuple

from django.db.models import QuerySet

from memory_app.databases.prepared import Prepared
from memory_app.models import Chunk as ChunkRow
from memory_app.search.ranking.chunking import TextChunk
from memory_app.search.ranking.index import ChunkHit
from memory_app.text.first_words import first_words


@dataclass(frozen=True)
class SearchHit:
    """A hit. `score` is from 0 to 1; exactly one of note_id, block_label, message_id is set.

    Args:
        text: the chunk: a note, a message, or a section of a block.
        title: the block's title (with its section), or the note's or message's first words.
        words: the words of the query it contains, for marking them.
        weak: it does not match; it is one of the nearest notes.
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
        is_broad: the query narrows nothing down: the weak hits are in the order of `context_budget`.
        index_behind: the memory has changes that the index does not have.
        words_only: the embedder did not answer; meaning was left out.
        commit: the commit of main the index reflects.
        newest_commit: the newest one in the ledger when the search began; empty for a search of the past.
    """

    results: tuple[SearchHit, ...]
    is_broad: bool = False
    index_behind: bool = False
    words_only: bool = False
    commit: str = ""
    newest_commit: str = ""


@dataclass(frozen=True)
class NoteRanking:
    """Ids of notes, best first.

    Args:
        is_all: no more notes match, even with a larger `top_k`.
        index_behind: as in `SearchAnswer`.
    """

    note_ids: tuple[str, ...]
    is_all: bool
    index_behind: bool = False


#: Up to so many rows are read by a prepared statement; its spare parameters repeat the first id.
_READY = (5, 20)


class ShownChunk(NamedTuple):
    """What a hit shows of its chunk. Terms and vector are not read: they are longer than the text."""

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
        lambda **ids: _statement(list(ids.values())),
        **{f"id{number}": int for number in range(count)},
    )


def _statement(ids: Sequence[int]) -> QuerySet[ChunkRow, tuple[Any, ...]]:
    # By primary key alone: with the owner in the condition too, SQLite scans all of that owner's chunks.
    return ChunkRow.objects.filter(pk__in=ids).order_by().values_list(*ShownChunk._fields)


_BY_IDS = {count: _by_ids(count) for count in _READY}


def shown_chunks(owner: str, ids: Sequence[int]) -> dict[int, ShownChunk]:
    """Return the owner's chunks with these ids, without those removed since."""
    count = next((count for count in _READY if len(ids) <= count), None)
    if not ids or count is None:
        found = list(_statement(ids)) if ids else []
    else:
        padded = [*ids, *[ids[0]] * (count - len(ids))]
        found = _BY_IDS[count].all(**{f"id{number}": id_ for number, id_ in enumerate(padded)})
    return {row.id: row for row in starmap(ShownChunk, found) if row.owner == owner and not row.removed}


def hit_of(chunk: ShownChunk | TextChunk, found: ChunkHit) -> SearchHit:
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
        words=found.reasons.words,
        weak=found.weak,
    )
