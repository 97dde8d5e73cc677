"""An owner's notes as a memories.md that has only the four sections and the ids that other programs know."""

from __future__ import annotations

from assent_client.text import memories_md
from memory_app.reads.catalogue import catalogue
from memory_app.reads.notes import memories


def portable_file(owner: str) -> str:
    """Return an owner's notes that are not outdated, as a portable memories.md (`memories_md.write_portable`)."""
    return memories_md.write_portable(memories(owner), portable_ids(owner))


def portable_ids(owner: str) -> dict[str, str]:
    """Return the ids that a portable memories.md has for the owner's notes, where they are not the notes' own."""
    return memories_md.replaced_ids((each.id, each.created_at.date()) for each in catalogue(owner).entries)
