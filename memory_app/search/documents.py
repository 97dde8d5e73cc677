"""What is indexed of an owner: blocks and notes of the memory, messages of conversations, as chunks.

Belongs here: reading them and cutting them into chunks. Not here: writing the chunks (`store`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory_app import reads
from memory_app.models import Message
from memory_app.search.ranking.chunking import (
    ConversationMessage,
    Source,
    TextChunk,
    chunks_of_block,
    chunks_of_conversation,
    chunks_of_note,
)


@dataclass(frozen=True)
class Document:
    """A block or a note with its chunks; without chunks where it was deleted."""

    source: Source
    id: str
    chunks: tuple[TextChunk, ...]


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


def block_documents(owner: str, labels: Sequence[str] | None) -> list[Document]:
    """Return blocks of an owner; without `labels` all of them."""
    if labels is None:
        return [Document(Source.MEMORY_BLOCK, block.label, block_chunks(block)) for block in reads.blocks(owner)]
    found = {label: reads.find_block(owner, label) for label in labels}
    return [
        Document(Source.MEMORY_BLOCK, label, block_chunks(block) if block else ()) for label, block in found.items()
    ]


def note_documents(owner: str, ids: Sequence[str] | None) -> list[Document]:
    """Return notes of an owner; without `ids` all of them."""
    if ids is None:
        return [Document(Source.USER_MEMORY, note.id, note_chunks(note)) for note in reads.notes(owner)]
    found = reads.find_notes(owner, ids)
    return [Document(Source.USER_MEMORY, id_, note_chunks(found[id_]) if id_ in found else ()) for id_ in ids]


def message_chunks(owner: str, *, after: int) -> list[TextChunk]:
    """Return the chunks of the owner's messages after the one with this key."""
    sessions: dict[str, list[ConversationMessage]] = {}
    for message in Message.objects.filter(owner=owner, id__gt=after).order_by("id"):
        sessions.setdefault(message.session_id, []).append(
            ConversationMessage(
                id=message.message_id,
                content=message.content,
                sequence=message.pk,
                author=message.author or message.role,
                at=message.at,
            )
        )
    return [chunk for session, said in sessions.items() for chunk in chunks_of_conversation(session, said)]
