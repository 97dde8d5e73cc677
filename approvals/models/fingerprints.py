"""Fingerprints of what people rejected, by which it is recognised when its agent proposes it again."""

from __future__ import annotations

from django.db import models
from django.utils.translation import gettext_lazy as _

from approvals.models.people import Agent
from approvals.models.proposals import Proposal


class RejectedFingerprint(models.Model):
    """One key of what a person rejected or undid; see `memory_app.text.alike.fingerprints`.

    Kept when the texts are removed, since nothing can be read from a key without the installation's secret. Deleted
    when the decision is undone, when the same is approved after all, and after `settings.REJECTION_COUNTS`.
    """

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="fingerprints", verbose_name=_("proposal"))
    # Those of the proposal, here for the index: only its agent's own rejections for an owner are compared.
    agent = models.ForeignKey(Agent, models.PROTECT, related_name="+", verbose_name=_("agent"))
    owner = models.CharField(_("owner"), max_length=64)
    part = models.PositiveIntegerField()
    key = models.BigIntegerField()
    share = models.PositiveSmallIntegerField()
    decided_at = models.DateTimeField(_("decided"))

    class Meta:
        verbose_name = _("fingerprint of a rejection")
        verbose_name_plural = _("fingerprints of rejections")
        ordering = ["proposal", "part"]
        indexes = [
            models.Index(fields=["agent", "owner", "key"], name="fingerprint_key"),
            models.Index(fields=["decided_at"], name="fingerprint_decided"),
        ]

    def __str__(self) -> str:
        return f"{self.proposal_id} {self.part}"
