"""Proposals nobody decided about in time are closed."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone

from approvals.models import Event, Proposal, Status
from approvals.services.decide.close import close_by_itself
from approvals.services.errors import DecisionRefused


def expire(*, now: datetime | None = None) -> int:
    """Close open proposals past their time; how many were closed.

    Args:
        now: the moment to measure against, for tests of the calendar.
    """
    closed = 0
    overdue = Proposal.objects.open().filter(expires_at__lte=now or timezone.now()).select_related("agent")
    for proposal in overdue.iterator(chunk_size=200):
        try:
            close_by_itself(proposal, Status.EXPIRED, Event.What.EXPIRED)
        except DecisionRefused:
            continue  # decided this moment
        closed += 1
    return closed
