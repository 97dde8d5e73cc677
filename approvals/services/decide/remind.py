"""Remind people of proposals that wait long: first their reviewers, then their owner, each once, before they expire.

Here it is decided and recorded which are due; digests and feeds tell people of them (`notifications.news`).
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any, cast

from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals.models import Event, Proposal
from approvals.services import events

#: The owner is reminded so long before a proposal expires, if not earlier.
BEFORE_EXPIRY = timedelta(days=7)

_READ = ("expires_at", "reminded_at", "owner_reminded_at")

#: Events after which a proposal waits for a person: it was opened, its agent changed it, or its decision was undone.
COMES = (Event.What.PROPOSED, Event.What.AMENDED, Event.What.REOPENED)


def remind(*, now: datetime | None = None) -> int:
    """Record what has waited for so long that people are to be told again. Return how many reminders those were.

    Args:
        now: the time to compare with, for tests.
    """
    now = now or timezone.now()
    after = [days for days in (settings.REMIND_AFTER, settings.REMIND_OWNER_AFTER) if days]
    if not after:
        return 0
    late = Q(created_at__lte=now - min(after)) | Q(expires_at__lte=now + BEFORE_EXPIRY)
    waiting = Proposal.objects.open().filter(late, expires_at__gt=now).order_by("created_at", "pk")
    undone = Q(reminded_at=None) | Q(owner_reminded_at=None) | Q(current_revision_number__gt=1)
    comings = Event.objects.filter(proposal=OuterRef("pk"), what__in=COMES).order_by().values("proposal")
    since = Coalesce(Subquery(comings.annotate(at=Max("at")).values("at")), F("created_at"))
    due = waiting.filter(undone).annotate(since=since).only("owner", "current_revision_number", *_READ)
    return sum(_remind(each, cast("Any", each).since, now) for each in due.iterator(chunk_size=200))


def due_at(since: datetime, expires_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return when reviewers, and when the owner, are to be reminded of a proposal; None where that is switched off.

    Seven days before it expires at the latest, but not in the first half of its time; reviewers never after the owner.
    """
    latest = max(expires_at - BEFORE_EXPIRY, since + (expires_at - since) / 2)
    owner = min(since + settings.REMIND_OWNER_AFTER, latest) if settings.REMIND_OWNER_AFTER else None
    reviewers = min(since + settings.REMIND_AFTER, owner or latest) if settings.REMIND_AFTER else None
    return reviewers, owner


def _remind(proposal: Proposal, since: datetime, now: datetime) -> int:
    """Record the reminders that are due; one for each time it waits, so that one whose agent changed it waits anew."""
    reminded = 0
    for column, who, at in zip(
        ("reminded_at", "owner_reminded_at"), ("reviewers", "owner"), due_at(since, proposal.expires_at), strict=True
    ):
        before: datetime | None = getattr(proposal, column)
        if at is None or at > now or (before and before >= since):
            continue
        with transaction.atomic(durable=True):
            if Proposal.objects.open().filter(**{"pk": proposal.pk, column: before}).update(**{column: now}):
                events.record(proposal, Event.What.REMINDED, actor=None, at=now, to=who)
                reminded += 1
    return reminded
