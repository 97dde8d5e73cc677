"""What a note may say: its types, its limits, its ids. Pure values, no database."""

from __future__ import annotations

import re
import uuid

#: In the order agents are told them.
TYPES = tuple(
    "note fact assumption hypothesis discovery risk unknown decision convention "
    "lesson_learned pattern fix context".split()
)

#: Characters a note may have.
MAX_CONTENT = 2_000

#: Characters a tag may have.
MAX_TAG = 64

#: Ids we make, and those of memories.md, which are kept as they are.
ID = re.compile(r"note-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|mem-[0-9]{1,20}-[0-9a-z]{4}")


def new_id() -> str:
    return f"note-{uuid.uuid4()}"


def clamped(value: float) -> float:
    """Return a confidence or importance within 0 and 1: a value outside becomes the nearer end."""
    return min(1.0, max(0.0, value))
