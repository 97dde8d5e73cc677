"""Policies of owners, the history of proposals, and decisions about several."""

from __future__ import annotations

from collections import Counter

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from approvals.models.people import Agent, User
from approvals.models.proposals import Proposal
from memory_app.databases import clock


class Policy(models.Model):
    """What an owner allows agents to do without review; empty fields mean the site default."""

    class Notes(models.TextChoices):
        DEFAULT = "", _("site default")
        APPLY = "apply", _("apply immediately, labelled and reversible")
        REVIEW = "review", _("ask first")

    owner = models.CharField(_("owner"), max_length=64, unique=True)
    notes = models.CharField(_("notes"), max_length=8, choices=Notes, default=Notes.DEFAULT, blank=True)
    updated_at = models.DateTimeField(_("changed"), auto_now=True)

    class Meta:
        verbose_name = _("policy")
        verbose_name_plural = _("policies")
        ordering = ["owner"]

    def __str__(self) -> str:
        return self.owner


class Event(models.Model):
    """One entry in the history of a proposal."""

    class What(models.TextChoices):
        PROPOSED = "proposed", _("proposed")
        REAPPLIED = "reapplied", _("applied again to the changed block")
        CHANGES_REQUESTED = "changes_requested", _("changes requested")
        AMENDED = "amended", _("changed by its agent")
        COMMENTED = "commented", _("commented")
        ASSIGNED = "assigned", _("assigned")
        REMINDED = "reminded", _("reminded")
        APPROVED = "approved", _("approved")
        REJECTED = "rejected", _("rejected")
        WITHDRAWN = "withdrawn", _("withdrawn")
        EXPIRED = "expired", _("expired")
        APPLIED = "applied", _("automatic")
        REVERTED = "reverted", _("reverted")
        REOPENED = "reopened", _("back to open")
        REDACTED = "redacted", _("texts removed")

    class ActorKind(models.TextChoices):
        PERSON = "person", _("person")
        AGENT = "agent", _("agent")
        ASSENT = "assent", _("Assent itself")

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="events")
    owner = models.CharField(_("owner"), max_length=64)
    what = models.CharField(_("what"), max_length=20, choices=What)
    # Username of the person, name of the agent, or "assent" for automatic events.
    actor = models.CharField(_("by"), max_length=64)
    actor_kind = models.CharField(_("by whom"), max_length=8, choices=ActorKind)
    revision = models.PositiveIntegerField(_("revision"))
    text = models.TextField(_("text"), blank=True)
    data = models.JSONField(default=dict, blank=True)
    at = models.DateTimeField(_("at"), default=timezone.now)
    # The agent of the proposal, where it is told of this event: what people decided, undid or said (`events.record`).
    # Its ids become visible in their order.
    tells = models.ForeignKey(
        Agent, models.PROTECT, null=True, blank=True, editable=False, related_name="+", db_index=False
    )

    class Meta:
        verbose_name = _("event")
        verbose_name_plural = _("events")
        ordering = ["at", "id"]
        indexes = [
            models.Index(fields=["owner", "-at", "-id"], name="event_of_owner"),
            # What an agent is told: about one owner (each call of a tool asks, and with `what` counts the rest without
            # reading them), and about all.
            models.Index(
                fields=["tells", "owner", "id", "what"], condition=Q(tells__isnull=False), name="event_tells_owner"
            ),
            models.Index(fields=["tells", "id"], condition=Q(tells__isnull=False), name="event_tells"),
        ]

    def __str__(self) -> str:
        return f"{self.proposal_id} {self.what}"


# -- What each person has seen of a proposal, and the filters they keep for their list.


class Attention(models.Model):
    """One person's view of one proposal.

    Attributes:
        seen_revision: the newest revision the person has looked at; 0 for none.
    """

    proposal = models.ForeignKey(Proposal, models.CASCADE, related_name="attention", verbose_name=_("proposal"))
    person = models.ForeignKey(User, models.CASCADE, related_name="attention", verbose_name=_("person"))
    seen_revision = models.PositiveIntegerField(_("revision seen"), default=0)
    seen_at = models.DateTimeField(_("seen"), null=True, blank=True)

    class Meta:
        verbose_name = verbose_name_plural = _("attention")
        ordering = ["proposal", "person"]
        constraints = [models.UniqueConstraint(fields=["proposal", "person"], name="attention_once")]

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


# -- Decisions about several proposals at once, as they were asked for, with what became of each. They are worked off by
# `approvals.services.several`, and deleted after a month: what was decided is in the proposals.

#: The code of an item that was given up before its turn.
NOT_REACHED = "not_reached"


class BatchAction(models.TextChoices):
    APPROVE = "approve", _("approve")
    REJECT = "reject", _("reject")
    UNDO = "undo", _("undo")


class BatchQuerySet(models.QuerySet["Batch"]):
    def without_lease(self) -> BatchQuerySet:
        """Filter the unfinished ones that no run holds: not begun yet, or their run was killed or paused."""
        return self.filter(Q(lease_expires_at=None) | Q(lease_expires_at__lt=clock.now()), finished_at=None)


class Batch(models.Model):
    """One press on a button that decides about several proposals, or undoes such a decision."""

    # 32 hexadecimal digits, made with the page that has the button: pressed twice, it is one batch.
    id = models.CharField(primary_key=True, max_length=32, editable=False)
    person = models.ForeignKey(User, models.PROTECT, related_name="batches", verbose_name=_("by"))
    action = models.CharField(_("action"), max_length=8, choices=BatchAction)
    undoes = models.OneToOneField(
        "self", models.CASCADE, null=True, blank=True, related_name="undone_by", verbose_name=_("undoes")
    )
    reason = models.CharField(_("reason"), max_length=16, blank=True, default="")
    comment = models.TextField(_("comment"), blank=True, default="")
    # [[proposal, revision, hash of the target that was seen, or null where not all was shown]…], in their order.
    items = models.JSONField(_("proposals"))
    # [[code, sentence]…] of the first so many items: empty texts for what was done.
    results = models.JSONField(_("results"), default=list)
    created_at = models.DateTimeField(_("asked for"), default=timezone.now, editable=False)
    finished_at = models.DateTimeField(_("finished"), null=True, blank=True)
    # Which run works on it, and until when it has to say that it still does.
    worker = models.CharField(max_length=32, blank=True, default="", editable=False)
    lease_expires_at = models.DateTimeField(null=True, blank=True, editable=False)

    objects = BatchQuerySet.as_manager()

    class Meta:
        verbose_name = _("decision about several")
        verbose_name_plural = _("decisions about several")
        ordering = ["-created_at"]
        indexes = [
            models.Index(fields=["person", "-created_at"], name="batch_of_person"),
            models.Index(fields=["created_at"], condition=Q(finished_at=None), name="batch_unfinished"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {len(self.items)}"

    @cached_property
    def counts(self) -> Counter[str]:
        """Return how many items are `done`, were `left` or `not_reached`, and `wait`."""
        counted = Counter({"": "done", NOT_REACHED: NOT_REACHED}.get(code, "left") for code, _why in self.results)
        return counted + Counter(wait=len(self.items) - len(self.results))

    @property
    def may_be_undone(self) -> bool:
        is_decision = self.is_finished and self.action != BatchAction.UNDO
        return is_decision and self.counts["done"] > 0 and not hasattr(self, "undone_by")

    @property
    def is_finished(self) -> bool:
        return self.finished_at is not None
