"""Whose turn it is: hand a proposal back to its agent, and take it back to review.

OPEN → CHANGES_REQUESTED → PREPARING → OPEN with the next revision, when its agent amends it (`proposing.amend`). People
ask for it; Assent does for what no longer fits.
"""

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from approvals.models import Event, Kind, Mergeability, Proposal, RejectReason, Status, User
from approvals.permissions import ReviewAction
from approvals.review import turn
from approvals.review.collisions import others_on_target
from approvals.review.targets import TargetState, current_state
from approvals.services import events
from approvals.services.checks import block_of, proposal_for, raise_not_open, require_revision, visible_proposal
from approvals.services.close import close
from approvals.services.errors import DecisionRefused
from memory_app.dolt.errors import DoltError

log = structlog.get_logger(__name__)

#: Reasons of a request; a text that is too private is rejected, which removes it, and a duplicate needs no other words.
REASONS = (RejectReason.WRONG, RejectReason.OUTDATED, RejectReason.BADLY_WORDED)

#: An agent that is asked for changes has at least this long, also where the proposal would have expired sooner.
_TIME_TO_ANSWER = timedelta(days=7)


def request_changes(*, actor: User, proposal_id: int, revision: int, comment: str, reason: str = "") -> Proposal:
    """Ask the agent of an open proposal for changes: it is the agent's turn then.

    Args:
        revision: the revision the reviewer was shown.
        comment: what should change; not empty.
        reason: one of `REASONS`, or empty.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`.
        ValueError: no comment, or another reason; forms send neither.
    """
    comment = comment.strip()
    if not comment:
        raise ValueError("a request for changes says what should change")
    if reason and reason not in REASONS:
        raise ValueError(f"unknown reason {reason!r}")
    proposal = proposal_for(ReviewAction.REQUEST_CHANGES, actor, proposal_id, revision)
    with transaction.atomic(durable=True):
        is_handed_back = hand_back(proposal, actor=actor, comment=comment, reason=reason)
    if not is_handed_back:
        proposal.refresh_from_db()
        raise_not_open(proposal, revision)
    log.info("changes_requested", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
    return proposal


def back_to_review(*, actor: User, proposal_id: int, revision: int) -> Proposal:
    """Take a proposal back that its agent was asked to change. Idempotent.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`; `NewRevision` where the agent was faster.
    """
    proposal = visible_proposal(actor, proposal_id)
    if proposal.status == Status.OPEN:
        require_revision(proposal, revision)
        return proposal
    proposal = proposal_for(ReviewAction.BACK_TO_REVIEW, actor, proposal_id, revision, is_with_agent=True)
    require_revision(proposal, revision)
    if not _take_back(proposal, actor):
        proposal.refresh_from_db()
        raise_not_open(proposal, revision)
    return proposal


def _take_back(proposal: Proposal, actor: User | None) -> bool:
    """Let a proposal wait for a person again, if it is still as it was read. Return whether it was."""
    values = {"status": Status.OPEN, "handed_back_at": None}
    with transaction.atomic(durable=True):
        return events.move(proposal, values, Event.What.REOPENED, actor=actor)


def hand_back(proposal: Proposal, *, actor: events.Actor, comment: str = "", reason: str = "", **data: Any) -> bool:
    """Hand a proposal back to its agent if it is still as it was read. Return whether it was.

    Call it inside a transaction; nothing is checked but the status and the revision.

    Args:
        actor: None for Assent itself.
        data: more for the event; `automatic` says why Assent did it, instead of a comment.
    """
    now = timezone.now()
    values = {
        "status": Status.CHANGES_REQUESTED,
        "handed_back_at": now,
        "expires_at": max(proposal.expires_at, now + _TIME_TO_ANSWER),
        "lease_expires_at": None,
    }
    if reason:
        data["reason"] = reason
    return events.move(proposal, values, Event.What.CHANGES_REQUESTED, actor=actor, text=comment, at=now, **data)


#: What the agent is told with what is closed; data of the contract, so not translated.
ALREADY_APPLIED = "This is already in the memory; nothing was left to change."


def settle(*, now: datetime | None = None) -> int:
    """Hand back what has been in conflict, and close what has been in the memory, for the time set. Return how many.

    Args:
        now: the time to compare with, for tests.
    """
    now = now or timezone.now()
    conflicts = Proposal.objects.open().filter(
        mergeability=Mergeability.CONFLICT, updated_at__lte=now - settings.HAND_BACK_AFTER
    )
    present = Proposal.objects.decidable().filter(
        mergeability=Mergeability.ALREADY_APPLIED, updated_at__lte=now - settings.CLOSE_ALREADY_APPLIED_AFTER
    )
    settled = 0
    for proposal in [*conflicts.select_related("agent"), *present.select_related("agent")]:
        try:
            settled += _settle(proposal)
        except DecisionRefused:
            continue  # decided at the same time
        except DoltError:
            log.exception("not_settled", proposal=proposal.pk)
    return settled


def _settle(proposal: Proposal) -> bool:
    """Settle one proposal if its target is still as the stored state says; a later recheck writes it otherwise."""
    revision = proposal.current_revision
    target = current_state(proposal, revision)
    state = target.assess(revision).state
    if state != proposal.mergeability:
        return False
    if state == Mergeability.ALREADY_APPLIED:
        fields = {"decision_reason": RejectReason.DUPLICATE}
        close(proposal, Status.REJECTED, actor=None, comment=ALREADY_APPLIED, fields=fields)
        return True
    return _hand_back_unfit(proposal, target)


def _hand_back_unfit(proposal: Proposal, target: TargetState) -> bool:
    why = turn.why_handed_back(proposal.current_revision, block_of(target))
    with transaction.atomic(durable=True):
        is_handed_back = hand_back(proposal, actor=None, automatic=why)
    if is_handed_back:
        log.info("handed_back", proposal=proposal.pk, user_id=proposal.owner, why=why)
    return is_handed_back


# -- The other proposals about a block that was made or deleted, and when that is undone.

#: Others that are handed back in the call that decides; an agent may have 20 for one owner.
_MOST_AT_ONCE = 100


def hand_back_others(proposal: Proposal) -> None:
    """Hand back what no longer fits because `proposal`, just approved, made or deleted its block."""
    try:
        for other in others_on_target(proposal).filter(status=Status.OPEN).order_by("id")[:_MOST_AT_ONCE]:
            target = current_state(other, other.current_revision)
            if target.assess(other.current_revision).state == Mergeability.CONFLICT:
                _hand_back_unfit(other, target)
    except (DatabaseError, DoltError):
        log.exception("others_not_handed_back", proposal=proposal.pk)


def take_back_others(proposal: Proposal) -> None:
    """Let those wait again that were handed back by approving `proposal`, which was just undone, and fit now."""
    why = turn.BLOCK_DELETED if proposal.kind == Kind.DELETE_BLOCK else turn.BLOCK_EXISTS
    try:
        others = others_on_target(proposal).filter(status=Status.CHANGES_REQUESTED).order_by("id")[:_MOST_AT_ONCE]
        asked = turn.change_requests(others)
        for other in others:
            revision = other.current_revision
            is_ours = other.pk in asked and asked[other.pk].automatic == why
            if is_ours and current_state(other, revision).assess(revision).can_be_approved:
                _take_back(other, actor=None)
    except (DatabaseError, DoltError):
        log.exception("others_not_taken_back", proposal=proposal.pk)
