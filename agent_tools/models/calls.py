"""What agents called and read, and what they were told.

No texts: a tool call's row holds names, sizes and outcomes. The answer kept with an idempotency key is the exception,
for as long as the key is kept.
"""

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from agent_tools.models.tokens import AgentToken
from approvals.models import Agent, Proposal


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
