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

from approvals.models import Agent, Kind, Proposal, ProposedNote, ReviewReason, Status, TrustRule
from approvals.review import trust
from approvals.review.turn.proposed_again import said_of_note
from approvals.risks import flags
from approvals.services.branches import branch_name
from approvals.services.caps import find_equal_or_require_room, pending_of, require_room
from approvals.services.errors import NotesChanged
from approvals.services.notes.compare import NoteChangeResult, assess_changes
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome
from approvals.services.preparing import finish_once, finish_preparing, insert_prepared, lease_of
from approvals.services.texts import require_texts
from approvals.services.trust import applying
from approvals.services.turn.answering import find_answered
from approvals.services.turn.next_revision import made_before
from approvals.services.turn.repeating import Repeated, find_repeated, require_new_reasoning, verdict_of
from memory_app import reads
from memory_app.databases.batches import BATCH
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import TargetKind
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


def require_room_unless_applied(by: ChangeContext, agent: Agent, owner: str, kind: Kind) -> None:
    """Raise TooManyPending or MemoryFull as a proposal would.

    Called before comparing texts that the agent may not read: the order of refusals would reveal their content.
    """
    if by.amends is not None:
        return
    if not trust.verdict(owner, agent, kind=kind, may_apply=by.may_apply, may_read=by.may_read).applies:
        require_room(agent, owner)


def refuse_repeated_unread(by: ChangeContext, agent: Agent, owner: str, changes: Sequence[NoteChange]) -> None:
    """Raise RejectedBefore as `change` would, before comparing with texts that the agent may not read.

    Called first for the same reason as `require_room_unless_applied`.
    """
    repeated = _find_repeated(by, agent, owner, [each.as_json() for each in changes])
    if repeated and not pending_of(agent, owner).filter(answers=repeated.earlier).exists():
        require_new_reasoning(repeated)


def _find_repeated(by: ChangeContext, agent: Agent, owner: str, changes: Sequence[dict[str, Any]]) -> Repeated | None:
    said = [said_of_note(change, may_read=by.may_read) for change in changes]
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
    found = trust.verdict(owner, agent, kind=kind, weight=weight, may_apply=by.may_apply, may_read=by.may_read)
    if found.applies and _shows_secret(by, made, flags.said_with(by.reasoning, by.evidence)):
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
            # An import contains only what differs from the memory: an equal one would reveal the memory's content.
            may_tell = by.may_read or not is_import
            same = {"kind": kind, "result_sha256": made.fields["result_sha256"]}
            if twin := find_equal_or_require_room(agent, owner, may_tell=may_tell, **same).twin:
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
