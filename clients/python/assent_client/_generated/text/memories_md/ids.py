"""Ids of memories: `mem-{unix seconds}-{4 hex digits}`, and the `note-{uuid}` of notes made elsewhere."""

from __future__ import annotations

import secrets
import time
import uuid

from assent_client._generated.text import notes

#: For sentences that say what an id is; the export writes ids of this kind and of the other.
EXAMPLE = "note-0b5f6f0e-58a4-4a52-9a3e-6c1d3a0f9f10 or mem-1737372000-a1b2"

_OF_CONTENT = uuid.UUID("6f5f7f0a-6f0e-5d3c-9a52-2f6d5d0f4c11")


def is_id(text: str) -> bool:
    """Whether `text` is an id a note may have."""
    return notes.ID.fullmatch(text) is not None


def id_of(content: str) -> str:
    """Return the id of a memory that came without one: the same for the same content."""
    return f"note-{uuid.uuid5(_OF_CONTENT, content)}"


def new_id() -> str:
    """Return an id for a memory stored now.

    65,536 of them share a second, so the caller makes another one should it be taken. Hex digits, as the format
    has it; its first examples, and so existing files, go to z, which is read too.
    """
    return f"mem-{int(time.time())}-{secrets.token_hex(2)}"
