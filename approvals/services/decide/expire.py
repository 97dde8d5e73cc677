"""Close proposals that were not decided in time."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from approvals.models import Event, Proposal, Status
from approvals.services.decide.close import close_by_itself
from approvals.services.errors import DecisionRefused


def expire(*, now: datetime | None = None) -> int:
    """Close undecided proposals past `expires_at`, also those their agents did not amend. Return how many were closed.

    Args:
        now: the time to compare with, for tests.
    """
    closed = 0
    overdue = Proposal.objects.decidable().filter(expires_at__lte=now or timezone.now()).select_related("agent")
    for proposal in overdue.iterator(chunk_size=200):
        try:
            close_by_itself(proposal, Status.EXPIRED, Event.What.EXPIRED)
        except DecisionRefused:
            continue  # decided at the same time
        closed += 1
    return closed
