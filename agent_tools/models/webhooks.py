"""Webhooks: addresses that are told about decisions, and each message to one of them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import Agent, Proposal


class EventType(models.TextChoices):
    """What a webhook is told; each name is part of the contract with receivers, in docs/webhooks.md."""

    APPROVED = "proposal.approved", _("a proposal is approved")
    REJECTED = "proposal.rejected", _("a proposal is rejected")
    CHANGES_REQUESTED = "proposal.changes_requested", _("the agent is asked for changes")
    EXPIRED = "proposal.expired", _("a proposal expires without a decision")
    REOPENED = "proposal.reopened", _("a decision is undone, and the proposal is open again")
    REVERTED = "proposal.reverted", _("an approved or automatic change is undone")
    COMMENTED = "proposal.commented", _("a person comments on a proposal")
    TEST = "webhook.test", _("test")

    @classmethod
    def selectable(cls) -> list[EventType]:
        """Return what a webhook can be told of; a test is sent when somebody asks for it."""
        return [each for each in cls if each is not cls.TEST]


class EndpointState(models.TextChoices):
    ACTIVE = "active", _("active")
    DISABLED = "disabled", _("disabled")


class DisabledWhy(models.TextChoices):
    """Why nothing is sent to an address any more."""

    BY_PERSON = "person", _("disabled by a person")
    GONE = "gone", _("the receiver answered 410: it no longer wants these messages")
    FAILING = "failing", _("nothing arrived for a week")


class WebhookEndpoint(models.Model):
    """An address that is told about the decisions on an agent's proposals, of one person or of everyone.

    The secrets are kept as they are: each message is signed with them, so a hash would not do.
    """

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="webhooks", verbose_name=_("agent"))
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.PROTECT, related_name="webhooks", verbose_name=_("made by")
    )
    # Only staff may make one; otherwise it is told about the memory of its maker alone.
    all_owners = models.BooleanField(_("for everyone"), default=False)
    url = models.CharField(_("address"), max_length=500)
    # Values of `EventType`.
    events = models.JSONField(_("events"), default=list)
    secret = models.CharField(max_length=100, editable=False)
    # After a rotation both sign until then, so that a receiver can change over in its own time.
    previous_secret = models.CharField(max_length=100, blank=True, default="", editable=False)
    previous_secret_until = models.DateTimeField(null=True, blank=True, editable=False)
    state = models.CharField(_("state"), max_length=10, choices=EndpointState, default=EndpointState.ACTIVE)
    disabled_why = models.CharField(_("why"), max_length=10, choices=DisabledWhy, blank=True, default="")
    disabled_at = models.DateTimeField(_("disabled"), null=True, blank=True)
    # When its maker was mailed that it was disabled by Assent itself.
    told_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(_("made"), default=timezone.now, editable=False)
    last_success_at = models.DateTimeField(_("last success"), null=True, blank=True)
    last_failure_at = models.DateTimeField(_("last failure"), null=True, blank=True)
    # Since when nothing but failures came; a success clears it.
    failing_since = models.DateTimeField(_("failing since"), null=True, blank=True)
    # Until when the receiver asked to be left alone (Retry-After).
    paused_until = models.DateTimeField(null=True, blank=True)
    # The last event of which it is certain that its deliveries are made, see `webhooks.outbox`.
    seen_event = models.BigIntegerField(default=0, editable=False)

    class Meta:
        verbose_name = _("webhook")
        verbose_name_plural = _("webhooks")
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.agent} → {self.host}"

    @property
    def host(self) -> str:
        """Return host and port: what is shown to others than its maker, since the rest may contain a secret."""
        return self.url.partition("://")[2].partition("/")[0].partition("?")[0]

    @property
    def is_active(self) -> bool:
        return self.state == EndpointState.ACTIVE

    @property
    def event_names(self) -> list[str]:
        """Return what it is told in words, in the order of `EventType`."""
        return [str(each.label) for each in EventType if each.value in self.events]


class DeliveryState(models.TextChoices):
    PENDING = "pending", _("waiting")
    DELIVERED = "delivered", _("delivered")
    FAILED = "failed", _("failed")
    MISSED = "missed", _("missed")


class WebhookDelivery(models.Model):
    """One message for one address: made once for an event, tried until it arrives or there is no use in it.

    `body` is what is sent: ids and states, never text of the memory. `attempts` is a list of
    {"at", "status", "error", "ms"}; what the receiver answered beside its status is not kept.
    """

    endpoint = models.ForeignKey(WebhookEndpoint, models.CASCADE, related_name="deliveries", verbose_name=_("webhook"))
    # The header webhook-id: the same in every attempt, so that a receiver knows what it has had.
    message_id = models.CharField(_("message"), max_length=40, unique=True)
    type = models.CharField(_("type"), max_length=40, choices=EventType)
    # None in a test.
    proposal = models.ForeignKey(Proposal, models.CASCADE, null=True, related_name="+", verbose_name=_("proposal"))
    event = models.BigIntegerField(null=True, editable=False)
    body = models.TextField(_("body"))
    state = models.CharField(_("state"), max_length=10, choices=DeliveryState, default=DeliveryState.PENDING)
    created_at = models.DateTimeField(_("made"), default=timezone.now)
    done_at = models.DateTimeField(_("done"), null=True, blank=True)
    next_at = models.DateTimeField(_("next attempt"), default=timezone.now)
    attempts = models.JSONField(_("attempts"), default=list)
    # Attempts since it was made, or since somebody asked to send it again.
    tries = models.PositiveSmallIntegerField(default=0)
    # Of the process that is sending it now; after that another takes it up.
    lease = models.CharField(max_length=32, blank=True, default="", editable=False)
    lease_expires_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        verbose_name = _("webhook delivery")
        verbose_name_plural = _("webhook deliveries")
        ordering = ["-pk"]
        constraints = [
            models.UniqueConstraint(fields=["endpoint", "event"], name="webhook_event_once"),
        ]
        indexes = [
            models.Index(fields=["next_at"], condition=Q(state="pending"), name="webhook_due"),
            models.Index(fields=["endpoint", "-id"], name="webhook_of_endpoint"),
            models.Index(fields=["created_at"], name="webhook_age"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.state}"

    @property
    def is_test(self) -> bool:
        return self.type == EventType.TEST

    @property
    def is_pending(self) -> bool:
        return self.state == DeliveryState.PENDING
