"""Agents change notes as their owner's policy allows: as a proposal for a person, or applied at once and reversible.

Row PREPARING → commit → APPLIED for what policy applies; other proposals continue like those of blocks. The policy is
read when the row is inserted, and again before the commit: assessing an import takes minutes, and `recover` may finish
it even later.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Agent, Event, Kind, Proposal, ProposedNote, ReviewReason, Status
from approvals.recovery.ledger import retry_after_committing_stray_rows
from approvals.review import policies
from approvals.review.targets import note_rows_to_write, targets_of
from approvals.risks import flags
from approvals.services import events
from approvals.services.branches import branch_name
from approvals.services.caps import find_equal_or_require_room, require_room
from approvals.services.errors import NotesChanged
from approvals.services.notes.compare import NoteChangeResult, assess_changes
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome
from approvals.services.preparing import finish_once, finish_preparing, insert_prepared, lease_of
from approvals.services.recheck import after_change
from approvals.services.texts import require_texts
from approvals.services.turn.answering import find_answered
from approvals.services.turn.next_revision import made_before
from memory_app import reads
from memory_app.databases.batches import BATCH
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import Change, TargetKind
from memory_app.writing import authors, commits, ledger, rows


def change(
    by: ChangeContext, agent: Agent, owner: str, kind: Kind, changes: tuple[NoteChange, ...], base_commit: str | None
) -> NoteChangeOutcome:
    """Apply the changes where the owner's policy and the agent's token allow it; propose them otherwise.

    Raises:
        NotesChanged, TooManyPending, MemoryFull, BeingMade: see `change_notes`.
    """
    if done := earlier_outcome(by):
        return done
    review_reason = _review_reason(by, owner)
    try:
        proposal, created = _prepare(by, agent, owner, kind, changes, review_reason, base_commit)
    except IntegrityError:
        return _outcome(finish(Proposal.objects.get(operation=by.operation)))
    return _outcome(finish(proposal, is_mine=created, is_new=created), created=created)


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


def require_room_unless_applied(by: ChangeContext, agent: Agent, owner: str) -> None:
    """Raise TooManyPending or MemoryFull as a proposal would.

    Called before comparing texts that the agent may not read: the order of refusals would reveal their content.
    """
    if by.amends is None and _review_reason(by, owner) is not None:
        require_room(agent, owner)


def finish(proposal: Proposal, *, is_mine: bool = False, is_resumed: bool = False, is_new: bool = False) -> Proposal:
    """Finish a PREPARING proposal: to APPLIED, or to OPEN for review; used by `change` and `recover`.

    Args:
        is_mine, is_resumed: see `finish_once`.
        is_new: the operation has just begun, so the log is not searched for its commit.

    Raises:
        NotesChanged: a note changed since; the proposal is deleted.
        AlreadyDecided: its texts were removed.
        BeingMade: see `finish_once`.
    """
    require_texts(proposal)
    return finish_once(proposal, partial(_finish, is_new=is_new), is_mine=is_mine, is_resumed=is_resumed)


def _finish(proposal: Proposal, *, is_new: bool = False) -> Proposal:
    if proposal.auto_applied:
        return _finish_applying(proposal, is_new=is_new)
    try:
        return finish_preparing(proposal)
    except rows.TargetMoved as error:
        commits.drop_branch(proposal.owner, proposal.current_revision.branch)
        raise _discard(proposal) from error


def _finish_applying(proposal: Proposal, *, is_new: bool) -> Proposal:
    revision = proposal.current_revision
    entry = ledger.LedgerEntry(
        action=Change.Action.APPLIED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=proposal.operation,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
    )
    close = partial(_close_applied, proposal)
    done = None if is_new else commits.find(proposal.owner, proposal.operation, since=revision.base_commit)
    was_asked_just_now = is_new and proposal.kind != Kind.IMPORT
    if done is None and not was_asked_just_now and not policies.notes_apply_at_once(proposal.owner):
        return _finish_waiting(proposal)
    if done is None:
        try:
            retry_after_committing_stray_rows(
                lambda: commits.write_main(
                    note_rows_to_write(proposal.owner, revision.note_changes),
                    entry=entry,
                    author=authors.agent(proposal.agent.name),
                    subject=f"Apply {proposal.kind} of {proposal.target} by policy",
                    since=revision.base_commit,
                    on_record=close,
                )
            )
        except rows.TargetMoved as error:
            # Another process may have finished it first, after the lease of a large import expired.
            done = commits.find(proposal.owner, proposal.operation, since=revision.base_commit)
            if done is None:
                raise _discard(proposal) from error
    if done:
        ledger.record(done.hash, entry, at=ledger.time_of(done), on_record=close)
    if proposal.status != Status.APPLIED:  # another process closed it
        proposal.refresh_from_db()
    after_change(proposal.owner, targets_of(proposal, revision), are_new=proposal.kind == Kind.SAVE)
    return proposal


def _close_applied(proposal: Proposal, commit: str) -> None:
    """Set APPLIED, in the transaction that records the commit in the ledger."""
    now = timezone.now()
    values = {
        "status": Status.APPLIED,
        "auto_applied": True,
        "review_reason": "",
        "merge_commit": commit,
        "decided_at": now,
        "lease_expires_at": None,
        "updated_at": now,
    }
    # Also from OPEN: another process that finished it may have read a newer policy and set it to OPEN. The change is
    # in the memory anyway, and can be reverted.
    events.close(
        proposal,
        values,
        Event.What.APPLIED,
        expected={"status": [Status.PREPARING, Status.OPEN]},
        actor=proposal.agent,
        text=proposal.reasoning,
        commit=commit,
    )


def _finish_waiting(proposal: Proposal) -> Proposal:
    """Turn an automatic change into a proposal for review: the owner's policy changed since it was inserted."""
    revision = proposal.current_revision
    with transaction.atomic(durable=True):
        waits = Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, auto_applied=True).update(
            auto_applied=False, review_reason=ReviewReason.POLICY, updated_at=timezone.now()
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


def _review_reason(by: ChangeContext, owner: str) -> ReviewReason | None:
    """Return why a person has to decide; None when policy applies the change."""
    if not policies.notes_apply_at_once(owner):
        return ReviewReason.POLICY
    return None if by.may_apply else ReviewReason.SCOPE


def _prepare(
    by: ChangeContext,
    agent: Agent,
    owner: str,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    review_reason: ReviewReason | None,
    base_commit: str | None,
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row, unless an equal proposal exists. Return the proposal and whether it is new."""
    said = flags.said_with(by.reasoning, by.evidence)
    made = assess_changes(kind, changes, said=said)
    if review_reason is None and _shows_secret(by, made, said):
        review_reason = ReviewReason.SECRETS
    waits = review_reason is not None
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
        review_reason=review_reason or "",
        **by.as_fields(),
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(len(changes)),
        search_words=made.search_words(target, by.reasoning),
        **made.fields,
    )
    proposal.answers_id = find_answered(proposal, made.summary.segments, made.after)
    with transaction.atomic(durable=True):
        if waits:  # changes that policy applies do not count against the caps
            # An import contains only what differs from the memory: an equal one would reveal the memory's content.
            may_tell = by.may_read or not is_import
            same = {"kind": kind, "result_sha256": made.fields["result_sha256"]}
            if twin := find_equal_or_require_room(agent, owner, may_tell=may_tell, **same):
                return twin, False
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


def _shows_secret(by: ChangeContext, made: NoteChangeResult, said: str) -> bool:
    """Whether the change, or the agent's reasoning or evidence, looks like it contains a key or a password.

    Policy does not apply such changes. If the agent may not read the memory, a secret that is already there counts too:
    applying the change would reveal that.
    """
    if by.may_read:
        return flags.SECRETS in made.fields["risks"]
    return any(map(flags.has_secret, (made.after, made.summary.beside[1], said)))


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
