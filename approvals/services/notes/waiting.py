"""Notes in undecided proposals, which their agent may change or withdraw before the decision.

They are not in the memory yet: changing one is a new revision of its proposal, and deleting one withdraws the proposal.
Only the agent that proposed a note learns about it; for all others there is no such note.

How a proposal gets its next revision is `approvals.services.turn.next_revision`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, ProposalQuerySet, Status
from approvals.services.decide.close import withdraw
from approvals.services.errors import NoteWaits, NoteWithdrawn
from approvals.services.notes import agents, amending
from approvals.services.notes.values import (
    ChangeContext,
    NoteChange,
    NoteChangeOutcome,
    require_valid,
    sha256_of,
    stamped,
)
from approvals.services.texts import require_texts
from approvals.services.turn import next_revision
from approvals.services.turn.refusals import OtherTarget
from memory_app.models import TargetKind
from memory_app.reads import Note


def find(by: ChangeContext, owner: str, note_id: str) -> Proposal | None:
    """Return the actor's undecided proposal that creates this note, alone or in an import; None for people."""
    if not isinstance(by.actor, Agent):
        return None
    making = Proposal.objects.by_agent(by.actor).of_owner(owner).pending().filter(kind__in=[Kind.SAVE, Kind.IMPORT])
    return making.about_notes([note_id]).select_related("agent").order_by("-pk").first()


def require_none(by: ChangeContext, owner: str, note_id: str, *, argument: str = "note_id") -> None:
    """Raise NoteWaits if the note is in an undecided proposal of the actor."""
    if proposal := find(by, owner, note_id):
        raise NoteWaits(proposal, note_id, argument)


def withdrawn_before(by: ChangeContext, owner: str, note_id: str) -> NoteChangeOutcome | None:
    """Return the outcome of an earlier `take_back` with this operation, for a repeated call; None when there was none.

    Raises:
        AlreadyDecided: the texts of the proposal were removed since.
    """
    if not by.operation:
        return None
    proposal = _withdrawn(by, owner, note_id).filter(merge_operation=by.operation).first()
    if proposal is None:
        return None
    require_texts(proposal)
    return _taken_back(proposal, note_id)


def require_not_withdrawn(by: ChangeContext, owner: str, note_id: str) -> None:
    """Raise NoteWithdrawn for a note that the actor proposed and withdrew."""
    if proposal := _withdrawn(by, owner, note_id).order_by("-pk").first():
        raise NoteWithdrawn(proposal, note_id)


def amend(by: ChangeContext, proposal: Proposal, note_id: str, fields: dict[str, Any]) -> NoteChangeOutcome:
    """Change the fields of an undecided note, in a new revision of its proposal.

    Raises:
        NoteWaits: it is in an import, which is decided as a whole.
        NoteInvalid, NothingAmended, OtherTarget, BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    proposal = next_revision.require_amendable(proposal, agents.finish)
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    after = stamped(replace(note, **fields), timezone.now())
    require_valid(after)
    if sha256_of(after) == sha256_of(note) and by.amends is None and not proposal.is_with_agent:
        return NoteChangeOutcome((NoteChange(note_id, None, note),), "", proposal, created=False)
    return amending.amend(by, proposal, Kind.SAVE, (NoteChange(note_id, None, after),))


def take_back(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of an undecided note.

    Raises:
        NoteWaits: it is in an import, which is withdrawn as a whole.
        BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    if proposal.status == Status.PREPARING:
        proposal = agents.finish(proposal)
    proposal = withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=by.reasoning, operation=by.operation)
    return _taken_back(proposal, note_id)


def _taken_back(proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    return NoteChangeOutcome((NoteChange(note_id, note, None),), "", proposal)


def _withdrawn(by: ChangeContext, owner: str, note_id: str) -> ProposalQuerySet:
    """Return the actor's withdrawn proposals to create this note, not those in imports; none for people."""
    if not isinstance(by.actor, Agent):
        return Proposal.objects.none()
    making = Proposal.objects.by_agent(by.actor).on_target(owner, TargetKind.NOTE, note_id).filter(kind=Kind.SAVE)
    return making.filter(status=Status.WITHDRAWN).select_related("agent")


def _require_alone(by: ChangeContext, proposal: Proposal, note_id: str) -> None:
    """Raise NoteWaits for a note in an import, and OtherTarget where the call names another proposal."""
    if proposal.kind != Kind.SAVE:
        raise NoteWaits(proposal, note_id, "note_id")
    if by.amends not in (None, proposal.pk):
        raise OtherTarget(amending.find(by, proposal.owner))
