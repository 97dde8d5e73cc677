"""The outcome of a change of notes, and what a note may be; nothing is written here."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from django.utils.translation import gettext as _

from approvals.models import Proposal
from approvals.review.note_changes import NoteChange
from approvals.services.errors import NoteInvalid
from approvals.services.proposed import Proposed
from assent_client.text import notes
from memory_app import reads
from memory_app.text import edits


@dataclass(frozen=True)
class NoteChangeOutcome:
    """The outcome of a change of notes.

    Args:
        changes: the change of each note.
        commit: the commit on main; empty while it waits for a person.
        proposed: what came of an agent's; None for a person's own change.
    """

    changes: Sequence[NoteChange]
    commit: str
    proposed: Proposed | None = None

    @classmethod
    def of(cls, proposed: Proposed) -> NoteChangeOutcome:
        """Return the outcome of an agent's change."""
        return cls(proposed.note_changes, proposed.proposal.merge_commit, proposed)

    @property
    def proposal(self) -> Proposal | None:
        return self.proposed.proposal if self.proposed else None

    @property
    def is_applied(self) -> bool:
        return bool(self.commit)

    @property
    def note_id(self) -> str:
        return self.changes[0].id


def tidied(tags: Sequence[str]) -> tuple[str, ...]:
    """Return the tags stripped, without empty ones and duplicates, in the order given."""
    return tuple(dict.fromkeys(tag.strip() for tag in tags if tag.strip()))


def require_valid(note: reads.Note) -> None:
    """Raise NoteInvalid or ForbiddenCharacter if a field is invalid."""
    for name in ("content", "rationale", "category", "superseded_reason", "session_id"):
        edits.check_text(getattr(note, name) or "", field=name)
    for tag in note.tags:
        edits.check_text(tag, field="tags")
        if len(tag) > notes.MAX_TAG:
            raise NoteInvalid("tags", _("A tag has at most %(limit)d characters.") % {"limit": notes.MAX_TAG})
    if not note.content.strip():
        raise NoteInvalid("content", _("The content is empty."))
    if len(note.content) > notes.MAX_CONTENT:
        raise NoteInvalid(
            "content",
            _("The content has %(used)s characters, %(over)s more than the %(limit)s a note may have.")
            % {
                "used": f"{len(note.content):,}",
                "over": f"{len(note.content) - notes.MAX_CONTENT:,}",
                "limit": f"{notes.MAX_CONTENT:,}",
            },
        )
    if note.type not in notes.TYPES:
        raise NoteInvalid(
            "type",
            _("There is no type “%(type)s”; the types are %(types)s.")
            % {"type": note.type, "types": ", ".join(notes.TYPES)},
        )
    if not notes.ID.fullmatch(note.id):
        raise NoteInvalid("note_id", _("“%(id)s” is not a note id.") % {"id": note.id})


def meaning_sha256(changes: Sequence[NoteChange]) -> str:
    """Return what two changes have in common that ask for the same."""
    return edits.sha256_of("\n".join(map(_meaning, changes)))


def _meaning(change: NoteChange) -> str:
    """Return what equal changes have in common: everything but times and the ids of new notes."""
    before, after = change.before, change.after
    if after is None:
        return change.id
    id_ = change.id if before else ""
    day = after.created_at.isoformat() if before and before.created_at != after.created_at else ""
    fields = (after.tags, after.category, after.confidence, after.rationale)
    superseded = (after.superseded_by, after.superseded_reason)
    return f"{id_} {after.type} {day} {json.dumps([*fields, *superseded])} {after.content}"
