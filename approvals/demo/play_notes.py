"""Plays the steps of the story that are about notes."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from approvals.demo import people
from approvals.demo.found import note_id_of, operation_of
from approvals.demo.steps import AboutNote, NoteChanged, Noted, NoteDeleted, NoteSuperseded, Proposed
from approvals.models import Agent, Kind, Proposal, User
from approvals.recovery.recover import finish
from approvals.services.notes import ChangeContext, NoteChange, change_notes, stamped
from memory_app import reads
from memory_app.reads import Note


def play_note(step: AboutNote, at: datetime) -> None:
    """Do it, as of `at`: unlike a block, a note says itself when it was made and superseded."""
    begun = Proposal.objects.filter(operation=operation_of(step.name)).first()
    if begun:  # by a run that was killed
        finish(begun)
        return
    is_agent = step.actor == people.AGENT
    kind, change = _change(step, at)
    by = ChangeContext(
        actor=Agent.objects.get(name=step.actor) if is_agent else User.objects.get(username=step.actor),
        may_apply=not step.asks,
        reasoning=step.reasoning,
        session_id=step.session_id,
        evidence=evidence_of(step, at),
        operation=operation_of(step.name),
    )
    change_notes(by=by, owner=step.owner, kind=kind, changes=[change])


def evidence_of(step: Proposed | AboutNote, at: datetime) -> list[dict[str, str]]:
    """The turns of a step, with the times they were said at."""
    return [
        {
            "role": turn.role,
            "content": turn.content,
            "at": (at - timedelta(minutes=turn.before)).isoformat(timespec="seconds"),
        }
        for turn in step.evidence
    ]


def _change(step: AboutNote, at: datetime) -> tuple[Kind, NoteChange]:
    id_ = note_id_of(step.note)
    if isinstance(step, Noted):
        return Kind.SAVE, NoteChange(id_, None, _note(step, id_, at))
    before = reads.note(step.owner, id_)
    match step:
        case NoteChanged():
            return Kind.UPDATE, NoteChange(id_, before, stamped(replace(before, content=step.content), at))
        case NoteSuperseded():
            after = replace(
                before,
                superseded_at=at,
                superseded_by=note_id_of(step.replacement) if step.replacement else None,
                superseded_reason=step.reasoning,
            )
            return Kind.FORGET, NoteChange(id_, before, stamped(after, at))
        case NoteDeleted():
            return Kind.DELETE, NoteChange(id_, before, None)


def _note(step: Noted, id_: str, at: datetime) -> Note:
    note = Note(
        id=id_,
        owner=step.owner,
        content=step.content,
        type=step.type,
        tags=step.tags,
        category=None,
        confidence=step.confidence,
        rationale=step.rationale,
        importance=1.0,
        source="agent" if step.actor == people.AGENT else "user",
        session_id=step.session_id or None,
        superseded_by=None,
        superseded_reason=None,
        superseded_at=None,
        sha256="",
        created_at=at,
        updated_at=at,
    )
    return stamped(note, at)
