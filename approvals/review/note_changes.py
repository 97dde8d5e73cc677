"""What becomes of each note of a proposal, as a reviewer reads it.

Not here: the proposal around them (`review.presentation`), and whether a change still fits (`review.mergeability`).
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog

from approvals.models import Proposal
from approvals.services.notes.values import NoteChange
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import MemoryNote
from memory_app.text import worddiff

log = structlog.get_logger(__name__)

#: Fields of a note that a reviewer sees in a table, beside its text.
NOTE_FIELDS = (
    "type",
    "tags",
    "category",
    "confidence",
    "rationale",
    "importance",
    "source",
    "superseded_by",
    "superseded_reason",
    "superseded_at",
)


@dataclass(frozen=True)
class NoteFieldChange:
    """A field other than the text (type, tags, confidence…), before and after; empty for nothing.

    A time stays one, for pages to write it in the viewer's zone.
    """

    name: str
    before: str | datetime
    after: str | datetime

    @property
    def label(self) -> str:
        return str(MemoryNote._meta.get_field(self.name).verbose_name)  # type: ignore[union-attr]


@dataclass(frozen=True)
class NoteReview:
    """One note of a proposal: what becomes of it. `before=None` makes it, `after=None` deletes it.

    Args:
        replacement: the note that would take its place, as it is now.
        dated: when a new note says it began, where that is not the day of the proposal.
    """

    id: str
    before: reads.Note | None
    after: reads.Note | None
    segments: tuple[worddiff.Segment, ...]
    fields: tuple[NoteFieldChange, ...]
    replacement: reads.Note | None = None
    dated: datetime | None = None


def note_reviews(proposal: Proposal, changes: list[dict[str, Any]]) -> tuple[NoteReview, ...]:
    """Return these changes of a proposal, in their order."""
    named = {change["after"]["superseded_by"] for change in changes if change["after"]}
    try:
        replacements = reads.find_notes(proposal.owner, filter(None, named))
    except DoltError:
        log.exception("replacements_unreadable", user_id=proposal.owner)
        replacements = {}
    return tuple(_note_review(NoteChange.from_json(change), replacements, proposal.created_at) for change in changes)


def _note_review(change: NoteChange, replacements: dict[str, reads.Note], proposed: datetime) -> NoteReview:
    before, after = change.before, change.after
    is_dated = after and not before and after.created_at.date() != proposed.date()
    return NoteReview(
        change.id,
        before,
        after,
        segments=worddiff.with_replaced_paragraphs(
            worddiff.diff(before.content if before else "", after.content if after else "")
        ),
        fields=field_changes_of_note(before, after),
        replacement=replacements.get(after.superseded_by) if after and after.superseded_by else None,
        dated=after.created_at if after and is_dated else None,
    )


def field_changes_of_note(before: reads.Note | None, after: reads.Note | None) -> tuple[NoteFieldChange, ...]:
    """Return the fields other than the text in which two versions of a note differ."""
    changes = []
    # When a note began is news only where an import says another day; of a new one `NoteReview.dated` says it.
    names = (*NOTE_FIELDS, "created_at") if before and after else NOTE_FIELDS
    for name in names:
        old, new = (_shown(getattr(note, name)) if note else "" for note in (before, after))
        if old != new:
            changes.append(NoteFieldChange(name, old, new))
    return tuple(changes)


def _shown(value: object) -> str | datetime:
    if value is None:
        return ""
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, datetime) else str(value)
