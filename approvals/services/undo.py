"""Taking a decision back: the proposal waits for a person again, as its agent proposed it.

What an approval had brought into the memory is taken out of it by a new commit. An automatic change does not wait for a
person afterwards: undoing it rejects it. People who may decide may undo. Called through `approvals.services`;
`approvals.recovery` finishes what a crash left.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import Any, NoReturn

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.language import grouped
from approvals.models import (
    DECIDABLE,
    TAKEN,
    Event,
    Kind,
    Proposal,
    ProposalQuerySet,
    RejectReason,
    ReviewReason,
    Revision,
    Status,
    User,
)
from approvals.permissions import ReviewAction, available_actions, may_decide
from approvals.recovery.ledger import revert_operation
from approvals.review.targets import WHOLE_KINDS, agents_revision, sha256_kept, targets_of
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services import events, repeating
from approvals.services.checks import UNDECIDED, raise_not_open, visible_proposal
from approvals.services.close import close_row
from approvals.services.errors import AlreadyUndone, BeingDecided, ChangedSince, DecisionRefused, not_allowed
from approvals.services.hand_back import take_back_others
from approvals.services.preparing import drop_branches, lease_of, name_notes, write_again
from approvals.services.recheck import after_change, mergeability_of
from approvals.services.writing import entry_of, write_main
from memory_app import reads
from memory_app.databases import clock
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import NothingToCommit, RevisionNotFound
from memory_app.dolt.placement import database_for, database_of
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.runtime import deadlines
from memory_app.text.trailers import Trailers
from memory_app.writing import ledger, rows

log = structlog.get_logger(__name__)

#: Seconds to wait for another call that undoes the same decision; that usually takes 50 ms.
_PATIENCE = 5.0


def undo(*, actor: User, proposal_id: int, seen_sha256: str | None = None, comment: str = "") -> Proposal:
    """Undo the decision about a proposal, which is open again, with another term, and keeps its place in lists.

    An approval is reverted by a new commit; so is an automatic change, which stays closed with `reverted_by_commit`, as
    does an approval of which the memory or the proposal no longer has what was proposed.

    Args:
        seen_sha256: `UndoPlan.seen_sha256` of the plan a person was shown and confirmed. Without it, nothing is undone
            that changed after the decision. Not needed for a rejection.
        comment: why, for the agent and the history; may be empty.

    Raises:
        ProposalNotFound, `not_allowed`: as for deciding.
        DecisionRefused: there is no decision, or it cannot be taken back. AlreadyUndone: it was undone before.
        ChangedSince: the memory changed since the decision, or since the plan was shown.
        ChangedSince: a later change touches the same text.
        EngineUnavailable, OutcomeUnknown: it could not be finished now; `recover` finishes it.
    """
    proposal = visible_proposal(actor, proposal_id)
    if ReviewAction.UNDO not in available_actions(actor, proposal):
        _raise_not_undoable(actor, proposal)
    if proposal.status in TAKEN:
        _revert(proposal, actor, seen_sha256, comment.strip())
    else:
        _reopen(proposal, actor, comment.strip())
    revision = proposal.current_revision
    # It is there already where `recover` found it before the row was written.
    if not proposal.is_decided and not dolt(proposal.owner).exists(revision.branch):
        revision.head_commit = write_again(proposal, revision)
        revision.save(update_fields=["head_commit"])
    return proposal


def _raise_not_undoable(actor: User, proposal: Proposal) -> NoReturn:
    """Raise the refusal that says why there is nothing to undo."""
    if not may_decide(actor, proposal.owner):
        raise not_allowed(proposal)
    if proposal.reverted_by_commit:
        raise _decided_anew(proposal)
    if proposal.status == Status.WITHDRAWN:
        who = {"agent": proposal.agent.name}
        raise DecisionRefused(proposal, _("%(agent)s withdrew this. Only %(agent)s can propose it again.") % who)
    if proposal.is_redacted:
        raise DecisionRefused(
            proposal, _("The texts of this proposal were removed for good, so it cannot be opened again.")
        )
    if proposal.status in DECIDABLE:
        if proposal.events.filter(what__in=UNDONE, actor_kind=Event.ActorKind.PERSON).exists():
            raise _decided_anew(proposal)
        raise DecisionRefused(proposal, _("This proposal is not decided yet: there is nothing to undo."))
    raise_not_open(proposal, proposal.current_revision_number)


#: Events by which a decision is undone.
UNDONE = (Event.What.REOPENED, Event.What.REVERTED)


def _decided_anew(proposal: Proposal) -> AlreadyUndone | BeingDecided:
    """Return why the decision about a proposal, as it is now, is not to be undone any more."""
    if not proposal.is_decided:
        return AlreadyUndone(proposal, _("This proposal is open again already."))
    if proposal.reverted_by_commit:
        return AlreadyUndone(proposal, _("This was undone already."))
    return BeingDecided(proposal, _("This proposal was decided again this moment. Look at it again."))


# -- Of several calls one opens the proposal: first its branch is made, then its row is changed.


def _as_read(proposal: Proposal) -> ProposalQuerySet:
    """Select the row if its decision still is the one that was read, with the same texts."""
    names = ("pk", "status", "decided_at", "merge_commit", "reverted_by_commit", "redacted_at")
    return Proposal.objects.filter(**{name: getattr(proposal, name) for name in names})


@contextmanager
def _held(proposal: Proposal) -> Iterator[None]:
    """Hold a decided proposal while it is undone, after waiting for another call that holds it.

    Raises:
        AlreadyUndone, BeingDecided: another call undid it, decided it again or removed its texts.
    """
    database_for(proposal.owner)
    row, duration = _as_read(proposal), lease_of(len(proposal.current_revision.note_changes))
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while not row.without_lease().update(lease_expires_at=(lease := clock.now() + duration)):
        if not row.exists():
            proposal.refresh_from_db()
            raise _decided_anew(proposal)
        if time.monotonic() >= end:
            raise BeingDecided(proposal, _("This decision is being undone. Look at it again in a moment."))
        time.sleep(0.02)
    try:
        yield
    except Exception:
        Proposal.objects.filter(pk=proposal.pk, lease_expires_at=lease).update(lease_expires_at=None)
        raise


def _made_ready(proposal: Proposal) -> Revision | None:
    """Return what the agent proposed, with its branch; None where that is not to wait for a person, or cannot."""
    if proposal.status == Status.APPLIED or proposal.is_redacted:
        return None
    revision = agents_revision(proposal)
    try:
        revision.head_commit = write_again(proposal, revision)
    except (RevisionNotFound, reads.BlockNotFound, rows.TargetMoved):
        log.warning("branch_not_made_again", proposal=proposal.pk, base=revision.base_commit)
        return None
    return revision


def _wait_again(proposal: Proposal, revision: Revision) -> bool:
    """Let a proposal, as it was read, wait for a person with this revision. Return whether it does by this call.

    Call it inside a transaction, after the memory has changed.
    """
    now = timezone.now()
    values = {
        **UNDECIDED,
        "current_revision_number": revision.number,
        "mergeability": mergeability_of(proposal.owner, [(proposal, revision)])[0],
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "reminded_at": None,
        "owner_reminded_at": None,
        "updated_at": now,
    }
    if not _as_read(proposal).update(**values):
        return False
    revision.save(update_fields=["head_commit"])
    proposal.hold_current_revision(revision)
    proposal.set_written(values)
    name_notes(proposal)
    repeating.forget(proposal.pk)
    return True


# -- A rejection, or what has expired.


def _reopen(proposal: Proposal, actor: User, comment: str) -> None:
    same = Q(kind=proposal.kind, target_kind=proposal.target_kind, result_sha256=proposal.result_sha256)
    if proposal.target_kind == TargetKind.BLOCK:
        same &= Q(target=proposal.target)
    # Else one change would wait twice.
    if again := _waiting(proposal).filter(same | Q(answers=proposal)).order_by("pk").first():
        raise DecisionRefused(
            proposal,
            _("%(agent)s has proposed this again: decide proposal %(number)d.")
            % {"agent": proposal.agent.name, "number": again.pk},
        )
    decided, reason = proposal.status, proposal.decision_reason
    with _held(proposal):
        revision = _made_ready(proposal)
        if revision is None:
            raise DecisionRefused(
                proposal, _("The memory no longer has the text this was made on. The agent can propose it again.")
            )
        with transaction.atomic(durable=True):
            if opened := _wait_again(proposal, revision):
                events.record(proposal, Event.What.REOPENED, actor=actor, text=comment, decided=decided, reason=reason)
    proposal.refresh_from_db()
    if not opened:
        if proposal.is_decided:
            drop_branches(proposal)
        raise _decided_anew(proposal)
    log.info("proposal_reopened", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)


def _waiting(proposal: Proposal) -> ProposalQuerySet:
    """Return what else waits of the same agent for the same owner."""
    return Proposal.objects.pending_of(proposal.agent, proposal.owner).exclude(pk=proposal.pk)


# -- An approval, or an automatic change.


def _revert(proposal: Proposal, actor: User, seen_sha256: str | None, comment: str) -> None:
    """Write the memory as it was before the decision, in one commit in this person's name, and open the proposal."""
    try:
        plan = plan_undo(proposal)
    except RevisionNotFound:
        raise DecisionRefused(proposal, _("The memory no longer has the commit of this decision.")) from None
    if not plan.is_exact and (done := _made_before(proposal)):
        _finish_found(proposal, done)
        return
    _require_doable(plan, seen_sha256)
    entry = _entry(proposal, actor, comment)
    with _held(proposal):
        revision = _made_ready(proposal)
        ledger.announce(entry)
        # One that was announced and not made may be another person's.
        DirectWrite.objects.filter(pk=entry.operation).update(actor=actor.username, comment=comment)
        try:
            made = write_main(
                plan.writes,
                entry=entry,
                by=actor,
                subject=f"Revert {proposal.kind} of {proposal.target}",
                on_record=partial(_take_back, proposal, actor, comment, revision),
            )
        except (rows.TargetMoved, NothingToCommit) as error:
            if done := _made_before(proposal):
                _finish_found(proposal, done)
                return
            DirectWrite.objects.filter(pk=entry.operation, actor=actor.username).delete()
            raise ChangedSince(proposal, _changed_this_moment()) from error
    _after(proposal, made)


def finish_reverting(proposal: Proposal, made: Change) -> None:
    """Update the proposal from the revert's row in the ledger, `made`; also used by `recover`.

    Raises:
        AlreadyUndone, BeingDecided: another call was faster.
    """
    revision = _made_ready(proposal)
    with transaction.atomic(durable=True):
        _take_back(proposal, User.objects.get(username=made.actor), made.comment, revision, made.commit)
    _after(proposal, made)


def _finish_found(proposal: Proposal, done: Commit) -> None:
    """Finish what another call committed, which may be another person's and may have died since."""
    person = User.objects.get(username=Trailers.of(done.message).person)
    entry = _entry(proposal, person, "")
    if announced := DirectWrite.objects.filter(pk=entry.operation, actor=person.username).first():
        entry = replace(entry, comment=announced.comment)
    finish_reverting(proposal, ledger.record_found(database_of(proposal.owner), done, entry))


def _made_before(proposal: Proposal) -> Commit | None:
    operation = revert_operation(proposal, proposal.merge_commit)
    return dolt(proposal.owner).find_operation(operation, proposal.merge_commit)


def _entry(proposal: Proposal, actor: User, comment: str) -> ledger.LedgerEntry:
    undoes = proposal.merge_commit
    operation = revert_operation(proposal, undoes)
    return entry_of(proposal, Change.Action.REVERTED, operation, actor=actor, comment=comment, undoes=undoes)


def _take_back(proposal: Proposal, person: User, comment: str, revision: Revision | None, commit: str) -> None:
    """Open the proposal, or mark it as undone, in the transaction that records the commit; only the first call does."""
    data: dict[str, Any] = {"commit": commit}
    if revision:
        if not _wait_again(proposal, revision):
            return
        data["waits"] = True
        if proposal.review_reason == ReviewReason.REPEATED and proposal.answers:
            repeating.remember(proposal.answers)  # it was forgotten when this one was approved
        _close_rest(proposal)
    else:
        values = {"reverted_by_commit": commit, "lease_expires_at": None, "updated_at": timezone.now()}
        if not _as_read(proposal).update(**values):
            return
        proposal.set_written(values)
        if proposal.status == Status.APPLIED:
            repeating.remember(proposal)
    events.record(proposal, Event.What.REVERTED, actor=person, text=comment, **data)


def _after(proposal: Proposal, made: Change) -> None:
    """Take the steps that follow on `_take_back`. Raises AlreadyUndone, BeingDecided if another call had taken it."""
    was_first = not proposal.holds
    proposal.refresh_from_db()
    if not was_first:
        raise _decided_anew(proposal)
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=made.actor)
    after_undoing(proposal)


def after_undoing(proposal: Proposal) -> None:
    """Take the steps that follow on an approval's undoing; taking them again is harmless."""
    for rest in proposal.answered_by.filter(status=Status.REJECTED):
        drop_branches(rest)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))
    if proposal.kind in WHOLE_KINDS:
        take_back_others(proposal)


#: What the agent is told with what is closed; data of the contract, so not translated.
WAITS_AGAIN = "The approval of proposal {} was undone: all of it waits there again, with this change."


def _close_rest(proposal: Proposal) -> None:
    """Close what the agent proposed anew of an approval in part, in the same words: it waits in this one again.

    What says something else, and what a person has taken up, waits beside it.
    """
    asked = {_said(change) for change in proposal.current_revision.note_changes}
    for other in _waiting(proposal).filter(answers=proposal, status__in=DECIDABLE).select_related("agent"):
        changes = {_said(change) for change in other.current_revision.note_changes}
        is_same = changes <= asked if changes else other.result_sha256 == proposal.result_sha256
        if not is_same or other.events.filter(actor_kind=Event.ActorKind.PERSON).exists():
            continue
        fields = {"decision_reason": RejectReason.DUPLICATE}
        close_row(other, Status.REJECTED, actor=None, comment=WAITS_AGAIN.format(proposal.pk), fields=fields)


def _said(change: dict[str, Any]) -> tuple[str, str | None]:
    return change["id"], sha256_kept(change["after"])


def _require_doable(plan: UndoPlan, seen_sha256: str | None) -> None:
    proposal = plan.proposal
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
            "over": grouped(plan.over_limit)
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
