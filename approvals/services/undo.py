"""Taking a decision back: an approval or an automatic change by a new commit, a rejection by reopening it.

Whoever may decide may undo. Called through `approvals.services`; `approvals.recovery` finishes what a crash left.
"""

import time
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, NoReturn

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import DECIDABLE, TAKEN, Event, Kind, Mergeability, Proposal, Revision, Status, User
from approvals.permissions import ReviewAction, available_actions, may_decide
from approvals.recovery.ledger import revert_operation
from approvals.review.targets import WHOLE_KINDS, current_state, targets_of
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services import events, repeating
from approvals.services.checks import UNDECIDED, raise_not_open, visible_proposal
from approvals.services.errors import AlreadyUndone, BeingDecided, ChangedSince, DecisionRefused, not_allowed
from approvals.services.hand_back import take_back_others
from approvals.services.preparing import drop_branches, lease_of, name_notes, write_revision_branch
from approvals.services.recheck import after_change
from approvals.services.writing import entry_of, write_main
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import DoltError, NothingToCommit, RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.runtime import deadlines
from memory_app.text.trailers import Trailers
from memory_app.writing import ledger, rows

log = structlog.get_logger(__name__)

#: Seconds to wait for another call that opens the same proposal; that usually takes 50 ms.
_PATIENCE = 5.0


def reopen(proposal: Proposal, actor: User, *, comment: str) -> Proposal:
    """Open a rejected or expired proposal again, with another term: first its branch, from its texts, then its row.

    Arguments and errors are those of `undo`.
    """
    _require_not_proposed_again(proposal)
    revision = proposal.current_revision
    decided, reason = proposal.status, proposal.decision_reason
    as_read = {"status": proposal.status, "decided_at": proposal.decided_at, "redacted_at": None}
    lease = _take_lease(proposal, as_read)
    try:
        head = _branch_again(proposal, revision)
    except Exception:
        Proposal.objects.filter(pk=proposal.pk, lease_expires_at=lease).update(lease_expires_at=None)
        raise
    now = timezone.now()
    values = {
        **UNDECIDED,
        "mergeability": _mergeability(proposal, revision),
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "reminded_at": None,
        "owner_reminded_at": None,
        "updated_at": now,
    }
    with transaction.atomic(durable=True):
        opened = Proposal.objects.filter(pk=proposal.pk, **as_read).update(**values)
        if opened:
            Revision.objects.filter(pk=revision.pk).update(head_commit=head)
            name_notes(proposal)
            repeating.forget(proposal.pk)
            events.record(proposal, Event.What.REOPENED, actor=actor, text=comment, decided=decided, reason=reason)
    proposal.refresh_from_db()
    if not opened:
        if proposal.is_decided:
            drop_branches(proposal)
        raise _changed_since(proposal)
    if not dolt().exists(revision.branch):  # `recover` found it between the two steps
        Revision.objects.filter(pk=revision.pk).update(head_commit=_branch_again(proposal, revision))
        proposal.refresh_from_db()
    log.info("proposal_reopened", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
    return proposal


def _take_lease(proposal: Proposal, as_read: dict[str, Any]) -> datetime:
    """Wait until no other call opens the proposal, and keep others waiting until the time that is returned.

    Raises AlreadyUndone, BeingDecided: another call opened it, decided it again or removed its texts.
    """
    duration = lease_of(len(proposal.current_revision.note_changes))
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while True:
        until = timezone.now() + duration
        rows_as_read = Proposal.objects.filter(pk=proposal.pk, **as_read)
        if rows_as_read.without_lease().update(lease_expires_at=until):
            return until
        if not rows_as_read.exists():
            proposal.refresh_from_db()
            raise _changed_since(proposal)
        if time.monotonic() >= end:
            raise BeingDecided(proposal, _("This proposal is being opened again. Look at it again in a moment."))
        time.sleep(0.02)


def _changed_since(proposal: Proposal) -> AlreadyUndone | BeingDecided:
    """Return why a proposal, as it is now, is not to be opened any more."""
    if proposal.is_decided:  # again, or its texts were removed
        return BeingDecided(proposal, _("This proposal was decided again this moment. Look at it again."))
    return AlreadyUndone(proposal, _("This proposal is open again already."))


def _branch_again(proposal: Proposal, revision: Revision) -> str:
    try:
        return write_revision_branch(proposal, revision)
    except (RevisionNotFound, reads.BlockNotFound, rows.TargetMoved) as error:
        raise DecisionRefused(
            proposal, _("The memory no longer has the text this was made on. The agent can propose it again.")
        ) from error


def _mergeability(proposal: Proposal, revision: Revision) -> Mergeability:
    try:
        return current_state(proposal, revision).assess(revision).state
    except DoltError:
        log.exception("target_unreadable", proposal=proposal.pk)
        return Mergeability.UNKNOWN


def _require_not_proposed_again(proposal: Proposal) -> None:
    """Raise DecisionRefused if its agent has proposed it again since: one change would wait twice."""
    waiting = Proposal.objects.pending_of(proposal.agent, proposal.owner).exclude(pk=proposal.pk)
    same = waiting.filter(kind=proposal.kind, target_kind=proposal.target_kind, result_sha256=proposal.result_sha256)
    if proposal.target_kind == TargetKind.BLOCK:
        same = same.filter(target=proposal.target)
    if again := (same | waiting.filter(answers=proposal)).order_by("pk").first():
        raise DecisionRefused(
            proposal,
            _("%(agent)s has proposed this again: decide proposal %(number)d.")
            % {"agent": proposal.agent.name, "number": again.pk},
        )


def undo(*, actor: User, proposal_id: int, seen_sha256: str | None = None, comment: str = "") -> Proposal:
    """Undo the decision about a proposal.

    An approval, or an automatic change, is reverted by a new commit; the proposal keeps its status, with
    `reverted_by_commit`. A rejected or expired proposal is open again.

    Args:
        seen_sha256: `UndoPlan.seen_sha256` of the plan a person was shown and confirmed. Without it, nothing is undone
            that changed after the decision. Not needed for a rejection.
        comment: why, for the agent and the history; may be empty.

    Raises:
        ProposalNotFound, `not_allowed`: as for deciding.
        DecisionRefused: there is no decision, or it cannot be taken back. AlreadyUndone: somebody did before.
        ChangedSince: the memory changed since the decision, or since the plan was shown.
        ChangedSince: a later change touches the same text.
        EngineUnavailable, OutcomeUnknown: it could not be finished now; `recover` finishes it.
    """
    proposal = visible_proposal(actor, proposal_id)
    if ReviewAction.UNDO not in available_actions(actor, proposal):
        _raise_not_undoable(actor, proposal)
    if proposal.status in TAKEN:
        return revert(proposal, actor, seen_sha256=seen_sha256, comment=comment.strip())
    return reopen(proposal, actor, comment=comment.strip())


def _raise_not_undoable(actor: User, proposal: Proposal) -> NoReturn:
    """Raise the refusal that says why there is nothing to undo."""
    if not may_decide(actor, proposal.owner):
        raise not_allowed(proposal)
    if proposal.reverted_by_commit:
        raise AlreadyUndone(proposal, _("This was undone already."))
    if proposal.status == Status.WITHDRAWN:
        who = {"agent": proposal.agent.name}
        raise DecisionRefused(proposal, _("%(agent)s withdrew this. Only %(agent)s can propose it again.") % who)
    if proposal.is_redacted:
        raise DecisionRefused(
            proposal, _("The texts of this proposal were removed for good, so it cannot be opened again.")
        )
    if proposal.status in DECIDABLE:
        if proposal.events.filter(what=Event.What.REOPENED, actor_kind=Event.ActorKind.PERSON).exists():
            raise AlreadyUndone(proposal, _("This proposal is open again already."))
        raise DecisionRefused(proposal, _("This proposal is not decided yet: there is nothing to undo."))
    raise_not_open(proposal, proposal.current_revision_number)


def revert(proposal: Proposal, actor: User, *, seen_sha256: str | None, comment: str) -> Proposal:
    """Write the memory as it was before an approval, or an automatic change: one new commit in this person's name.

    Arguments and errors are those of `undo`.
    """
    try:
        plan = plan_undo(proposal)
    except RevisionNotFound:
        raise DecisionRefused(proposal, _("The memory no longer has the commit of this decision.")) from None
    if not plan.is_exact and (done := _made_before(proposal)):
        return _finish_found(proposal, done)
    _require_doable(plan, seen_sha256)
    operation = revert_operation(proposal)
    entry = _announced(entry_of(proposal, Change.Action.REVERTED, operation, actor=actor, comment=comment))
    try:
        made = write_main(
            plan.writes,
            entry=entry,
            by=actor,
            subject=f"Revert {proposal.kind} of {proposal.target}",
            on_record=partial(_close_reverted, proposal, actor, entry.comment),
        )
    except (rows.TargetMoved, NothingToCommit) as error:
        if done := _made_before(proposal):
            return _finish_found(proposal, done)
        DirectWrite.objects.filter(pk=entry.operation, actor=actor.username).delete()
        raise ChangedSince(proposal, _changed_this_moment()) from error
    _after(proposal, made)
    return proposal


def finish_reverting(proposal: Proposal, made: Change) -> None:
    """Update the proposal from the revert's row in the ledger, `made`; used by `recover`."""
    with transaction.atomic(durable=True):
        _close_reverted(proposal, User.objects.get(username=made.actor), made.comment, made.commit)
    _after(proposal, made)


def _close_reverted(proposal: Proposal, person: User, comment: str, commit: str) -> None:
    now = timezone.now()
    row = Proposal.objects.filter(pk=proposal.pk, reverted_by_commit="")
    reverted = row.update(reverted_by_commit=commit, updated_at=now)
    proposal.reverted_by_commit = commit
    if reverted:
        repeating.forget(proposal.pk)
        repeating.remember(proposal)
        events.record(proposal, Event.What.REVERTED, actor=person, text=comment, commit=commit)


def _after(proposal: Proposal, made: Change) -> None:
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=made.actor)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))
    if proposal.kind in WHOLE_KINDS:
        take_back_others(proposal)


def _finish_found(proposal: Proposal, done: Commit) -> Proposal:
    """Finish what another call committed, which may be another person's and may have died since."""
    person = User.objects.get(username=Trailers.of(done.message).person)
    operation = revert_operation(proposal)
    announced = DirectWrite.objects.filter(pk=operation, actor=person.username).first()
    comment = announced.comment if announced else ""
    entry = entry_of(proposal, Change.Action.REVERTED, operation, actor=person, comment=comment)
    close = partial(_close_reverted, proposal, person, comment)
    _after(proposal, ledger.record(done.hash, entry, at=ledger.time_of(done), on_record=close))
    return proposal


def _made_before(proposal: Proposal) -> Commit | None:
    return dolt().find_operation(revert_operation(proposal), proposal.merge_commit)


def _announced(entry: ledger.LedgerEntry) -> ledger.LedgerEntry:
    """Write why the commit is made before it is made, since no words are in the log. Return the entry to record.

    Of two people who undo at once the first is named in the announcement; the other's reason is left out, because a
    rebuilt ledger could not have it either.
    """
    ledger.announce(entry)
    mine = Q(actor=entry.actor) | Q(at__lt=timezone.now() - settings.LEASE)
    is_mine = DirectWrite.objects.filter(mine, pk=entry.operation).update(actor=entry.actor, comment=entry.comment)
    return entry if is_mine else replace(entry, comment="")


def _require_doable(plan: UndoPlan, seen_sha256: str | None) -> None:
    proposal = plan.proposal
    proposal.refresh_from_db(fields=["reverted_by_commit"])
    if proposal.reverted_by_commit:
        raise AlreadyUndone(proposal, _("This was undone already."))
    if not plan.can_be_done:
        raise ChangedSince(proposal, why_not(plan), code="undo_conflict")
    if plan.is_exact if seen_sha256 is None else plan.seen_sha256 == seen_sha256:
        return
    raise ChangedSince(
        proposal,
        _("The memory changed after this decision. Look at what undoing would do now, then confirm it.")
        if seen_sha256 is None
        else _changed_this_moment(),
    )


def why_not(plan: UndoPlan) -> str:
    """Return why a plan cannot be carried out, in a sentence."""
    is_block = plan.proposal.target_kind == TargetKind.BLOCK
    if not plan.is_there:
        return _("The memory no longer has this change, so there is nothing to undo.")
    if plan.over_limit:
        return _("With it undone, the block would be %(over)s characters over its limit.") % {
            "over": f"{plan.over_limit:,}"
        }
    if plan.proposal.kind == Kind.DELETE_BLOCK:
        return _(
            "There is a new block with this label, and undoing would overwrite it. Edit that block by hand instead."
        )
    if is_block:
        return _("A later change touches the same text, and undoing would lose it. Edit the block by hand instead.")
    return _("The note was changed again since, and undoing would lose that change. Edit the note instead.")


def _changed_this_moment() -> str:
    return _("The memory changed this moment. Look again at what undoing would do.")
