"""Agents change notes as their owner's policy allows: as a proposal for a person, or applied at once and reversible.

Row PREPARING → commit → APPLIED for what policy or a rule applies (`trust.applying`); other proposals continue like
those of blocks. Both are read when the row is inserted, and again before the commit: assessing an import takes minutes,
and `recover` may finish it even later.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, ProposalQuerySet, ProposedNote, ReviewReason, Status, TrustRule
from approvals.review import trust
from approvals.review.note_changes import NoteChange, sha256_of, stamped
from approvals.review.turn import said_of_note
from approvals.risks import flags
from approvals.services import trust as applying
from approvals.services.caps import find_equal_or_require_room
from approvals.services.decide.close import withdraw
from approvals.services.errors import (
    NotesChanged,
    NoteWaits,
    NoteWithdrawn,
    NothingAmended,
    OtherTarget,
    ProposalNotFound,
)
from approvals.services.notes.values import (
    ChangeContext,
    NoteChangeOutcome,
    NoteChangeResult,
    assess_changes,
    require_valid,
)
from approvals.services.preparing import branch_name, finish_once, finish_preparing, insert_prepared, lease_of
from approvals.services.texts import require_texts
from approvals.services.turn import amend
from approvals.services.turn.amend import made_before
from approvals.services.turn.repeating import Repeated, find_answered, find_repeated, require_new_reasoning, verdict_of
from memory_app import reads
from memory_app.databases.batches import BATCH
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import TargetKind
from memory_app.reads import Note
from memory_app.writing import commits, rows


def change(
    by: ChangeContext, agent: Agent, owner: str, kind: Kind, changes: tuple[NoteChange, ...], base_commit: str | None
) -> NoteChangeOutcome:
    """Apply the changes where the owner's policy and the agent's token allow it; propose them otherwise.

    Raises:
        RejectedBefore, NotesChanged, TooManyPending, MemoryFull, BeingMade: see `change_notes`.
    """
    if done := earlier_outcome(by):
        return done
    made = assess_changes(kind, changes, said=flags.said_with(by.reasoning, by.evidence))
    repeated = _find_repeated(by, agent, owner, made.stored)
    verdict = verdict_of(repeated, _verdict(by, agent, owner, kind, made))
    try:
        proposal, created = _prepare(by, agent, owner, kind, changes, made, verdict, base_commit, repeated)
    except IntegrityError:
        return _outcome(finish(Proposal.objects.get(operation=by.operation)))
    return _outcome(finish(proposal, is_mine=created, is_new=created, rule=verdict.rule), created=created)


def earlier_outcome(by: ChangeContext) -> NoteChangeOutcome | None:
    """Return the outcome of an earlier call with this operation, as it was then; None when there was none."""
    if by.amends is not None and isinstance(by.actor, Agent):
        return _amended_earlier(by, by.actor, by.amends)
    earlier = Proposal.objects.filter(operation=by.operation).first() if by.operation else None
    return _outcome(finish(earlier, is_resumed=True)) if earlier else None


def _amended_earlier(by: ChangeContext, agent: Agent, proposal_id: int) -> NoteChangeOutcome | None:
    proposal = Proposal.objects.by_agent(agent).filter(pk=proposal_id).select_related("agent", "decided_by").first()
    done = made_before(proposal, by.operation, partial(finish, is_resumed=True)) if proposal else None
    return replace(_outcome(done), amended=True) if done else None


def _find_repeated(by: ChangeContext, agent: Agent, owner: str, changes: Sequence[dict[str, Any]]) -> Repeated | None:
    said = [said_of_note(change) for change in changes]
    return find_repeated(agent, owner, said, by.reasoning, force=by.force)


def finish(
    proposal: Proposal,
    *,
    is_mine: bool = False,
    is_resumed: bool = False,
    is_new: bool = False,
    rule: TrustRule | None = None,
) -> Proposal:
    """Finish a PREPARING proposal: to APPLIED, or to OPEN for review; used by `change` and `recover`.

    Args:
        is_mine, is_resumed: see `finish_once`.
        is_new: the operation has just begun, so the log is not searched for its commit.
        rule: the rule that lets it through, if the operation has just begun.

    Raises:
        NotesChanged: a note changed since; the proposal is deleted.
        AlreadyDecided: its texts were removed.
        BeingMade: see `finish_once`.
    """
    require_texts(proposal)
    return finish_once(proposal, partial(_finish, is_new=is_new, rule=rule), is_mine=is_mine, is_resumed=is_resumed)


def _finish(proposal: Proposal, *, is_new: bool = False, rule: TrustRule | None = None) -> Proposal:
    if proposal.auto_applied:
        return _finish_applying(proposal, is_new=is_new, rule=rule)
    try:
        return finish_preparing(proposal)
    except rows.TargetMoved as error:
        commits.drop_branch(proposal.owner, proposal.current_revision.branch)
        raise _discard(proposal) from error


def _finish_applying(proposal: Proposal, *, is_new: bool, rule: TrustRule | None) -> Proposal:
    done = None if is_new else applying.find_commit(proposal)
    was_asked_just_now = is_new and proposal.kind != Kind.IMPORT
    if done is None and not was_asked_just_now:
        found = applying.verdict_now(proposal)
        rule = found.rule
        if not found.applies:
            return _finish_waiting(proposal, found.reason)
    try:
        return applying.apply_at_once(proposal, rule=rule, done=done)
    except rows.TargetMoved as error:
        raise _discard(proposal) from error


def _finish_waiting(proposal: Proposal, reason: str) -> Proposal:
    """Turn an automatic change into a proposal for review: the policy or the rules changed since it was inserted."""
    revision = proposal.current_revision
    with transaction.atomic(durable=True):
        waits = Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, auto_applied=True).update(
            auto_applied=False, review_reason=reason, updated_at=timezone.now()
        )
        if waits:
            proposal.revisions.update(branch=branch_name(proposal.pk, revision.number))
            if proposal.kind == Kind.IMPORT:
                name_notes(proposal, [change["id"] for change in revision.note_changes])
    now = Proposal.objects.select_related("agent", "decided_by").filter(pk=proposal.pk).first()
    if now is None:  # another process found that it no longer fits
        raise _discard(proposal)
    return _finish(now) if now.status == Status.PREPARING else now


def _discard(proposal: Proposal) -> NotesChanged:
    """Delete a PREPARING proposal whose notes changed since; return the error to raise.

    Nobody has seen it yet. The agent reads the note again.
    """
    Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING).delete()
    return NotesChanged([change["id"] for change in proposal.current_revision.note_changes])


# -- steps ----------------------------------------------------------------------------------------


def _verdict(by: ChangeContext, agent: Agent, owner: str, kind: Kind, made: NoteChangeResult) -> trust.Verdict:
    """Return whether the change is applied at once; never where it shows a secret."""
    weight = trust.Weight.of(made.summary)
    found = trust.verdict(owner, agent, kind=kind, weight=weight, may_apply=by.may_apply)
    if found.applies and flags.SECRETS in made.fields["risks"]:
        return trust.Verdict(applies=False, reason=ReviewReason.SECRETS, rule=found.rule)
    return found


def _prepare(
    by: ChangeContext,
    agent: Agent,
    owner: str,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    made: NoteChangeResult,
    verdict: trust.Verdict,
    base_commit: str | None,
    repeated: Repeated | None,
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row, unless an equal proposal exists. Return the proposal and whether it is new."""
    waits = not verdict.applies
    is_import = kind == Kind.IMPORT
    operation = by.operation or uuid.uuid4().hex
    target = f"import-{operation[:12]}" if is_import else changes[0].id
    base = base_commit or retrying(head_of_main)
    now = timezone.now()
    proposal = Proposal(
        owner=owner,
        target_kind=TargetKind.IMPORT if is_import else TargetKind.NOTE,
        target=target,
        kind=kind,
        agent=agent,
        auto_applied=not waits,
        review_reason=verdict.reason,
        **by.as_fields(),
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(len(changes)),
        search_words=made.search_words(target, by.reasoning),
        **made.fields,
    )
    found = repeated.earlier.pk if repeated else find_answered(proposal, made.summary.segments, made.after)
    proposal.answers_id = found
    with transaction.atomic(durable=True):
        if waits:  # changes that policy applies do not count against the caps
            same = {"kind": kind, "result_sha256": made.fields["result_sha256"]}
            if twin := find_equal_or_require_room(agent, owner, **same).twin:
                return twin, False
        require_new_reasoning(repeated)
        insert_prepared(
            proposal,
            has_branch=waits,
            base_commit=base,
            base_sha256="",
            base_text=made.before,
            edits=[],
            result_text=made.after,
            note_changes=made.stored,
            risk_report=made.summary.risk_report.as_json() if is_import else None,
        )
        if is_import and waits:
            name_notes(proposal, [change.id for change in changes])
    return proposal, True


def name_notes(proposal: Proposal, ids: Sequence[str]) -> None:
    """Write the `ProposedNote` rows of a waiting import."""
    named = (ProposedNote(proposal=proposal, note_id=id_) for id_ in ids)
    ProposedNote.objects.bulk_create(named, batch_size=BATCH)


def _outcome(proposal: Proposal, *, created: bool = True) -> NoteChangeOutcome:
    changes = tuple(
        NoteChange(
            change["id"],
            reads.Note.from_json(change["before"]) if change["before"] else None,
            reads.Note.from_json(change["after"]) if change["after"] else None,
        )
        for change in proposal.current_revision.note_changes
    )
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, created)


# -- An agent amends its undecided proposal about notes: the change it asks for now becomes the next revision.


def find(by: ChangeContext, owner: str) -> Proposal:
    """Return the proposal that a call is to amend.

    Raises:
        ProposalNotFound: this actor has no proposal with this number for this owner.
    """
    if not isinstance(by.actor, Agent) or by.amends is None:
        raise ProposalNotFound
    return amend.own_proposal(by.actor, owner, by.amends)


def new_note_id(by: ChangeContext, owner: str, note_id: str | None) -> str | None:
    """Return the id of the new note that a call amends; `note_id` when it amends nothing.

    Raises:
        ProposalNotFound, OtherTarget: it is not the proposal of a new note, or not of this one.
    """
    if by.amends is None:
        return note_id
    proposal = find(by, owner)
    if proposal.kind != Kind.SAVE or note_id not in (None, proposal.target):
        raise OtherTarget(proposal)
    return proposal.target


def amend_change(
    by: ChangeContext,
    proposal: Proposal,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    base_commit: str | None = None,
) -> NoteChangeOutcome:
    """Ask for `changes` in an undecided proposal.

    Args:
        base_commit: the commit of main the notes were read at; the head of main by default.

    Raises:
        OtherTarget: the proposal is about another note, or one of them is an import.
        NothingAmended: it asks for exactly this already, on the current notes, and no other evidence is given.
        NotesChanged: a note changed since it was read.
        AlreadyDecided, BeingDecided, BeingMade, TooManyRevisions.
    """
    proposal = amend.require_amendable(proposal, finish)
    if kind != Kind.IMPORT:
        amend.require_target(proposal, TargetKind.NOTE, changes[0].id)
    elif proposal.kind != Kind.IMPORT:
        raise OtherTarget(proposal)
    said = flags.said_with(by.reasoning or proposal.reasoning, by.evidence or proposal.evidence)
    made = assess_changes(kind, changes, said=said)
    former = proposal.current_revision
    if _is_same(proposal, made, kind) and list(by.evidence) in ([], proposal.evidence):
        raise NothingAmended(proposal)
    base = base_commit or retrying(head_of_main)
    _require_unchanged(proposal.owner, changes, base)
    amend.begin(
        proposal,
        operation=by.operation,
        said={"reasoning": by.reasoning, "session_id": by.session_id, "evidence": list(by.evidence)},
        values={
            "kind": kind,
            "search_words": made.search_words(proposal.target, by.reasoning or proposal.reasoning),
            **made.fields,
        },
        also=lambda: _name_notes_again(proposal, changes),
        base_commit=base,
        base_sha256="",
        base_text=made.before,
        edits=[],
        result_text=made.after,
        note_changes=made.stored,
        risk_report=made.summary.risk_report.as_json() if kind == Kind.IMPORT else None,
    )
    proposal = finish(proposal, is_mine=True)
    amend.drop_former_branch(proposal, former)
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, amended=True)


def _is_same(proposal: Proposal, made: NoteChangeResult, kind: Kind) -> bool:
    """Whether the proposal asks for the same already, of the same notes as they are now."""
    before = [_before(change) for change in proposal.current_revision.note_changes]
    same = proposal.result_sha256 == made.fields["result_sha256"] and proposal.kind == kind
    return same and before == [_before(change) for change in made.stored]


def _before(change: dict[str, Any]) -> tuple[str, str]:
    return change["id"], change["before"]["sha256"] if change["before"] else ""


def _require_unchanged(owner: str, changes: tuple[NoteChange, ...], commit: str) -> None:
    """Raise NotesChanged unless the notes are at `commit` as they were read: the branch is written on top of it."""
    found = reads.find_notes(owner, [change.id for change in changes], commit)
    if any(sha256_of(found.get(change.id)) != sha256_of(change.before) for change in changes):
        raise NotesChanged([change.id for change in changes])


def _name_notes_again(proposal: Proposal, changes: tuple[NoteChange, ...]) -> None:
    if proposal.kind == Kind.IMPORT:
        ProposedNote.objects.filter(proposal=proposal).delete()
        name_notes(proposal, [change.id for change in changes])


# -- Notes in undecided proposals, which their agent may change or withdraw before the decision.


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


def amend_waiting(by: ChangeContext, proposal: Proposal, note_id: str, fields: dict[str, Any]) -> NoteChangeOutcome:
    """Change the fields of an undecided note, in a new revision of its proposal.

    Raises:
        NoteWaits: it is in an import, which is decided as a whole.
        NoteInvalid, NothingAmended, OtherTarget, BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    proposal = amend.require_amendable(proposal, finish)
    note = Note.from_json(proposal.current_revision.note_changes[0]["after"])
    after = stamped(replace(note, **fields), timezone.now())
    require_valid(after)
    if sha256_of(after) == sha256_of(note) and by.amends is None and not proposal.is_with_agent:
        return NoteChangeOutcome((NoteChange(note_id, None, note),), "", proposal, created=False)
    return amend_change(by, proposal, Kind.SAVE, (NoteChange(note_id, None, after),))


def take_back(by: ChangeContext, proposal: Proposal, note_id: str) -> NoteChangeOutcome:
    """Withdraw the proposal of an undecided note.

    Raises:
        NoteWaits: it is in an import, which is withdrawn as a whole.
        BeingMade, BeingDecided, AlreadyDecided.
    """
    _require_alone(by, proposal, note_id)
    if proposal.status == Status.PREPARING:
        proposal = finish(proposal)
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
        raise OtherTarget(find(by, proposal.owner))
