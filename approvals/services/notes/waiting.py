"""Notes in undecided proposals, which their agent may change or withdraw before the decision.

They are not in the memory yet: changing one is a new revision of its proposal, and deleting one withdraws the proposal.
Only the agent that proposed a note learns about it; for all others there is no such note.

OPEN → PREPARING with the new revision → branch → OPEN; `recover` finishes interrupted amendments. While it is
PREPARING, the page shows the new revision, and the proposal cannot be decided.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import structlog
from django.db import DatabaseError, transaction
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, ProposalQuerySet, Revision, Status
from approvals.risks import flags
from approvals.services.branches import branch_name
from approvals.services.decide.checks import raise_not_open
from approvals.services.decide.close import withdraw
from approvals.services.errors import NoteWaits, NoteWithdrawn
from approvals.services.notes import agents, compare
from approvals.services.notes.values import (
    ChangeContext,
    NoteChange,
    NoteChangeOutcome,
    require_valid,
    sha256_of,
    stamped,
)
from approvals.services.preparing import lease_of
from approvals.services.texts import require_texts
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.reads import Note
from memory_app.writing import commits

log = structlog.get_logger(__name__)


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
        NoteInvalid, BeingMade, BeingDecided, AlreadyDecided.
    """
    proposal = _open(proposal, note_id)
    revision = proposal.current_revision
    note = Note.from_json(revision.note_changes[0]["after"])
    now = timezone.now()
    after = stamped(replace(note, **fields), now)
    require_valid(after)
    if sha256_of(after) == sha256_of(note):
        return NoteChangeOutcome((NoteChange(note_id, None, note),), "", proposal, created=False)
    changes = (NoteChange(note_id, None, after),)
    given = {"reasoning": by.reasoning, "session_id": by.session_id, "evidence": list(by.evidence)}
    # Fields that the call leaves empty stay unchanged.
    given = {name: value for name, value in given.items() if value}
    said = flags.said_with(by.reasoning or proposal.reasoning, by.evidence or proposal.evidence)
    made = compare.assess_changes(Kind.SAVE, changes, said=said)
    number = revision.number + 1
    base = retrying(head_of_main)
    with transaction.atomic(durable=True):
        moved = Proposal.objects.filter(
            pk=proposal.pk, status=Status.OPEN, current_revision_number=revision.number
        ).update(
            status=Status.PREPARING,
            current_revision_number=number,
            lease_expires_at=now + lease_of(1),
            updated_at=now,
            search_words=made.search_words(note_id, by.reasoning or proposal.reasoning),
            **made.fields,
            **given,
        )
        if moved:
            Revision.objects.create(
                proposal=proposal,
                number=number,
                branch=branch_name(proposal.pk, number),
                base_commit=base,
                base_sha256="",
                base_text=made.before,
                edits=[],
                result_text=made.after,
                note_changes=[change.as_json() for change in changes],
                created_at=now,
            )
    proposal.refresh_from_db()
    if not moved:
        raise_not_open(proposal, proposal.current_revision_number)
    proposal = agents.finish(proposal, is_mine=True)
    try:
        commits.drop_branch(proposal.owner, revision.branch)
    except (DoltError, DatabaseError):  # dropped after the decision at the latest
        log.exception("branch_not_dropped", proposal=proposal.pk, branch=revision.branch)
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, amended=True)


def take_back(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of an undecided note.

    Raises:
        NoteWaits: it is in an import, which is withdrawn as a whole.
        BeingMade, BeingDecided, AlreadyDecided.
    """
    proposal = _open(proposal, note_id)
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


def _open(proposal: Proposal, note_id: str) -> Proposal:
    if proposal.kind != Kind.SAVE:
        raise NoteWaits(proposal, note_id, "note_id")
    if proposal.status == Status.PREPARING:
        proposal = agents.finish(proposal)
    if proposal.status != Status.OPEN:
        raise_not_open(proposal, proposal.current_revision_number)
    return proposal
