"""Tokens, tool calls, idempotency keys, what agents read, and webhooks; all in the `default` database."""

from agent_tools.models.calls import BlockRead, IdempotencyKey, ToldUntil, ToolCall
from agent_tools.models.tokens import AgentToken, AgentTokenQuerySet, Scope
from agent_tools.models.webhooks import (
    DeliveryState,
    DisabledWhy,
    EndpointState,
    EventType,
    WebhookDelivery,
    WebhookEndpoint,
)

__all__ = [
    "AgentToken",
    "AgentTokenQuerySet",
    "BlockRead",
    "DeliveryState",
    "DisabledWhy",
    "EndpointState",
    "EventType",
    "IdempotencyKey",
    "Scope",
    "ToldUntil",
    "ToolCall",
    "WebhookDelivery",
    "WebhookEndpoint",
]
