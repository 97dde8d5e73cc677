"""What of the past still exists today: all that a reader without the right to deleted texts may see.

A block or note survives when one of that name, created at the same moment, exists now. A block that was deleted and
created again under its label is another, and the text of the first stays hidden. So does what a note said before an
import gave it another date.

The present is read after the past, so that what is deleted in between is left out.
"""

from __future__ import annotations

from memory_app.dolt.connections import dolt
from memory_app.reads.blocks import Block, BlockNotFound, block_at, blocks, blocks_at, find_block
from memory_app.reads.notes import NOTES, Note, NoteNotFound, find_note, note_at, notes_at
from memory_app.reads.values import aware


def surviving_block_at(owner: str, label: str, revision: str) -> Block:
    """Return one block at a revision. Raises BlockNotFound, also when it was deleted since; RevisionNotFound."""
    then = block_at(owner, label, revision)
    now = find_block(owner, label)
    if now is None or now.created_at != then.created_at:
        raise BlockNotFound(owner, label)
    return then


def surviving_note_at(owner: str, id_: str, revision: str) -> Note:
    """Return one note at a revision. Raises NoteNotFound, also when it was deleted since; RevisionNotFound."""
    then = note_at(owner, id_, revision)
    now = find_note(owner, id_)
    if now is None or now.created_at != then.created_at:
        raise NoteNotFound(id_)
    return then


def surviving_blocks_at(owner: str, revision: str) -> tuple[Block, ...]:
    """Return the blocks of an owner at a revision that still exist today. Raises RevisionNotFound."""
    then = blocks_at(owner, revision)
    today = {(block.label, block.created_at) for block in blocks(owner)}
    return tuple(block for block in then if (block.label, block.created_at) in today)


def surviving_notes_at(owner: str, revision: str) -> tuple[Note, ...]:
    """Return the notes of an owner at a revision that still exist today, newest first. Raises RevisionNotFound."""
    then = notes_at(owner, revision)
    rows = dolt().rows(NOTES, None, {"owner": owner}, columns=("note_id", "created_at"))
    today = {(row["note_id"], aware(row["created_at"])) for row in rows}
    return tuple(note for note in then if (note.id, note.created_at) in today)
