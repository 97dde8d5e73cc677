"""Tokens, tool calls and idempotency keys; all in the `default` database.

No texts here: a tool call's row holds names, sizes and outcomes. The answer kept with an idempotency
key is the exception, for as long as the key is kept.
"""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import Agent


class Scope(models.TextChoices):
    """What a token may be used for. `memory:history` adds to `memory:read`: what `as_of` shows of things deleted
    since; it is not given unless it is asked for."""

    MEMORY_READ = "memory:read", _("read the memory")
    MEMORY_PROPOSE = "memory:propose", _("propose changes")
    NOTES_WRITE = "notes:write", _("save notes")
    MEMORY_HISTORY = "memory:history", _("read what was deleted (with “read the memory”)")

    @classmethod
    def usual(cls) -> list[Scope]:
        """Return the scopes of a token whose maker does not say."""
        return [scope for scope in cls if scope is not cls.MEMORY_HISTORY]


class AgentTokenQuerySet(models.QuerySet["AgentToken"]):
    def usable(self, now: datetime | None = None) -> AgentTokenQuerySet:
        now = now or timezone.now()
        return self.filter(revoked_at=None).filter(Q(expires_at=None) | Q(expires_at__gt=now))

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

    objects = AgentTokenQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent token")
        verbose_name_plural = _("agent tokens")
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.prefix}… ({self.agent})"

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
