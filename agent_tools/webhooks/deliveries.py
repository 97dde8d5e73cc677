"""Whose turn a delivery is, and what becomes of it: leases, retries, and disabling what no longer receives.

States are written by compare-and-swap. A process that is killed while it sends leaves a lease, after which another
sends the same message again, under the same id: at least once, in roughly the order of the events.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agent_tools.models import (
    DeliveryState,
    DisabledWhy,
    EndpointState,
    EventType,
    WebhookDelivery,
    WebhookEndpoint,
)
from agent_tools.webhooks import outbox, schedule
from agent_tools.webhooks.transport import TOTAL, AttemptOutcome

log = structlog.get_logger(__name__)

#: About how many messages go to one host at once, from all processes together; to one that only fails, one. Two that
#: are taken in the same moment on PostgreSQL do not see each other.
MOST_AT_ONE_HOST = 4
#: Of an attempt; longer than it can take.
LEASE = timedelta(seconds=3 * TOTAL)
#: How many deliveries that are due are looked at for one whose host has room.
_LOOKED_AT = 20
#: Attempts of a delivery that are shown.
_KEPT_ATTEMPTS = 50
#: The receiver says with it that it wants no more of these messages.
_GONE = 410

#: What can go wrong with an attempt.
ERRORS = {
    "address_refused": _("the address belongs to a private network, which no message goes to"),
    "name_not_found": _("the host’s name was not found"),
    "cannot_connect": _("no connection"),
    "tls_failed": _("no secure connection: the certificate is not valid for this host"),
    "timed_out": _("no answer in time"),
    "broken_off": _("the connection ended before the answer"),
    "redirected": _("a redirect, which is not followed"),
    "refused": _("not accepted"),
}


@dataclass(frozen=True)
class Claimed:
    """A delivery this process sends now; `secrets` are those that sign."""

    pk: int
    endpoint: int
    message_id: str
    url: str
    secrets: tuple[str, ...]
    body: str
    tries: int
    lease: str
    is_test: bool


def claim(now: datetime | None = None) -> Claimed | None:
    """Lease a delivery that is due and whose host has room; None when there is none."""
    now = now or timezone.now()
    for row in _due(now)[:_LOOKED_AT]:
        if row.proposal is not None and not outbox.is_served(row.proposal):  # since it was made
            waiting = WebhookDelivery.objects.filter(pk=row.pk, state=DeliveryState.PENDING, lease=row.lease)
            waiting.update(state=DeliveryState.MISSED, done_at=now)
            continue
        claimed = _claim(row, now)
        if claimed is not None:
            return claimed
    return None


def count_due(now: datetime | None = None, *, most: int) -> int:
    """Return how many are due, up to `most`."""
    return len(_due(now or timezone.now()).values("pk")[:most])


def _due(now: datetime) -> Any:
    due = WebhookDelivery.objects.filter(state=DeliveryState.PENDING, next_at__lte=now)
    due = due.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lte=now), endpoint__in=outbox.listening())
    due = due.filter(Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=now))
    due = due.filter(Q(endpoint__state=EndpointState.ACTIVE) | Q(type=EventType.TEST)).exclude(
        host__in=_full(now, most=MOST_AT_ONE_HOST)
    )
    due = due.filter(Q(endpoint__failing_since=None) | ~Q(host__in=_full(now, most=1)))
    # Those that still receive are not held up by those that do not.
    due = due.select_related("endpoint", "proposal")
    return due.order_by(F("endpoint__failing_since").asc(nulls_first=True), "next_at", "pk")


def _full(now: datetime, *, most: int) -> Any:
    """Return the hosts to which so many messages are being sent."""
    busy = WebhookDelivery.objects.filter(lease_expires_at__gt=now).order_by().values("host")
    return busy.annotate(count=Count("pk")).filter(count__gte=most).values("host")


def _claim(row: WebhookDelivery, now: datetime) -> Claimed | None:
    endpoint, lease = row.endpoint, uuid.uuid4().hex
    waiting = WebhookDelivery.objects.filter(
        pk=row.pk,
        state=DeliveryState.PENDING,
        lease=row.lease,
        next_at=row.next_at,
        lease_expires_at=row.lease_expires_at,
    ).exclude(host__in=_full(now, most=1 if endpoint.failing_since else MOST_AT_ONE_HOST))
    if not waiting.update(lease=lease, lease_expires_at=now + LEASE):
        return None
    return Claimed(
        pk=row.pk,
        endpoint=endpoint.pk,
        message_id=row.message_id,
        url=endpoint.url,
        secrets=secrets_of(endpoint, now),
        body=row.body,
        tries=row.tries,
        lease=lease,
        is_test=row.is_test,
    )


def secrets_of(endpoint: WebhookEndpoint, now: datetime) -> tuple[str, ...]:
    """Return the secrets that sign, the newest first."""
    until = endpoint.previous_secret_until
    if endpoint.previous_secret and until is not None and until > now:
        return (endpoint.secret, endpoint.previous_secret)
    return (endpoint.secret,)


def settle(claimed: Claimed, outcome: AttemptOutcome, *, now: datetime | None = None) -> None:
    """Record an attempt, and what follows from it for the delivery and its endpoint.

    Nothing is recorded where the lease ran out and another process has taken the delivery.
    """
    now = now or timezone.now()
    with transaction.atomic():
        row = WebhookDelivery.objects.select_for_update().filter(pk=claimed.pk, lease=claimed.lease).first()
        if row is None:
            return
        tried = {"at": now.isoformat(), "status": outcome.status, "error": outcome.error, "ms": outcome.milliseconds}
        values: dict[str, Any] = {"attempts": [*row.attempts, tried][-_KEPT_ATTEMPTS:], "tries": claimed.tries + 1}
        values |= _after(claimed, outcome, now)
        free = {"lease": "", "lease_expires_at": None}
        mine = WebhookDelivery.objects.filter(pk=claimed.pk, lease=claimed.lease)
        if not mine.update(**values, **free):
            return
        _tell_endpoint(claimed, outcome, now)
    log.info(
        "webhook_attempt",
        webhook=claimed.endpoint,
        message=claimed.message_id,
        status=outcome.status,
        error=outcome.error,
        duration_ms=outcome.milliseconds,
    )


def _after(claimed: Claimed, outcome: AttemptOutcome, now: datetime) -> dict[str, Any]:
    if outcome.is_accepted:
        return {"state": DeliveryState.DELIVERED, "done_at": now}
    again = None
    if not claimed.is_test and outcome.status != _GONE:
        again = schedule.next_attempt(now, tries=claimed.tries + 1, retry_after=outcome.retry_after)
    if again is None:
        return {"state": DeliveryState.FAILED, "done_at": now}
    return {"next_at": again}


def _tell_endpoint(claimed: Claimed, outcome: AttemptOutcome, now: datetime) -> None:
    # Not if its address was changed since: the outcome is another's then.
    endpoint = WebhookEndpoint.objects.filter(pk=claimed.endpoint, url=claimed.url)
    if outcome.is_accepted:
        endpoint.update(last_success_at=now, failing_since=None, paused_until=None)
        return
    if not endpoint.update(last_failure_at=now) or claimed.is_test:
        return
    endpoint.filter(failing_since=None).update(failing_since=now)
    if outcome.retry_after is not None:
        endpoint.update(paused_until=now + outcome.retry_after)
    if outcome.status == _GONE:
        disable(claimed.endpoint, why=DisabledWhy.GONE, now=now)
    elif endpoint.filter(failing_since__lte=now - schedule.GIVE_UP_AFTER).exists():
        disable(claimed.endpoint, why=DisabledWhy.FAILING, now=now)


def disable(endpoint: int, *, why: DisabledWhy, now: datetime | None = None) -> bool:
    """Stop sending to an address; what waits for it is missed. Return whether it was active."""
    now = now or timezone.now()
    with transaction.atomic():
        active = WebhookEndpoint.objects.filter(pk=endpoint, state=EndpointState.ACTIVE)
        values = {"state": EndpointState.DISABLED, "disabled_why": why, "disabled_at": now, "told_at": None}
        if not active.update(**values):
            return False
        # One that is being sent right now ends as it ends.
        waiting = WebhookDelivery.objects.filter(endpoint=endpoint, state=DeliveryState.PENDING, lease="")
        waiting.exclude(type=EventType.TEST).update(state=DeliveryState.MISSED, done_at=now)
    log.warning("webhook_disabled", webhook=endpoint, why=why.value)
    return True


def give_up_disabled(now: datetime | None = None) -> int:
    """Count as missed what still waits for a disabled endpoint: it was being sent when that was disabled."""
    now = now or timezone.now()
    waiting = WebhookDelivery.objects.filter(state=DeliveryState.PENDING, endpoint__state=EndpointState.DISABLED)
    waiting = waiting.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lte=now)).exclude(type=EventType.TEST)
    if not waiting.exists():  # an update takes SQLite's one lock also where there is nothing to write
        return 0
    return waiting.update(state=DeliveryState.MISSED, done_at=now, lease="", lease_expires_at=None)


def purge() -> int:
    """Delete deliveries that ended more than `settings.WEBHOOK_DELIVERY_DAYS` ago (0 keeps all); return how many."""
    if not settings.WEBHOOK_DELIVERY_DAYS:
        return 0
    old = timezone.now() - timedelta(days=settings.WEBHOOK_DELIVERY_DAYS)
    ended = WebhookDelivery.objects.filter(created_at__lt=old).exclude(state=DeliveryState.PENDING)
    return ended.delete()[0]
