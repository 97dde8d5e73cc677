"""Agents change notes as their owner's policy allows: as a proposal for a person, or applied at once and reversible.

How such a change is proposed, applied or amended is `services.propose`. Here: what is asked of the notes, and notes in
undecided proposals, which their agent may change or withdraw before the decision.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, ProposalQuerySet, Status
from approvals.review.note_changes import NoteChange, said_beside, sha256_of, stamped, text_of, title_of
from approvals.services.decide.close import withdraw
from approvals.services.errors import NotesChanged, NoteWaits, NoteWithdrawn, OtherTarget
from approvals.services.notes.values import NoteChangeOutcome, meaning_sha256, require_valid
from approvals.services.propose import amend, anew, earlier, finished, make, own_proposal, require_amendable
from approvals.services.proposed import ChangeContext, Proposed, ProposedChange
from approvals.services.texts import require_texts
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import TargetKind
from memory_app.reads import Note


def change(
    by: ChangeContext, owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None
) -> NoteChangeOutcome:
    """Apply the changes where the owner's policy and the agent's token allow it; propose them otherwise.

    Raises:
        RejectedBefore, NotesChanged, TooManyPending, MemoryFull, BeingMade, and, for a proposal to amend,
        ProposalNotFound, OtherTarget, NothingAmended: see `change_notes`.
    """
    by = anew(by, owner)
    if by.answers and by.answers.kind != kind:
        raise OtherTarget(by.answers)
    if by.proposal_id is not None:
        return _amend(by, own_proposal(by.agent, owner, by.proposal_id), kind, changes, base_commit)
    return NoteChangeOutcome.of(make(by, _asked(owner, kind, changes, base_commit)))


def earlier_outcome(by: ChangeContext, owner: str) -> NoteChangeOutcome | None:
    """Return the outcome of an earlier call with this operation, as it was then; None when there was none."""
    done = earlier(by, owner) if isinstance(by.actor, Agent) else None
    return NoteChangeOutcome.of(done) if done else None


def _asked(owner: str, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None) -> ProposedChange:
    """Return what is asked for; `base_commit` is the head of main by default."""
    stored = [change.as_json() for change in changes]
    is_import = kind == Kind.IMPORT
    return ProposedChange(
        kind=kind,
        owner=owner,
        target_kind=TargetKind.IMPORT if is_import else TargetKind.NOTE,
        target="" if is_import else changes[0].id,
        title=title_of(changes),
        before=text_of([change.before for change in changes]),
        after=text_of([change.after for change in changes]),
        result_sha256=meaning_sha256(changes),
        base_commit=base_commit or retrying(head_of_main),
        notes=stored,
        beside=said_beside(stored),
    )


def _amend(
    by: ChangeContext, proposal: Proposal, kind: Kind, changes: Sequence[NoteChange], base_commit: str | None = None
) -> NoteChangeOutcome:
    """Ask for `changes` in an undecided proposal."""
    proposal = require_amendable(proposal)
    asked = _asked(proposal.owner, kind, changes, base_commit)
    is_other = proposal.kind != kind if kind == Kind.IMPORT else proposal.target_kind != TargetKind.NOTE
    if is_other or (asked.target and proposal.target != asked.target):
        raise OtherTarget(proposal)
    require = partial(_require_unchanged, proposal.owner, changes, asked.base_commit)
    return NoteChangeOutcome.of(amend(by, proposal, asked, require=require))


def _require_unchanged(owner: str, changes: Sequence[NoteChange], commit: str) -> None:
    """Raise NotesChanged unless the notes are at `commit` as they were read: the branch is written on top of it."""
    found = reads.find_notes(owner, [change.id for change in changes], commit)
    if any(sha256_of(found.get(change.id)) != sha256_of(change.before) for change in changes):
        raise NotesChanged([change.id for change in changes])


# -- Notes in undecided proposals.


def new_note_id(by: ChangeContext, owner: str, note_id: str | None) -> str | None:
    """Return the id of the new note that a call amends; `note_id` when it amends nothing.

    Raises:
        ProposalNotFound, OtherTarget: it is not the proposal of a new note, or not of this one.
    """
    if by.proposal_id is None:
        return note_id
    proposal = own_proposal(by.agent, owner, by.proposal_id)
    if proposal.kind != Kind.SAVE or note_id not in (None, proposal.target):
        raise OtherTarget(proposal)
    return proposal.target


def find_waiting(by: ChangeContext, owner: str, note_id: str) -> Proposal | None:
    """Return the actor's undecided proposal that creates this note, alone or in an import; None for people."""
    if not isinstance(by.actor, Agent):
        return None
    making = Proposal.objects.by_agent(by.actor).of_owner(owner).pending().filter(kind__in=[Kind.SAVE, Kind.IMPORT])
    return making.about_notes([note_id]).select_related("agent").order_by("-pk").first()


def require_none(by: ChangeContext, owner: str, note_id: str, *, argument: str = "note_id") -> None:
    """Raise NoteWaits if the note is in an undecided proposal of the actor."""
    if proposal := find_waiting(by, owner, note_id):
        raise NoteWaits(proposal, note_id, argument)


def amend_waiting(by: ChangeContext, proposal: Proposal, note_id: str, fields: dict[str, Any]) -> NoteChangeOutcome:
    """Change the fields of an undecided note, in a new revision of its proposal.

    Raises:
        NoteWaits: it is in an import, which is decided as a whole.
        NoteInvalid, NothingAmended, OtherTarget, BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    proposal = require_amendable(proposal)
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    after = stamped(replace(note, **fields), timezone.now())
    require_valid(after)
    if sha256_of(after) == sha256_of(note) and by.proposal_id is None and not proposal.is_with_agent:
        return NoteChangeOutcome.of(Proposed(proposal, created=False))
    return _amend(by, proposal, Kind.SAVE, (NoteChange(note_id, None, after),))


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
    return NoteChangeOutcome.of(Proposed(proposal))


def require_not_withdrawn(by: ChangeContext, owner: str, note_id: str) -> None:
    """Raise NoteWithdrawn for a note that the actor proposed and withdrew."""
    if proposal := _withdrawn(by, owner, note_id).order_by("-pk").first():
        raise NoteWithdrawn(proposal, note_id)


def take_back(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of an undecided note.

    Raises:
        NoteWaits: it is in an import, which is withdrawn as a whole.
        BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    if proposal.status == Status.PREPARING:
        proposal = finished(proposal)
    proposal = withdraw(agent=proposal.agent, proposal_id=proposal.pk, comment=by.reasoning, operation=by.operation)
    return NoteChangeOutcome.of(Proposed(proposal))


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
    if by.proposal_id not in (None, proposal.pk):
        raise OtherTarget(own_proposal(proposal.agent, proposal.owner, by.proposal_id))
