"""One memory, and the sections a file has for them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date

#: Type → heading of its section, in the order of the file.
SECTIONS = {
    "pattern": "Patterns",
    "decision": "Decisions",
    "fix": "Fixes",
    "context": "Context",
    "note": "Notes",
    "fact": "Facts",
    "assumption": "Assumptions",
    "hypothesis": "Hypotheses",
    "discovery": "Discoveries",
    "risk": "Risks",
    "unknown": "Unknowns",
    "convention": "Conventions",
    "lesson_learned": "Lessons Learned",
}
TYPES = tuple(SECTIONS)


@dataclass(frozen=True, slots=True)
class Memory:
    """What the format carries of a note.

    Attributes:
        type: a key of `SECTIONS`.
        created: the day (UTC) it was stored; None when the file does not say. A known note then keeps its day, and a
            new one gets today's.
    """

    id: str
    type: str
    content: str
    tags: tuple[str, ...] = ()
    created: date | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something in a file that was left out.

    Attributes:
        line: the line on which it begins, from 1.
        reason: why, for people, without a full stop.
    """

    line: int
    reason: str


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a file holds, in its order.

    Attributes:
        is_portable: it has only the four sections other programs know, and says so (`portable`): they tell no type.
    """

    memories: tuple[Memory, ...]
    skipped: tuple[Skipped, ...]
    is_portable: bool = False


def sorted_for_file(memories: Iterable[Memory]) -> list[Memory]:
    """Return memories in the order of a file: by section, then date, then id. Those without a date come first."""
    rank = {name: place for place, name in enumerate(TYPES)}
    return sorted(memories, key=lambda memory: (rank[memory.type], memory.created or date.min, memory.id))
