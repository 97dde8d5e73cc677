"""What each person has seen of a proposal and has put off, and the filters they keep for their list."""

from __future__ import annotations

from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models.people import User
from approvals.models.proposals import Proposal


class Attention(models.Model):
    """One person's view of one proposal.

    Attributes:
        seen_revision: the newest revision the person has looked at; 0 for none.
        looking_at: when the page last said that the person is looking at it; others are told for a few minutes.
        snoozed_until: until when it is left out of the person's list.
    """

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="attention", verbose_name=_("proposal"))
    person = models.ForeignKey(User, models.CASCADE, related_name="attention", verbose_name=_("person"))
    seen_revision = models.PositiveIntegerField(_("revision seen"), default=0)
    seen_at = models.DateTimeField(_("seen"), null=True, blank=True)
    looking_at = models.DateTimeField(_("looking at it"), null=True, blank=True)
    snoozed_until = models.DateTimeField(_("snoozed until"), null=True, blank=True)

    class Meta:
        verbose_name = _("attention")
        verbose_name_plural = _("attention")
        ordering = ["proposal", "person"]
        constraints = [models.UniqueConstraint(fields=["proposal", "person"], name="attention_once")]
        indexes = [models.Index(fields=["person", "snoozed_until"], name="attention_snoozed")]

    def __str__(self) -> str:
        return f"{self.proposal_id} {self.person_id}"


class SavedFilter(models.Model):
    """A filter of a person's list, under a name of theirs."""

    person = models.ForeignKey(User, models.CASCADE, related_name="saved_filters", verbose_name=_("person"))
    name = models.CharField(_("name"), max_length=40)
    # The query string of the list: the filters, the order and the tab.
    query = models.CharField(_("query"), max_length=500)
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)

    class Meta:
        verbose_name = _("saved filter")
        verbose_name_plural = _("saved filters")
        ordering = ["person", "name"]
        constraints = [models.UniqueConstraint(fields=["person", "name"], name="saved_filter_once")]

    def __str__(self) -> str:
        return self.name
