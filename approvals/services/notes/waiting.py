"""New notes that wait for a person, and that their agent changes or takes back before anybody decided.

They are in no memory yet, so that a change of one is another revision of its proposal, and its deletion a withdrawal.
Only the agent that proposed a note is told of it; for all others there is no such note.

OPEN → PREPARING with the new revision → branch → OPEN, as when it was proposed: `recover` finishes what a crash leaves.
Meanwhile its page shows the new revision, and nothing can be decided.
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
    """Return the actor's undecided proposal that makes this note, alone or in an import; people have none."""
    if not isinstance(by.actor, Agent):
        return None
    making = Proposal.objects.by_agent(by.actor).of_owner(owner).pending().filter(kind__in=[Kind.SAVE, Kind.IMPORT])
    return making.about_notes([note_id]).select_related("agent").order_by("-pk").first()


def require_none(by: ChangeContext, owner: str, note_id: str, *, argument: str = "note_id") -> None:
    """Raise NoteWaits for a note of the actor's that waits."""
    if proposal := find(by, owner, note_id):
        raise NoteWaits(proposal, note_id, argument)


def withdrawn_before(by: ChangeContext, owner: str, note_id: str) -> NoteChangeOutcome | None:
    """Return what `take_back` came to where this operation called it before, and nobody may have got the answer.

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
    """Raise NoteWithdrawn for a note that the actor proposed and took back."""
    if proposal := _withdrawn(by, owner, note_id).order_by("-pk").first():
        raise NoteWithdrawn(proposal, note_id)


def amend(by: ChangeContext, proposal: Proposal, note_id: str, fields: dict[str, Any]) -> NoteChangeOutcome:
    """Propose other fields of a note that waits: a new revision of its proposal.

    Raises:
        NoteWaits: in an import, which is decided as a whole.
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
    told = {"reasoning": by.reasoning, "session_id": by.session_id, "evidence": list(by.evidence)}
    # What the call does not say stays as it was said first.
    told = {name: value for name, value in told.items() if value}
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
            **told,
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
    except (DoltError, DatabaseError):  # it goes with the decision at the latest
        log.exception("branch_not_dropped", proposal=proposal.pk, branch=revision.branch)
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, amended=True)


def take_back(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of a note that waits.

    Raises:
        NoteWaits: in an import, which is withdrawn as a whole.
        BeingMade, BeingDecided, AlreadyDecided.
    """
    proposal = _open(proposal, note_id)
    proposal = withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=by.reasoning, operation=by.operation)
    return _taken_back(proposal, note_id)


def _taken_back(proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    return NoteChangeOutcome((NoteChange(note_id, note, None),), "", proposal)


def _withdrawn(by: ChangeContext, owner: str, note_id: str) -> ProposalQuerySet:
    """Proposals that were to make this note, alone, and that the actor withdrew; people have none."""
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
