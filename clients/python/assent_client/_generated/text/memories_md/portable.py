"""memories.md for readers that know only the format's first four sections and its `mem-` ids.

Such a reader takes `## Patterns`, `## Decisions`, `## Fixes` and `## Context`, and ids `mem-{digits}-{4 hex digits}`.
It skips a memory under another id and joins its text to the one before. So the other types go into one of the four
sections, and the other ids are replaced by ids derived from them, the same each time. A line at the top says
that a file is of this form: importing it finds each memory again by its replaced id, and leaves its type as it is.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time

from assent_client._generated.text.memories_md.memory import Memory
from assent_client._generated.text.memories_md.writing import write

#: Which of the four sections the other types go into.
SECTION_OF: Mapping[str, str] = {
    "convention": "pattern",
    "lesson_learned": "fix",
    **dict.fromkeys(("note", "fact", "assumption", "hypothesis", "discovery", "risk", "unknown"), "context"),
}

MARK = "<!-- portable: other types are in these four sections, other ids are replaced; importing changes no type -->"

#: What a person or agent who exports one is told.
PORTABLE_EXPLAINED = (
    "Four sections only: conventions are under Patterns, lessons learned under Fixes, notes, facts, assumptions, "
    "hypotheses, discoveries, risks and unknowns under Context. Ids that are not mem-{digits}-{4 hex digits} are "
    "replaced by such ones, the same each time; importing the file finds their memories again and doubles none. "
    "Readers of this form leave out the empty lines of a memory."
)

_ID = re.compile(r"mem-[0-9]+-[0-9a-f]{4}")
_DAY = 24 * 60 * 60


def section_of(type: str) -> str:
    """Return the type whose section a memory of this type goes into."""
    return SECTION_OF.get(type, type)


def is_portable_id(id: str) -> bool:
    return _ID.fullmatch(id) is not None


def replaced_ids(known: Iterable[tuple[str, date]]) -> dict[str, str]:
    """Return the id in a portable file for each of an owner's notes whose own id is not valid there.

    Args:
        known: id and day of all the owner's notes, outdated ones too, so that no two get the same.
    """
    notes = sorted(known)
    taken = {id for id, _ in notes if is_portable_id(id)}
    replaced: dict[str, str] = {}
    for id, day in notes:
        if not is_portable_id(id):
            replaced[id] = _unused(id, day, taken)
            taken.add(replaced[id])
    return replaced


def _unused(id: str, day: date, taken: set[str]) -> str:
    """Return an id from the hash of another: a second of the day and four digits. It is one of 5,662,310,400."""
    midnight = int(datetime.combine(day, time(), tzinfo=UTC).timestamp())
    attempt = 0
    while True:
        digits = hashlib.sha256(f"{id} {attempt}".encode()).hexdigest()
        made = f"mem-{max(0, midnight) + int(digits[:8], 16) % _DAY}-{digits[8:12]}"
        if made not in taken:
            return made
        attempt += 1


def write_portable(memories: Iterable[Memory], ids: Mapping[str, str]) -> str:
    """Return the file, in the four sections.

    Args:
        ids: as `replaced_ids` gives them.

    Raises Unwritable, as `write` does.
    """
    written = write(replace(each, id=ids.get(each.id, each.id), type=section_of(each.type)) for each in memories)
    head, _, rest = written.partition("\n")
    return f"{head}\n\n{MARK}\n{rest}"
