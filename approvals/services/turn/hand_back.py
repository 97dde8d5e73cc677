"""Hand a proposal back to its agent, and take it back to review."""

from __future__ import annotations

from datetime import timedelta

import structlog
from django.db import transaction
from django.utils import timezone

from approvals.models import Event, Proposal, RejectReason, Status, User
from approvals.permissions import ReviewAction
from approvals.services import events
from approvals.services.decide.checks import proposal_for, raise_not_open, require_revision, visible_proposal
from memory_app.databases.prepared import update

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
    values = {"status": Status.OPEN, "handed_back_at": None, "updated_at": timezone.now()}
    as_seen = {"id": proposal.pk, "status": Status.CHANGES_REQUESTED, "current_revision_number": revision}
    with transaction.atomic(durable=True):
        is_back = update(Proposal, values, where=as_seen)
        if is_back:
            events.record(proposal, Event.What.REOPENED, actor=actor)
    if not is_back:
        proposal.refresh_from_db()
        raise_not_open(proposal, revision)
    proposal.set_written(values)
    return proposal


def hand_back(
    proposal: Proposal, *, actor: events.Actor, comment: str = "", reason: str = "", **data: str | int
) -> bool:
    """Hand a proposal back to its agent if it is still as it was read. Return whether it was.

    Call it inside a transaction; nothing is checked but the status and the revision.

    Args:
        actor: None for Assent itself.
        data: more for the event; `automatic` says why Assent did it, instead of a comment.
    """
    now = timezone.now()
    as_read = Proposal.objects.filter(
        pk=proposal.pk, status=proposal.status, current_revision_number=proposal.current_revision_number
    )
    values = {
        "status": Status.CHANGES_REQUESTED,
        "handed_back_at": now,
        "expires_at": max(proposal.expires_at, now + _TIME_TO_ANSWER),
        "lease_expires_at": None,
        "updated_at": now,
    }
    if not as_read.update(**values):
        return False
    said = {"reason": reason} if reason else {}
    events.record(proposal, Event.What.CHANGES_REQUESTED, actor=actor, text=comment, at=now, **said, **data)
    proposal.set_written(values)
    return True
