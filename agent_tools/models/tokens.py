"""Tokens: which agent, for whom, what it may do."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import Agent


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
    # Since when it serves whom it serves: calls before that may have been about somebody else, too.
    owners_since = models.DateTimeField(default=timezone.now, editable=False)

    objects = AgentTokenQuerySet.as_manager()

    class Meta:
        verbose_name = _("agent token")
        verbose_name_plural = _("agent tokens")
        ordering = ["-created_at", "-id"]

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
