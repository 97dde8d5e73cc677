"""The verbs: notes are saved, updated, superseded, reinstated and deleted.

Every change goes the same way, what each note was and what it becomes, and parts at the end: a person's is
written at once (`people`), an agent's as its owner's policy says (`agents`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Kind, User
from approvals.services.errors import (
    NoChange,
    NoteInvalid,
    NotesChanged,
    NoteSuperseded,
    NoteWaits,
    ReplacementNotFound,
)
from approvals.services.notes import agents, compare, people, waiting
from approvals.services.notes.values import (
    ChangeContext,
    NoteChange,
    NoteChangeOutcome,
    require_valid,
    sha256_of,
    stamped,
    tidied,
)
from memory_app import reads
from memory_app.models import Change, NoteSource
from memory_app.reads import NoteNotFound
from memory_app.text import notes

#: What a person's change is called in the ledger.
_ACTIONS = {
    Kind.SAVE: Change.Action.CREATED,
    Kind.UPDATE: Change.Action.EDITED,
    Kind.DELETE: Change.Action.DELETED,
    Kind.FORGET: Change.Action.SUPERSEDED,
    Kind.IMPORT: Change.Action.IMPORTED,
}


def save(
    *,
    by: ChangeContext,
    owner: str,
    content: str,
    type: str = "note",
    tags: Sequence[str] = (),
    category: str | None = None,
    confidence: float = 0.8,
    rationale: str | None = None,
    note_id: str | None = None,
) -> NoteChangeOutcome:
    """Save a new note.

    Args:
        content: at most 2,000 characters.
        type: one of `memory_app.text.notes.TYPES`.
        confidence: brought into 0 to 1.
        note_id: `mem-…` ids of the command are kept; one is made otherwise.

    Raises:
        NoteInvalid: names what is wrong with which field.
        NoteWaits: a note of this id waits already.
        EditNotAllowed, TooManyPending, MemoryFull.
    """
    if done := agents.done_before(by):
        return done
    now = timezone.now()
    id_ = note_id or notes.new_id()
    made = stamped(
        reads.Note(
            id=id_,
            owner=owner,
            content=content,
            type=type,
            tags=tidied(tags),
            category=category or None,
            confidence=notes.clamped(confidence),
            rationale=rationale or None,
            importance=1.0,
            source=NoteSource.AGENT if isinstance(by.actor, Agent) else NoteSource.USER,
            session_id=by.session_id or None,
            superseded_by=None,
            superseded_reason=None,
            superseded_at=None,
            sha256="",
            created_at=now,
            updated_at=now,
        ),
        now,
    )
    require_valid(made)
    if note_id and reads.find_note(owner, note_id):
        raise NoteInvalid("note_id", _("There is a note %(id)s already.") % {"id": note_id})
    if note_id:
        _require_none_waits_as_another(by, made)
    return change_notes(by=by, owner=owner, kind=Kind.SAVE, changes=(NoteChange(id_, None, made),))


def update(
    *, by: ChangeContext, owner: str, note_id: str, loaded_sha256: str | None = None, **fields: Any
) -> NoteChangeOutcome:
    """Change a note; its id stays. `fields` are those of `save`, without the id. An agent's own note that waits gets
    another revision.

    Args:
        loaded_sha256: of the note as the person's form was filled from; None for agents, who have no form.

    Raises:
        NoteNotFound, NoteInvalid, NoChange.
        NoteWaits, BeingMade, BeingDecided, AlreadyDecided: of a note that waits; see `waiting`.
        NotesChanged: it is not at `loaded_sha256` any more.
        NoteSuperseded: to an agent, whose new text nobody would find; a person sees what they correct.
    """
    if done := agents.done_before(by):
        return done
    if "tags" in fields:
        fields["tags"] = tidied(fields["tags"])
    if "confidence" in fields:
        fields["confidence"] = notes.clamped(fields["confidence"])
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        if proposal := waiting.find(by, owner, note_id):
            return waiting.amend(by, proposal, note_id, fields)
        raise
    if before.is_superseded and isinstance(by.actor, Agent):
        raise NoteSuperseded(before)
    after = replace(before, **fields)
    if isinstance(by.actor, Agent) and after.content != before.content:
        after = replace(after, source=NoteSource.AGENT)  # "written by a person" would be said of an agent's words
    after = stamped(after, timezone.now())
    require_valid(after)
    return change_notes(by=by, owner=owner, kind=Kind.UPDATE, changes=(NoteChange(note_id, before, after),))


def delete(*, by: ChangeContext, owner: str, note_id: str, loaded_sha256: str | None = None) -> NoteChangeOutcome:
    """Remove a note from the memory; its history stays. An agent's own note that waits is withdrawn.

    Raises:
        NoteNotFound, NotesChanged, NoteWaits, BeingMade, BeingDecided, AlreadyDecided: as for `update`.
        NoteWithdrawn: the agent has withdrawn it before.
    """
    if done := agents.done_before(by) or waiting.withdrawn_before(by, owner, note_id):
        return done
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        if proposal := waiting.find(by, owner, note_id):
            return waiting.take_back(by, proposal, note_id)
        waiting.require_not_withdrawn(by, owner, note_id)
        raise
    return change_notes(by=by, owner=owner, kind=Kind.DELETE, changes=(NoteChange(note_id, before, None),))


def supersede(
    *,
    by: ChangeContext,
    owner: str,
    note_id: str,
    reason: str | None = None,
    replacement_id: str | None = None,
    loaded_sha256: str | None = None,
) -> NoteChangeOutcome:
    """Mark a note as outdated; it stays readable and is found no more.

    Raises:
        NoteNotFound, ReplacementNotFound: of the note, and of the replacement.
        NoteWaits: one of them waits for a person, proposed by the same agent; `argument` says which.
        NoteSuperseded: it is already.
        NoteInvalid: replaced by itself or in a circle.
        NotesChanged: as for `update`.
    """
    if done := agents.done_before(by):
        return done
    try:
        before = _as_loaded(owner, note_id, loaded_sha256)
    except NoteNotFound:
        waiting.require_none(by, owner, note_id)
        raise
    if before.is_superseded:
        raise NoteSuperseded(before)
    if replacement_id:
        _require_no_circle(by, owner, note_id, replacement_id)
    now = timezone.now()
    after = stamped(
        replace(before, superseded_at=now, superseded_by=replacement_id or None, superseded_reason=reason or None), now
    )
    require_valid(after)
    return change_notes(by=by, owner=owner, kind=Kind.FORGET, changes=(NoteChange(note_id, before, after),))


def reinstate(*, actor: User, owner: str, note_id: str, loaded_sha256: str, comment: str = "") -> NoteChangeOutcome:
    """Take back that a note was superseded: it holds again, and agents find it. Only people do this.

    Raises:
        NoteNotFound, EditNotAllowed, NotesChanged: as for `update`.
        NoChange: it is not superseded.
    """
    before = _as_loaded(owner, note_id, loaded_sha256)
    if not before.is_superseded:
        raise NoChange(_("The note is not outdated."))
    after = replace(before, superseded_at=None, superseded_by=None, superseded_reason=None)
    return people.write(
        ChangeContext(actor=actor, reasoning=comment),
        actor,
        owner,
        Change.Action.REINSTATED,
        (NoteChange(note_id, before, stamped(after, timezone.now())),),
        subject="Reinstate",
    )


def change_notes(
    *, by: ChangeContext, owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None = None
) -> NoteChangeOutcome:
    """Change notes as a whole: all of them in one commit or one proposal, or none.

    Args:
        changes: at least one; each `before` is the note as the caller read it.
        base_commit: the commit of main it was read at; the head of main by default.

    Raises:
        EditNotAllowed: a person who may not write this memory.
        NotesChanged: a note is not as it was read.
        NoChange, TooManyPending, MemoryFull, BeingMade.
    """
    changes = tuple(change for change in changes if sha256_of(change.before) != sha256_of(change.after))
    if not changes:
        if isinstance(by.actor, Agent) and not by.may_read:
            agents.require_room_unless_applied(by, by.actor, owner)
        raise NoChange(_("Nothing was changed."))
    if isinstance(by.actor, User):
        return people.write(by, by.actor, owner, _ACTIONS[kind], changes, subject=kind.capitalize())
    return agents.change(by, by.actor, owner, kind, changes, base_commit)


def _as_loaded(owner: str, note_id: str, loaded_sha256: str | None) -> reads.Note:
    """The note; the write itself checks once more that it is still this one."""
    note = reads.note(owner, note_id)
    if loaded_sha256 is not None and note.sha256 != loaded_sha256:
        raise NotesChanged([note_id])
    return note


def _require_none_waits_as_another(by: ChangeContext, made: reads.Note) -> None:
    """Raise NoteWaits where another note of the same id waits; the same one is found by `agents.change`."""
    if proposal := waiting.find(by, made.owner, made.id):
        asked = compare.assess_changes(Kind.SAVE, (NoteChange(made.id, None, made),))
        if asked.fields["result_sha256"] != proposal.result_sha256:
            raise NoteWaits(proposal, made.id, "note_id")


def _require_no_circle(by: ChangeContext, owner: str, note_id: str, replacement_id: str) -> None:
    if reads.find_note(owner, replacement_id) is None:
        waiting.require_none(by, owner, replacement_id, argument="replacement_id")
        raise ReplacementNotFound(replacement_id)
    if reads.closes_circle(owner, note_id, replacement_id):
        raise NoteInvalid("replacement_id", _("A note cannot be replaced by itself, not even in a circle."))
