"""Deliveries from the events of proposals: what was decided is never lost on its way to a webhook.

A decision writes its event in its own transaction and knows nothing of webhooks. `collect` reads the events that came
since, and inserts one delivery for each address that is to be told; the constraint on endpoint and event lets any
number of processes do this at the same time, again and again.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from datetime import timedelta
from typing import Any

import structlog
from django.core.cache import cache
from django.db.models import Max, Q, QuerySet
from django.utils import timezone
from redis.exceptions import RedisError

from agent_tools.models import AgentToken, DeliveryState, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import messages
from agent_tools.webhooks.addresses import place_of
from approvals.models import Event, Proposal
from memory_app.databases.batches import BATCH

log = structlog.get_logger(__name__)

#: An event's id may be seen before a lower one, whose transaction began earlier and commits later (PostgreSQL). No
#: transaction takes so long; until then events are looked at again.
SETTLED = timedelta(minutes=15)
_SEEN = "webhooks.seen"


def listening() -> QuerySet[WebhookEndpoint]:
    """Return the endpoints that may be told anything: of active agents, made by active people."""
    endpoints = WebhookEndpoint.objects.filter(agent__is_active=True, created_by__is_active=True)
    return endpoints.filter(Q(all_owners=False) | Q(created_by__is_staff=True))


def newest_event() -> int:
    """Return the id of the last event there is; 0 without any."""
    return Event.objects.aggregate(last=Max("pk"))["last"] or 0


def collect() -> int:
    """Make the deliveries of events that have none. Return how many were new.

    For an endpoint that is disabled they are made as missed: somebody may send them later.
    """
    endpoints = list(listening().select_related("created_by"))
    if not endpoints:
        return 0
    newest = newest_event()
    made = 0
    for rows in _events(endpoints):
        made += _insert(endpoints, rows)
    _advance(newest)
    return made


def _events(endpoints: list[WebhookEndpoint]) -> Iterator[list[dict[str, Any]]]:
    last = min(endpoint.seen_event for endpoint in endpoints)
    agents = {endpoint.agent_id for endpoint in endpoints}
    told = Event.objects.filter(tells__in=agents, what__in=messages.TOLD).order_by("pk")
    while rows := list(told.filter(pk__gt=last).values(*messages.READ)[:BATCH]):
        yield rows
        last = rows[-1]["id"]


def _insert(endpoints: list[WebhookEndpoint], rows: list[dict[str, Any]]) -> int:
    wanted = [(endpoint, row) for row in rows for endpoint in endpoints if _is_told(endpoint, row)]
    if not wanted:
        return 0
    ids = [row["id"] for _endpoint, row in wanted]
    known = set(
        WebhookDelivery.objects.filter(event__gte=min(ids), event__lte=max(ids)).values_list("endpoint_id", "event")
    )
    wanted = [(endpoint, row) for endpoint, row in wanted if (endpoint.pk, row["id"]) not in known]
    if not wanted:
        return 0
    served = _served(row for _endpoint, row in wanted)
    new = [
        make(endpoint, messages.TOLD[row["what"]], messages.of_event(row), event=row["id"], proposal=row["proposal_id"])
        for endpoint, row in wanted
        if (row["proposal__agent_id"], row["owner"]) in served
    ]
    WebhookDelivery.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def make(
    endpoint: WebhookEndpoint, told: str, body: str, *, event: int | None = None, proposal: int | None = None
) -> WebhookDelivery:
    """Return a delivery that is to be inserted."""
    now = timezone.now()
    is_due = endpoint.is_active or event is None
    return WebhookDelivery(
        endpoint=endpoint,
        message_id=messages.new_id(),
        type=told,
        proposal_id=proposal,
        event=event,
        body=body,
        state=DeliveryState.PENDING if is_due else DeliveryState.MISSED,
        done_at=None if is_due else now,
        created_at=now,
        next_at=now,
        host=place_of(endpoint.url).name,
    )


def _is_told(endpoint: WebhookEndpoint, row: dict[str, Any]) -> bool:
    return (
        endpoint.agent_id == row["proposal__agent_id"]
        and row["id"] > endpoint.seen_event
        and messages.TOLD[row["what"]] in endpoint.events
        and (endpoint.all_owners or endpoint.created_by.username == row["owner"])
    )


def is_served(proposal: Proposal) -> bool:
    """Whether its agent still serves its owner."""
    return bool(_served([{"proposal__agent_id": proposal.agent_id, "owner": proposal.owner}]))


def _served(rows: Iterable[dict[str, Any]]) -> set[tuple[int, str]]:
    """Return which agents still serve which of these owners: what no token of an agent may read, no webhook tells."""
    pairs = {(row["proposal__agent_id"], row["owner"]) for row in rows}
    tokens = AgentToken.objects.usable().filter(agent__in={agent for agent, _owner in pairs})
    tokens = tokens.filter(Q(created_by=None) | Q(created_by__is_active=True)).order_by()
    everyone = set(tokens.filter(all_owners=True).values_list("agent_id", flat=True))
    of_owners = tokens.filter(all_owners=False, owners__username__in={owner for _agent, owner in pairs})
    named = set(of_owners.values_list("agent_id", "owners__username"))
    return {pair for pair in pairs if pair[0] in everyone or pair in named}


def _advance(newest: int) -> None:
    """Note what is certain to be done: every event up to the one that was the newest `SETTLED` ago.

    The cache remembers which that was. One that forgets only makes the next runs read more events.
    """
    try:
        before = cache.get(_SEEN)
        if before is None or time.time() - before[1] >= SETTLED.total_seconds():
            if before is not None:
                # A restored database is older than the cache.
                done = min(before[0], newest)
                WebhookEndpoint.objects.filter(seen_event__lt=done).update(seen_event=done)
            cache.set(_SEEN, [newest, time.time()], timeout=None)
    except RedisError as error:
        log.warning("webhook_events_not_settled", error=type(error).__name__)
