"""Settle what no longer fits: hand it back to its agent, or close what is already in the memory.

Queues that nobody has to look at fill with proposals that no longer apply. Assent says so to the agent instead, by
itself; a person who is faster decides.
"""

from __future__ import annotations

from datetime import datetime

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from approvals.models import Event, Mergeability, Proposal, RejectReason, Status
from approvals.review.targets import current_state
from approvals.review.turn import change_requests
from approvals.services.decide.checks import block_of
from approvals.services.decide.close import close_by_itself
from approvals.services.errors import DecisionRefused
from approvals.services.turn.hand_back import hand_back
from memory_app.dolt.errors import DoltError

log = structlog.get_logger(__name__)

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
        fields = {"decision_reason": RejectReason.DUPLICATE, "decision_comment": ALREADY_APPLIED}
        close_by_itself(proposal, Status.REJECTED, Event.What.REJECTED, fields=fields, text=ALREADY_APPLIED)
        return True
    why = change_requests.why_handed_back(revision, block_of(target))
    with transaction.atomic(durable=True):
        is_handed_back = hand_back(proposal, actor=None, automatic=why)
    if is_handed_back:
        log.info("handed_back", proposal=proposal.pk, user_id=proposal.owner, why=why)
    return is_handed_back
