"""The change of each note: before and after, as a revision keeps it and as a reviewer reads it.

Not here: the proposal around them (`review.presentation`), and whether a change still fits (`review.targets`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import datetime
from typing import Any

import structlog
from django.utils.translation import gettext as _

from approvals.models import Proposal
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import MemoryBlock, MemoryNote
from memory_app.text import worddiff
from memory_app.text.lines import first_words

log = structlog.get_logger(__name__)

#: Free-text fields of a note other than its content.
_OTHER_TEXTS = ("rationale", "category", "tags", "superseded_reason")


#: Characters of a proposal's title, as its column has room for.
MOST_TITLE = 200


#: Fields of a note that a reviewer does not see in the table beside its text.
_NOT_IN_TABLE = ("id", "owner", "content", "session_id", "sha256", "created_at", "updated_at")
#: And those of a block, beside its own.
BLOCK_FIELDS = ("title", "description", "limit", "read_only")
NOTE_FIELDS = tuple(each.name for each in fields(reads.Note) if each.name not in _NOT_IN_TABLE)


@dataclass(frozen=True)
class NoteChange:
    """The change of one note: `before=None` creates it, `after=None` deletes it."""

    id: str
    before: reads.Note | None
    after: reads.Note | None

    def as_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "before": self.before.as_json() if self.before else None,
            "after": self.after.as_json() if self.after else None,
        }

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> NoteChange:
        """Return what `as_json` wrote."""
        before, after = (reads.Note.from_json(values[side]) if values[side] else None for side in ("before", "after"))
        return cls(values["id"], before, after)


def said_beside(changes: Sequence[dict[str, Any]]) -> tuple[str, str]:
    """Return the changed free-text fields other than the content, before and after, for the risk report.

    Models read them like the contents. Unchanged fields are left out.
    """
    sides: tuple[list[str], list[str]] = ([], [])
    for change in changes:
        for name in _OTHER_TEXTS:
            values = [_as_text(note[name]) if note else "" for note in (change["before"], change["after"])]
            if values[0] != values[1]:
                for side, text in zip(sides, values, strict=True):
                    side.append(text)
    before, after = ("\n\n".join(filter(None, side)) for side in sides)
    return before, after


def _as_text(value: str | list[str] | None) -> str:
    return ", ".join(value) if isinstance(value, list) else value or ""


def stamped(note: reads.Note, now: datetime) -> reads.Note:
    """Return the note with `updated_at` now and the sha256 of its fields."""
    return replace(note, updated_at=now, sha256=reads.note_sha256(vars(note)))


def sha256_of(note: reads.Note | None) -> str:
    """Return the sha256 of the note's fields, empty for None; an older version may have computed the stored one."""
    return reads.note_sha256(vars(note)) if note else ""


def text_of(of: Sequence[reads.Note | None]) -> str:
    """Return the contents, as one side of the diff."""
    return "\n\n".join(note.content for note in of if note)


def title_of(changes: Sequence[NoteChange]) -> str:
    """Return the title of a change: the text of an existing note as it is, or that of a new one.

    A title too long for the column is cut between words; pages shorten it further.
    """
    if len(changes) > 1:
        return _("%(count)d notes") % {"count": len(changes)}
    note = changes[0].before or changes[0].after
    return first_words(note.content, MOST_TITLE) if note else changes[0].id


@dataclass(frozen=True)
class FieldChange:
    """A field of a note or block other than its text, before and after; empty for nothing.

    A time stays one, for pages to write it in the viewer's zone.

    Args:
        label: what the field is called.
    """

    name: str
    label: str
    before: str | datetime
    after: str | datetime


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
    fields: tuple[FieldChange, ...]
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


def field_changes_of_note(before: reads.Note | None, after: reads.Note | None) -> tuple[FieldChange, ...]:
    """Return the fields other than the text in which two versions of a note differ."""
    # When a note began is news only where an import says another day; of a new one `NoteReview.dated` says it.
    names = (*NOTE_FIELDS, "created_at") if before and after else NOTE_FIELDS
    return field_changes(before, after, names=names, model=MemoryNote)


def field_changes(
    before: object | None,
    after: object | None,
    *,
    names: Sequence[str] = BLOCK_FIELDS,
    model: type[MemoryBlock | MemoryNote] = MemoryBlock,
) -> tuple[FieldChange, ...]:
    """Return the fields other than the text in which two blocks differ, or what is written of them."""
    changes = []
    for name in names:
        old, new = (_shown(getattr(side, name)) if side else "" for side in (before, after))
        if old != new:
            label = model._meta.get_field(name).verbose_name  # type: ignore[union-attr]
            changes.append(FieldChange(name, str(label), old, new))
    return tuple(changes)


def _shown(value: object) -> str | datetime:
    if value is None:
        return ""
    if isinstance(value, bool):
        return _("yes") if value else _("no")
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return value if isinstance(value, datetime) else str(value)
