"""Decisions about several proposals at once, as they were asked for, with what became of each. They are worked off by
`approvals.services.several`, and deleted after a month: what was decided is in the proposals."""

from __future__ import annotations

from collections import Counter

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from approvals.models.people import User
from memory_app.databases import clock

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
