"""Rules by which agents are trusted with more, or with less, than the site's default."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models.people import Agent, User
from approvals.models.states import Kind


class TrustRule(models.Model):
    """What some changes of an owner's memory need: nothing, a person if they are large, or always a person.

    An empty field matches everything. Of several rules that match, the one with the most fields holds; deletions and
    changes of read-only blocks need a person whatever a rule says.
    """

    class Needs(models.TextChoices):
        NOTHING = "apply", _("apply immediately")
        REVIEW_IF_LARGE = "small", _("apply immediately if small")
        REVIEW = "ask", _("always ask")

    owner = models.CharField(_("owner"), max_length=64)
    agent = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, related_name="trust_rules", verbose_name=_("agent")
    )
    # The label of a block.
    block = models.CharField(_("block"), max_length=64, blank=True, default="")
    kind = models.CharField(_("kind of change"), max_length=16, choices=Kind, blank=True, default="")
    needs = models.CharField(_("needs"), max_length=8, choices=Needs)
    made_by = models.ForeignKey(User, models.PROTECT, related_name="trust_rules", verbose_name=_("made by"))
    created_at = models.DateTimeField(_("since"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("trust rule")
        verbose_name_plural = _("trust rules")
        ordering = ["owner", "agent__name", "block", "kind"]
        constraints = [
            models.UniqueConstraint(fields=["owner", "agent", "block", "kind"], name="trust_rule_once"),
            # NULL equals no other NULL: without this one, "every agent" could be named twice.
            models.UniqueConstraint(
                fields=["owner", "block", "kind"], condition=Q(agent=None), name="trust_rule_of_every_agent_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.owner}: {self.agent or '*'} {self.block or '*'} {self.kind or '*'} {self.needs}"
