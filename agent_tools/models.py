"""Tokens (which agent, for whom, what it may do), what agents called, read and were told, and webhooks.

All in the `default` database. No texts: a tool call's row holds names, sizes and outcomes. The answer kept with an
idempotency key is the exception, for as long as the key is kept.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import Agent, Proposal


class Scope(models.TextChoices):
    """What a token may be used for. Each of them includes `memory:read`. `memory:history` adds what `as_of` shows of
    things deleted since; it is not given unless it is asked for."""

    MEMORY_READ = "memory:read", _("read the memory")
    MEMORY_PROPOSE = "memory:propose", _("propose changes")
    NOTES_WRITE = "notes:write", _("save notes")
    MEMORY_HISTORY = "memory:history", _("read what was deleted")

    @classmethod
    def usual(cls) -> list[Scope]:
        """Return the scopes of a token whose maker does not say."""
        return [scope for scope in cls if scope is not cls.MEMORY_HISTORY]

    @classmethod
    def granted(cls, chosen: Iterable[str]) -> list[str]:
        """Return the scopes of a token for which these were chosen: with reading, which any of them includes.

        Without it a refused edit would tell what the memory says, so that every answer would have to hide that.
        Unknown ones raise ValueError.
        """
        known = {cls(scope) for scope in chosen}
        return [scope.value for scope in cls if known and (scope in known or scope is cls.MEMORY_READ)]


class AgentTokenQuerySet(models.QuerySet["AgentToken"]):
    def usable(self, now: datetime | None = None) -> AgentTokenQuerySet:
        now = now or timezone.now()
        return self.filter(revoked_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now))

    def working(self, now: datetime | None = None) -> AgentTokenQuerySet:
        """Return usable tokens of active agents, whose maker may still give what they open; the others open nothing.

        The command line may give everything, a person their own memory while they are active, staff everybody's.
        """
        for_others = AgentToken.owners.through.objects.filter(agenttoken=OuterRef("pk"))
        for_others = for_others.exclude(user=OuterRef("created_by"))
        theirs = Q(created_by__is_staff=True) | (Q(all_owners=False) & ~Exists(for_others))
        made = Q(created_by=None) | (Q(created_by__is_active=True) & theirs)
        return self.usable(now).filter(made, agent__is_active=True)

    def serving(self, username: str) -> AgentTokenQuerySet:
        """Return tokens that may read this owner's memory (when they are usable)."""
        return self.filter(Q(all_owners=True) | Q(owners__username=username)).distinct()


class AgentToken(models.Model):
    """A credential of an agent. Only the hash of the secret is kept; it is shown once, when it is made."""

    agent = models.ForeignKey(Agent, models.PROTECT, related_name="tokens", verbose_name=_("agent"))
    # The visible beginning of the secret: finds the row, and lets people recognise a token.
    prefix = models.CharField(_("prefix"), max_length=16, unique=True, editable=False)
    sha256 = models.CharField(max_length=64, editable=False)
    scopes = models.JSONField(_("scopes"), default=list)
    # Which sets of tools a list has for its agent, with commas (`calls.toolsets`); empty for the usual one.
    toolset = models.CharField(_("tools in its list"), max_length=200, blank=True, default="")
    all_owners = models.BooleanField(_("serves everyone"), default=False)
    owners = models.ManyToManyField(
        settings.AUTH_USER_MODEL, blank=True, related_name="agent_tokens", verbose_name=_("serves")
    )
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="+",
        verbose_name=_("made by"),
    )
    created_at = models.DateTimeField(_("made"), default=timezone.now, editable=False)
    last_used_at = models.DateTimeField(_("last used"), null=True, blank=True, editable=False)
    expires_at = models.DateTimeField(_("expires"), null=True, blank=True)
    revoked_at = models.DateTimeField(_("revoked"), null=True, blank=True, editable=False)
    # Id of the last event when it was made: what was decided before, its answers do not tell.
    tells_after = models.BigIntegerField(default=0, editable=False)
    # Rotating makes another row with the same rights. One replacement each: two rotations at once cannot both succeed.
    replaces = models.OneToOneField(
        "self",
        models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="replaced_by",
        verbose_name=_("replaces"),
    )
    # The first row of those that replaced each other; empty for the first one itself.
    first = models.ForeignKey("self", models.PROTECT, null=True, blank=True, editable=False, related_name="+")
    # Of a program that connected by OAuth: what its access and refresh tokens have in common. Nobody has its secret.
    grant = models.CharField(max_length=64, blank=True, default="", db_default="", editable=False)
    # Since when it serves whom it serves: calls before that may have been about somebody else, too.
    owners_since = models.DateTimeField(default=timezone.now, editable=False)

    objects = AgentTokenQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent token")
        verbose_name_plural = _("agent tokens")
        ordering = ["-created_at", "-id"]
        constraints = [models.UniqueConstraint(fields=["grant"], condition=~Q(grant=""), name="grant_once")]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.agent})"

    @property
    def original_id(self) -> int:
        """Return the id under which everything is counted and remembered that outlives a rotation: idempotency keys,
        the rate limit, waiting, and what was told."""
        return self.first_id or self.pk

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())

    @property
    def scope_names(self) -> list[str]:
        """Return the scopes in words, in the order of `Scope`."""
        return [str(scope.label) for scope in Scope if scope.value in self.scopes]


class ToolCall(models.Model):
    """One call of a tool or of an endpoint that does what a tool does, with its outcome."""

    token = models.ForeignKey(AgentToken, models.SET_NULL, null=True, related_name="calls", verbose_name=_("token"))
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="calls", verbose_name=_("agent"))
    owner = models.CharField(_("owner"), max_length=64, blank=True)
    tool = models.CharField(_("tool"), max_length=64)
    target = models.CharField(_("target"), max_length=64, blank=True)
    session_id = models.CharField(_("session"), max_length=128, blank=True)
    # "ok" or an error code.
    outcome = models.CharField(_("outcome"), max_length=40)
    status = models.PositiveSmallIntegerField(_("HTTP status"))
    duration_ms = models.FloatField(_("milliseconds"))
    request_bytes = models.PositiveIntegerField(_("bytes in"))
    response_bytes = models.PositiveIntegerField(_("bytes out"))
    request_id = models.CharField(_("request id"), max_length=64)
    at = models.DateTimeField(_("at"), default=timezone.now)

    class Meta:
        verbose_name = _("tool call")
        verbose_name_plural = _("tool calls")
        ordering = ["-at", "-id"]
        indexes = [
            models.Index(fields=["owner", "-at", "-id"], name="call_of_owner"),
            models.Index(fields=["agent", "-at", "-id"], name="call_of_agent"),
            models.Index(fields=["agent", "owner", "-at", "-id"], name="call_of_agent_and_owner"),
            models.Index(fields=["at"], name="call_age"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.outcome}"


class IdempotencyKey(models.Model):
    """A write that a caller may send twice: inserted before the work, completed with its answer.

    `token` and `key` are unique together, and that constraint decides which call does the work. `operation` goes with
    the work, so that a crashed call is resumed rather than repeated.
    """

    token = models.ForeignKey(AgentToken, models.CASCADE, related_name="idempotency_keys")
    key = models.CharField(max_length=200)
    arguments_sha256 = models.CharField(max_length=64)
    operation = models.CharField(max_length=32)
    # Those that the answer names: when the texts of one are removed, so is the answer.
    proposals = models.ManyToManyField(Proposal, related_name="+")
    # The first answer; without a status until there is one. Text, since PostgreSQL's JSON forgets the order of
    # keys, and the answer is to be the same to the byte.
    status = models.PositiveSmallIntegerField(null=True)
    response = models.TextField(blank=True)
    lease_expires_at = models.DateTimeField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name = _("idempotency key")
        verbose_name_plural = _("idempotency keys")
        constraints = [models.UniqueConstraint(fields=["token", "key"], name="idempotency_key_once")]
        indexes = [models.Index(fields=["created_at"], name="idempotency_key_age")]

    def __str__(self) -> str:
        return self.key


class BlockRead(models.Model):
    """The last time an agent was shown the whole text of a block, in a session; see `tools.block_reads`."""

    # The unique constraint has an index that begins with it.
    agent = models.ForeignKey(Agent, models.CASCADE, related_name="+", db_index=False)
    owner = models.CharField(max_length=64)
    label = models.CharField(max_length=64)
    # Keyed hashes: of the session id (empty for a call that named none), and of the text.
    session = models.CharField(max_length=64, blank=True)
    text = models.CharField(max_length=64)
    at = models.DateTimeField()

    class Meta:
        verbose_name = _("block read")
        verbose_name_plural = _("blocks read")
        constraints = [models.UniqueConstraint(fields=["agent", "owner", "label", "session"], name="block_read_once")]
        indexes = [models.Index(fields=["at"], name="block_read_age")]

    def __str__(self) -> str:
        return f"{self.label} of {self.owner}"


class ToldUntil(models.Model):
    """Up to which event the answers to a token's calls about an owner have told what people decided.

    Without a row it is `AgentToken.tells_after`. `token` is the first one of those that replaced each other.
    """

    token = models.ForeignKey(AgentToken, models.CASCADE, related_name="told")
    owner = models.CharField(max_length=64)
    event_id = models.BigIntegerField()

    class Meta:
        verbose_name = _("told until")
        verbose_name_plural = _("told until")
        constraints = [models.UniqueConstraint(fields=["token", "owner"], name="told_until_once")]

    def __str__(self) -> str:
        return f"{self.token_id} {self.owner} {self.event_id}"


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
