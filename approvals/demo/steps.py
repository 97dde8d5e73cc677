"""The kinds of steps the demo's story is made of; plain data, no database.

Each step says how long before the first run of the demo it happened. `load` plays them in order.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from approvals.models import Confidence, Kind, RejectReason
from memory_app.text.edits import Edit


def ago(days: float = 0, *, hours: float = 0, minutes: float = 0) -> timedelta:
    return timedelta(days=days, hours=hours, minutes=minutes)


@dataclass(frozen=True)
class Turn:
    """A turn of a conversation given as evidence, so many minutes before the proposal."""

    role: str
    content: str
    before: float


@dataclass(frozen=True)
class Created:
    """A person made the block of that file. The study log begins with its entries up to `until`."""

    age: timedelta
    actor: str
    owner: str
    label: str
    until: str | None = None


@dataclass(frozen=True)
class Edited:
    """A person changed a block directly: each (old, new) pair wherever it occurs."""

    age: timedelta
    actor: str
    owner: str
    label: str
    changes: tuple[tuple[str, str], ...]
    comment: str


@dataclass(frozen=True)
class Proposed:
    """The agent proposed. `name` is how decisions refer to it, and makes the step repeatable."""

    age: timedelta
    name: str
    owner: str
    label: str
    edits: tuple[Edit, ...]
    reasoning: str
    kind: Kind = Kind.EDIT
    confidence: Confidence = Confidence.MEDIUM
    session_id: str = ""
    evidence: tuple[Turn, ...] = ()


@dataclass(frozen=True)
class Approved:
    age: timedelta
    name: str
    actor: str
    comment: str = ""


@dataclass(frozen=True)
class Rejected:
    age: timedelta
    name: str
    actor: str
    reason: RejectReason
    comment: str


@dataclass(frozen=True)
class Withdrawn:
    age: timedelta
    name: str
    comment: str


@dataclass(frozen=True)
class Expired:
    """Nobody decided about it in time."""

    age: timedelta
    name: str


Decision = Approved | Rejected | Withdrawn | Expired


@dataclass(frozen=True, kw_only=True)
class _AboutNote:
    """Somebody did something to a note.

    Args:
        actor: a person, in their own memory, or the agent.
        name: of this step; decisions refer to it, and it makes the step repeatable.
        asks: the agent's token may only propose it.
    """

    age: timedelta
    actor: str
    owner: str
    name: str
    reasoning: str = ""
    session_id: str = ""
    evidence: tuple[Turn, ...] = ()
    asks: bool = False


@dataclass(frozen=True, kw_only=True)
class Noted(_AboutNote):
    """A note was saved; it goes by the name of this step."""

    content: str
    type: str = "fact"
    tags: tuple[str, ...] = ()
    confidence: float = 0.8
    rationale: str | None = None

    @property
    def note(self) -> str:
        return self.name


@dataclass(frozen=True, kw_only=True)
class NoteChanged(_AboutNote):
    note: str
    content: str


@dataclass(frozen=True, kw_only=True)
class NoteSuperseded(_AboutNote):
    note: str
    replacement: str | None = None


@dataclass(frozen=True, kw_only=True)
class NoteDeleted(_AboutNote):
    note: str


AboutNote = Noted | NoteChanged | NoteSuperseded | NoteDeleted
Step = Created | Edited | Proposed | AboutNote | Decision
