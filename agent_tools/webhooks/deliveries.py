"""Whose turn a delivery is, and what becomes of it: leases, retries, and disabling what no longer receives.

States are written by compare-and-swap. A process that is killed while it sends leaves a lease, after which another
sends the same message again, under the same id: at least once, in roughly the order of the events.
"""

import uuid
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agent_tools.models import DeliveryState, DisabledWhy, EndpointState, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import outbox, schedule
from agent_tools.webhooks.transport import AttemptOutcome
from memory_app.databases import clock

log = structlog.get_logger(__name__)

#: Of an attempt; longer than it can take: finding the address of a name has the resolver's limits, the rest 15 seconds.
LEASE = timedelta(minutes=1)
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


def due(now: datetime) -> QuerySet[WebhookDelivery]:
    """Return what is to be sent now, of webhooks to which nothing is being sent: one that hangs holds up no other."""
    pending = WebhookDelivery.objects.filter(state=DeliveryState.PENDING)
    busy = pending.filter(lease_expires_at__gt=now).order_by().values("endpoint")
    found = pending.filter(next_at__lte=now, endpoint__in=outbox.listening()).exclude(endpoint__in=busy)
    found = found.filter(Q(endpoint__paused_until=None) | Q(endpoint__paused_until__lte=now))
    found = found.filter(Q(endpoint__state=EndpointState.ACTIVE) | Q(type=EventType.TEST))
    # Those that still receive come before those that do not.
    return found.order_by(F("endpoint__failing_since").asc(nulls_first=True), "next_at", "pk")


def claim() -> WebhookDelivery | None:
    """Lease a delivery that is due, and return it as it is sent now; None when there is none."""
    now = clock.now()
    while (row := due(now).select_related("endpoint", "proposal").first()) is not None:
        unclaimed = WebhookDelivery.objects.filter(
            pk=row.pk, state=DeliveryState.PENDING, lease=row.lease, next_at=row.next_at
        )
        if row.proposal is not None and not outbox.is_served(row.proposal):  # since it was made
            unclaimed.update(state=DeliveryState.MISSED, done_at=now)
            continue
        lease = uuid.uuid4().hex
        if unclaimed.update(lease=lease, lease_expires_at=now + LEASE):
            row.lease = lease
            return row
    return None


def secrets_of(endpoint: WebhookEndpoint, now: datetime) -> tuple[str, ...]:
    """Return the secrets that sign, the newest first."""
    until = endpoint.previous_secret_until
    if endpoint.previous_secret and until is not None and until > now:
        return (endpoint.secret, endpoint.previous_secret)
    return (endpoint.secret,)


def settle(sent: WebhookDelivery, outcome: AttemptOutcome) -> None:
    """Record an attempt, and what follows from it for the delivery and its endpoint.

    Nothing is recorded where the lease ran out and another process has taken the delivery.
    """
    now = clock.now()
    tried = {"at": now.isoformat(), "status": outcome.status, "error": outcome.error, "ms": outcome.milliseconds}
    values: dict[str, Any] = {
        "attempts": [*sent.attempts, tried][-_KEPT_ATTEMPTS:],
        "tries": sent.tries + 1,
        "lease": "",
        "lease_expires_at": None,
    }
    again = None
    if not sent.is_test and outcome.status != _GONE:
        again = schedule.next_attempt(now, tries=sent.tries + 1, retry_after=outcome.retry_after)
    if outcome.is_accepted:
        values |= {"state": DeliveryState.DELIVERED, "done_at": now}
    elif again is None:
        values |= {"state": DeliveryState.FAILED, "done_at": now}
    else:
        values["next_at"] = again
    with transaction.atomic():
        if not WebhookDelivery.objects.filter(pk=sent.pk, lease=sent.lease).update(**values):
            return
        _settle_endpoint(sent, outcome, now)
    log.info(
        "webhook_attempt",
        webhook=sent.endpoint_id,
        message=sent.message_id,
        status=outcome.status,
        error=outcome.error,
        duration_ms=outcome.milliseconds,
    )


def _settle_endpoint(sent: WebhookDelivery, outcome: AttemptOutcome, now: datetime) -> None:
    # Not if its address was changed since: the outcome is another's then.
    endpoint = WebhookEndpoint.objects.filter(pk=sent.endpoint_id, url=sent.endpoint.url)
    if outcome.is_accepted:
        endpoint.update(last_success_at=now, failing_since=None, paused_until=None)
        return
    if not endpoint.update(last_failure_at=now) or sent.is_test:
        return
    endpoint.filter(failing_since=None).update(failing_since=now)
    if outcome.retry_after is not None:
        endpoint.update(paused_until=now + outcome.retry_after)
    if outcome.status == _GONE:
        disable(sent.endpoint_id, why=DisabledWhy.GONE)
    elif endpoint.filter(failing_since__lte=now - schedule.GIVE_UP_AFTER).exists():
        disable(sent.endpoint_id, why=DisabledWhy.FAILING)


def disable(endpoint: int, *, why: DisabledWhy) -> bool:
    """Stop sending to an address; what waits for it is missed. Return whether it was active.

    What is being sent right now is missed too, unless it is accepted.
    """
    now = clock.now()
    with transaction.atomic():
        active = WebhookEndpoint.objects.filter(pk=endpoint, state=EndpointState.ACTIVE)
        values = {"state": EndpointState.DISABLED, "disabled_why": why, "disabled_at": now, "told_at": None}
        if not active.update(**values):
            return False
        waiting = WebhookDelivery.objects.filter(endpoint=endpoint, state=DeliveryState.PENDING)
        waiting.exclude(type=EventType.TEST).update(state=DeliveryState.MISSED, done_at=now)
    log.warning("webhook_disabled", webhook=endpoint, why=why.value)
    return True


def purge() -> int:
    """Delete deliveries that ended more than `settings.WEBHOOK_DELIVERY_DAYS` ago (0 keeps all); return how many."""
    if not settings.WEBHOOK_DELIVERY_DAYS:
        return 0
    old = timezone.now() - timedelta(days=settings.WEBHOOK_DELIVERY_DAYS)
    ended = WebhookDelivery.objects.filter(created_at__lt=old).exclude(state=DeliveryState.PENDING)
    return ended.delete()[0]
