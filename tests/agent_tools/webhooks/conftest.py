"""A receiver on loopback, an endpoint of alice's for scribe there, and time that passes."""

from collections.abc import Iterator
from datetime import timedelta
from ipaddress import ip_network
from typing import Any

import pytest
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from agent_tools.models import EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import endpoints, outbox, sending
from approvals.models import Agent, User
from tests.support.receiver import Receiver, receiver

#: As an installation lets its own network be reached.
OWN = override_settings(WEBHOOK_ALLOWED_NETWORKS=[ip_network("127.0.0.0/8")])

EVERYTHING = [each.value for each in EventType.selectable()]


@pytest.fixture
def there() -> Iterator[Receiver]:
    """The receiver; the network it is in may be reached."""
    with OWN, receiver() as server:
        yield server
        sending.settle()


def create(person: User, agent: Agent, url: str, **more: Any) -> WebhookEndpoint:
    return endpoints.create(actor=person, agent=agent, url=url, **{"events": EVERYTHING} | more)


@pytest.fixture
def hook(there: Receiver, alice: User, scribe: Agent, token: str) -> WebhookEndpoint:
    """alice's webhook of scribe at the receiver; scribe has a token for her memory."""
    return create(alice, scribe, there.url)


def run() -> None:
    """What the clock does, until all that is due is sent."""
    sending.run()
    sending.settle()


#: The times that say when something is due or over.
_TIMES = {
    WebhookDelivery: ["next_at", "created_at", "done_at", "lease_expires_at"],
    WebhookEndpoint: ["failing_since", "paused_until", "disabled_at", "last_failure_at", "previous_secret_until"],
}


def pass_time(**passed: float) -> None:
    """Move everything that happened so far into the past."""
    by = timedelta(**passed)
    for model, names in _TIMES.items():
        model._default_manager.update(**{name: F(name) - by for name in names})


def delivery() -> WebhookDelivery:
    return WebhookDelivery.objects.get()


def errors(of: WebhookDelivery) -> list[str]:
    return [attempt["error"] for attempt in of.attempts]


def queue(endpoint: WebhookEndpoint, count: int = 1) -> list[WebhookDelivery]:
    """Messages as decisions would make them."""
    body = outbox.body_of(EventType.APPROVED, timezone.now(), {"agent": "scribe"})
    rows = [outbox.make(endpoint, EventType.APPROVED, body, event=number + 1) for number in range(count)]
    return WebhookDelivery.objects.bulk_create(rows)
