"""Reading the memory: now, as of a commit or a time, and its history from the ledger.

Frozen dataclasses come out, never model instances: those could be saved on another branch than the
one they were read from. Nothing here writes.
"""

# Named here for readers in other apps, who may not import the engine package.
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown, RevisionNotFound
from memory_app.reads.blame import BlockBlame, blame_of_block
from memory_app.reads.blocks import (
    BLOCKS,
    Block,
    BlockNotFound,
    Snapshot,
    block,
    block_at,
    blocks,
    blocks_at,
    find_block,
    find_blocks,
    made_at_of_blocks,
    row_sha256,
    snapshot,
    title_of,
)
from memory_app.reads.catalogue import NoteListCache, NoteSummary, catalogue
from memory_app.reads.history import changes_of, commit_at_time, head, history, last_changes, parent, resolve_revision
from memory_app.reads.notes import (
    NOTES,
    Note,
    NoteNotFound,
    closes_circle,
    find_note,
    find_notes,
    made_at_of_notes,
    memories,
    note,
    note_at,
    note_sha256,
    note_sha256s,
    notes,
    notes_at,
    replacements,
)
from memory_app.reads.portable import portable_file, portable_ids
from memory_app.reads.surviving import surviving_block_at, surviving_blocks_at, surviving_note_at, surviving_notes_at

__all__ = [
    "BLOCKS",
    "NOTES",
    "Block",
    "BlockBlame",
    "BlockNotFound",
    "EngineUnavailable",
    "Note",
    "NoteListCache",
    "NoteNotFound",
    "NoteSummary",
    "OutcomeUnknown",
    "RevisionNotFound",
    "Snapshot",
    "blame_of_block",
    "block",
    "block_at",
    "blocks",
    "blocks_at",
    "catalogue",
    "changes_of",
    "closes_circle",
    "commit_at_time",
    "find_block",
    "find_blocks",
    "find_note",
    "find_notes",
    "head",
    "history",
    "last_changes",
    "made_at_of_blocks",
    "made_at_of_notes",
    "memories",
    "note",
    "note_at",
    "note_sha256",
    "note_sha256s",
    "notes",
    "notes_at",
    "parent",
    "portable_file",
    "portable_ids",
    "replacements",
    "resolve_revision",
    "row_sha256",
    "snapshot",
    "surviving_block_at",
    "surviving_blocks_at",
    "surviving_note_at",
    "surviving_notes_at",
    "title_of",
]
