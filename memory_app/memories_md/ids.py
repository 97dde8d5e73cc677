"""Ids of memories: `mem-{unix seconds}-{4 hex digits}`, and the `note-{uuid}` of notes made elsewhere."""

from __future__ import annotations

import secrets
import time

from memory_app import notes


def is_id(text: str) -> bool:
    """Whether `text` is an id a note may have."""
    return notes.ID.fullmatch(text) is not None


def new_id() -> str:
    """An id for a memory stored now.

    65,536 of them share a second, so the caller makes another one should it be taken. Hex digits, as the
    format's plan says; its own examples (and so files out there) go to z, which is read too.
    """
    return f"mem-{int(time.time())}-{secrets.token_hex(2)}"
