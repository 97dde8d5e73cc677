"""What a person has of agents that ends when they leave."""

from django.db.models import Q, QuerySet
from django.utils.translation import gettext_lazy as _

from agent_tools import auth
from agent_tools.models import AgentToken, DisabledWhy, EndpointState, WebhookEndpoint
from agent_tools.webhooks import deliveries
from approvals.models import User


def _tokens(person: User) -> QuerySet[AgentToken]:
    """Return the tokens a person made, and those of their agents; of agents handed over, others' tokens stay."""
    return AgentToken.objects.usable().filter(Q(created_by=person) | Q(agent__created_by=person))


def _webhooks(person: User) -> QuerySet[WebhookEndpoint]:
    return WebhookEndpoint.objects.filter(created_by=person, state=EndpointState.ACTIVE)


def _revoke(tokens: QuerySet[AgentToken]) -> None:
    for token in tokens:
        auth.revoke(token)


def _disable(webhooks: QuerySet[WebhookEndpoint]) -> None:
    for webhook in webhooks:
        deliveries.disable(webhook.pk, why=DisabledWhy.BY_PERSON)


ENDINGS = ((_("tokens of agents"), _tokens, _revoke), (_("webhooks"), _webhooks, _disable))
