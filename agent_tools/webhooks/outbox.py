"""Deliveries from the events of proposals: what was decided is never lost on its way to a webhook.

A decision writes its event in its own transaction and knows nothing of webhooks. `collect` reads the events that came
since, and inserts one delivery for each address that is to be told; the constraint on endpoint and event lets any
number of processes do this at the same time, again and again.

A message says ids and states, never text of the memory. The label of a block counts as text, since a person or an
agent chose its words; so do titles, reasons and comments. A receiver that may read them asks at `api_url`.
"""

import json
import time
import uuid
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db.models import Q, QuerySet
from django.urls import reverse
from redis.exceptions import RedisError

from agent_tools import auth
from agent_tools.models import AgentToken, DeliveryState, EventType, WebhookDelivery, WebhookEndpoint
from approvals.models import Event, Proposal, Status
from memory_app.databases import clock
from memory_app.databases.prepared import BATCH
from memory_app.models import TargetKind

log = structlog.get_logger(__name__)

#: An event's id may be seen before a lower one, whose transaction began earlier and commits later (PostgreSQL). No
#: transaction takes so long; until then events are looked at again.
SETTLED = timedelta(minutes=15)
_SEEN = "webhooks.seen"

#: Events of a proposal's history that are told, as what. What the agent did itself is told to nobody, and neither is
#: an automatic change: the agent's own call was answered with that.
_TOLD: dict[str, EventType] = {Event.What[each.name]: each for each in EventType.selectable()}

#: The state a proposal has with such an event; of others, the one it has when the message is made.
_STATUS = {each: Status[each.name] for each in EventType if each.name in Status.names}
_STATUS[EventType.REOPENED] = Status.OPEN

#: The columns of an event and its proposal that a message is made of.
_READ = (
    *"id what owner at actor_kind revision proposal_id proposal__agent_id proposal__agent__name".split(),
    *"proposal__status proposal__approval proposal__decision_reason proposal__target_kind proposal__target".split(),
)


def listening() -> QuerySet[WebhookEndpoint]:
    """Return the endpoints that may be told anything: of active agents, made by active people."""
    endpoints = WebhookEndpoint.objects.filter(agent__is_active=True, created_by__is_active=True)
    return endpoints.filter(Q(all_owners=False) | Q(created_by__is_staff=True))


def collect() -> int:
    """Make the deliveries of events that have none. Return how many were new.

    For an endpoint that is disabled they are made as missed: somebody may send them later.
    """
    endpoints = list(listening().select_related("created_by"))
    if not endpoints:
        return 0
    newest, made = auth.newest_event(), 0
    last = min(endpoint.seen_event for endpoint in endpoints)
    agents = {endpoint.agent_id for endpoint in endpoints}
    told = Event.objects.filter(tells__in=agents, what__in=_TOLD).order_by("pk")
    while rows := list(told.filter(pk__gt=last).values(*_READ)[:BATCH]):
        made += _insert(endpoints, rows)
        last = rows[-1]["id"]
    _advance(newest)
    return made


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
        make(endpoint, _TOLD[row["what"]], _message(row), event=row["id"], proposal=row["proposal_id"])
        for endpoint, row in wanted
        if (row["proposal__agent_id"], row["owner"]) in served
    ]
    WebhookDelivery.objects.bulk_create(new, ignore_conflicts=True)
    return len(new)


def make(
    endpoint: WebhookEndpoint, told: str, body: str, *, event: int | None = None, proposal: int | None = None
) -> WebhookDelivery:
    """Return a delivery that is to be inserted."""
    now = clock.now()
    is_due = endpoint.is_active or event is None
    return WebhookDelivery(
        endpoint=endpoint,
        message_id=f"msg_{uuid.uuid4().hex}",
        type=told,
        proposal_id=proposal,
        event=event,
        body=body,
        state=DeliveryState.PENDING if is_due else DeliveryState.MISSED,
        done_at=None if is_due else now,
        created_at=now,
        next_at=now,
    )


def _message(row: dict[str, Any]) -> str:
    """Return the body about one event.

    Args:
        row: the `_READ` columns.
    """
    told = _TOLD[row["what"]]
    proposal = row["proposal_id"]
    is_note = row["proposal__target_kind"] == TargetKind.NOTE
    return body_of(
        told,
        row["at"],
        {
            "proposal_id": proposal,
            "user_id": row["owner"],
            "agent": row["proposal__agent__name"],
            "status": _STATUS.get(told, row["proposal__status"]),
            "approval": (row["proposal__approval"] or None) if told == EventType.APPROVED else None,
            "reason": (row["proposal__decision_reason"] or None) if told == EventType.REJECTED else None,
            "revision": row["revision"],
            "target_kind": row["proposal__target_kind"],
            "note_id": row["proposal__target"] if is_note else None,
            "decided_by": row["actor_kind"],
            "decided_at": _time(row["at"]),
            "review_url": settings.PUBLIC_URL + reverse("proposal", args=[proposal]),
            "api_url": settings.PUBLIC_URL + reverse("api_proposal", args=[proposal]),
        },
    )


def body_of(told: EventType, at: datetime, data: dict[str, Any]) -> str:
    """Return a message as it is sent."""
    return json.dumps({"type": told.value, "timestamp": _time(at), "data": data}, separators=(",", ":"))


def _time(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _is_told(endpoint: WebhookEndpoint, row: dict[str, Any]) -> bool:
    return (
        endpoint.agent_id == row["proposal__agent_id"]
        and row["id"] > endpoint.seen_event
        and _TOLD[row["what"]] in endpoint.events
        and (endpoint.all_owners or endpoint.created_by.username == row["owner"])
    )


def is_served(proposal: Proposal) -> bool:
    """Whether its agent still serves its owner."""
    return bool(_served([{"proposal__agent_id": proposal.agent_id, "owner": proposal.owner}]))


def _served(rows: Iterable[dict[str, Any]]) -> set[tuple[int, str]]:
    """Return which agents still serve which of these owners: what no token of an agent may read, no webhook tells."""
    pairs = {(row["proposal__agent_id"], row["owner"]) for row in rows}
    tokens = AgentToken.objects.working().filter(agent__in={agent for agent, _owner in pairs}).order_by()
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
                done = min(before[0], newest)  # a restored database is older than the cache
                WebhookEndpoint.objects.filter(seen_event__lt=done).update(seen_event=done)
            cache.set(_SEEN, [newest, time.time()], timeout=None)
    except RedisError as error:
        log.warning("webhook_events_not_settled", error=type(error).__name__)
