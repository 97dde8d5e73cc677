"""What people do with webhooks: create, change, rotate, enable, disable, test, send again, delete.

Whose webhook it is, is asked by `of_person`, which every view goes through.
"""

from collections.abc import Iterable
from datetime import timedelta

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from agent_tools import auth
from agent_tools.models import AgentToken, DeliveryState, EndpointState, EventType, WebhookDelivery, WebhookEndpoint
from agent_tools.webhooks import outbox, sending, signing
from approvals.models import Agent, User
from memory_app.databases import clock

#: Webhooks of one person.
MOST = 20
#: After a rotation both secrets sign for so long.
OVERLAP = timedelta(hours=24)


class TooManyWebhooks(Exception):
    """The person has `MOST` of them."""


class NotSendable(Exception):
    """The delivery is being sent, or its webhook is disabled."""


def of_person(person: User) -> QuerySet[WebhookEndpoint]:
    """Return the webhooks this person made, in the order they made them."""
    return WebhookEndpoint.objects.filter(created_by=person).select_related("agent", "created_by")


def of_others_about(person: User, agent: Agent) -> QuerySet[WebhookEndpoint]:
    """Return the webhooks that admins made for this agent and that are told about this person's memory too."""
    everyones = outbox.listening().filter(all_owners=True, agent=agent).exclude(created_by=person)
    return everyones if agent.pk in auth.agents_serving(person.username) else everyones.none()


def may_create(person: User, agent: Agent) -> bool:
    """Whether a person may make a webhook for an agent: one that serves them; for staff, any that is active."""
    return agent.is_active and (person.is_staff or agent.pk in auth.agents_serving(person.username))


def concern(person: User, agent: Agent) -> bool:
    """Whether there is anything about webhooks of this agent for the person: they made some, or may make one."""
    return may_create(person, agent) or of_person(person).filter(agent=agent).exists()


def serves(endpoint: WebhookEndpoint) -> bool:
    """Whether its agent has a token, without which nothing is sent."""
    tokens = AgentToken.objects.working().filter(agent=endpoint.agent)
    if not endpoint.all_owners:
        tokens = tokens.serving(endpoint.created_by.username)
    return tokens.exists()


def create(*, actor: User, agent: Agent, url: str, events: Iterable[str], all_owners: bool = False) -> WebhookEndpoint:
    """Create a webhook; it is told what is decided from now on. The page that answers shows its secret.

    Raises:
        TooManyWebhooks: the person has `MOST`.
    """
    if of_person(actor).count() >= MOST:
        raise TooManyWebhooks
    return WebhookEndpoint.objects.create(
        agent=agent,
        created_by=actor,
        all_owners=all_owners and actor.is_staff,
        url=url,
        events=_in_order(events),
        secret=signing.make_secret(),
        seen_event=auth.newest_event(),
    )


def change(endpoint: WebhookEndpoint, *, url: str, events: Iterable[str]) -> None:
    """Change the address and what it is told. What waits goes to the new address."""
    mine = WebhookEndpoint.objects.filter(pk=endpoint.pk)
    with transaction.atomic():
        mine.update(events=_in_order(events))
        mine.exclude(url=url).update(url=url, failing_since=None, paused_until=None)


def rotate(endpoint: WebhookEndpoint) -> None:
    """Replace the secret; the one until now signs too for `OVERLAP`."""
    mine = WebhookEndpoint.objects.filter(pk=endpoint.pk)
    # Each column is read as it was before.
    mine.update(
        previous_secret=F("secret"), previous_secret_until=timezone.now() + OVERLAP, secret=signing.make_secret()
    )
    endpoint.refresh_from_db()


def enable(endpoint: WebhookEndpoint) -> int:
    """Send to it again what is decided from now on. Return how many messages it missed; they are not sent by this."""
    # What was decided up to here was missed: it is made as missed before the state changes.
    outbox.collect()
    missed = missed_since_disabled(endpoint)
    disabled = WebhookEndpoint.objects.filter(pk=endpoint.pk, state=EndpointState.DISABLED)
    disabled.update(
        state=EndpointState.ACTIVE,
        disabled_why="",
        disabled_at=None,
        told_at=None,
        failing_since=None,
        paused_until=None,
    )
    return missed


def missed_since_disabled(endpoint: WebhookEndpoint) -> int:
    """Return how many messages were missed since it was disabled; 0 for one that is active."""
    if endpoint.disabled_at is None:
        return 0
    missed = WebhookDelivery.objects.filter(endpoint=endpoint, state=DeliveryState.MISSED)
    return missed.filter(done_at__gte=endpoint.disabled_at).count()


def send_test(endpoint: WebhookEndpoint) -> WebhookDelivery:
    """Send a test, once and also while it is disabled; return it, or the one that is still on its way."""
    waiting = WebhookDelivery.objects.filter(endpoint=endpoint, type=EventType.TEST, state=DeliveryState.PENDING)
    found = waiting.first()
    if found is None:
        body = outbox.body_of(EventType.TEST, timezone.now(), {"agent": endpoint.agent.name})
        found = outbox.make(endpoint, EventType.TEST, body)
        found.save()
    sending.soon()
    return found


def send_again(delivery: WebhookDelivery) -> None:
    """Send a message once more, under its id: at once, and then by the schedule from its beginning.

    Raises:
        NotSendable: it is being sent, or its webhook is disabled.
    """
    now = clock.now()
    rows = WebhookDelivery.objects.filter(pk=delivery.pk, endpoint__state=EndpointState.ACTIVE)
    rows = rows.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lte=now))
    if delivery.is_test or not rows.update(state=DeliveryState.PENDING, next_at=now, tries=0, done_at=None):
        raise NotSendable
    sending.soon()


def _in_order(events: Iterable[str]) -> list[str]:
    chosen = set(events)
    return [each.value for each in EventType.selectable() if each.value in chosen]
