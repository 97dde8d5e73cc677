"""How often people took what agents proposed: the basis of trusting one with more.

Counts only, in one query. What a person decided is counted; what a policy or a rule applied says nothing, unless a
person reverted it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q
from django.utils import timezone

from approvals.models import Approval, Mergeability, ProposalQuerySet, RejectReason, Status

#: How far back decisions count: an agent that has become better, or worse, is judged by what it does now.
PERIOD = timedelta(weeks=12)

_TAKEN_BACK = ~Q(reverted_by_commit="")
_APPROVED = Q(status=Status.APPROVED, reverted_by_commit="")
_AS_PROPOSED = Q(approval__in=["", Approval.AS_PROPOSED])
# What was already in the memory was no mistake of its agent's.
_ALREADY_THERE = Q(decision_reason=RejectReason.DUPLICATE, mergeability=Mergeability.ALREADY_APPLIED)


@dataclass(frozen=True)
class Acceptance:
    """What people decided about some proposals.

    Args:
        as_proposed: approved unchanged.
        edited: approved in part, reworded, or after a conflict was resolved.
        rejected: without those that were closed as already in the memory.
        reverted: approved or automatic, and taken back later.
    """

    as_proposed: int = 0
    edited: int = 0
    rejected: int = 0
    reverted: int = 0

    def __add__(self, other: Acceptance) -> Acceptance:
        return Acceptance(
            self.as_proposed + other.as_proposed,
            self.edited + other.edited,
            self.rejected + other.rejected,
            self.reverted + other.reverted,
        )

    @property
    def total(self) -> int:
        return self.as_proposed + self.edited + self.rejected + self.reverted

    @property
    def share(self) -> float | None:
        """Return the share that was approved unchanged, from 0 to 1; None when nothing was decided."""
        return self.as_proposed / self.total if self.total else None


def acceptance(
    proposals: ProposalQuerySet, *, by: tuple[str, ...] = ("agent__name",), since: datetime | None = None
) -> dict[tuple[Any, ...], Acceptance]:
    """Return what people decided about `proposals`, in groups; a group without a decision is not there.

    Args:
        proposals: those the reader may see, narrowed to an owner, an agent or a block.
        by: the fields whose values name a group, such as `("agent__name", "target")`.
        since: decisions before it do not count; `PERIOD` ago by default.
    """
    decided = proposals.order_by().filter(decided_at__gte=since or timezone.now() - PERIOD)
    counted = decided.values_list(*by).annotate(
        as_proposed=Count("pk", filter=_APPROVED & _AS_PROPOSED),
        edited=Count("pk", filter=_APPROVED & ~_AS_PROPOSED),
        rejected=Count("pk", filter=Q(status=Status.REJECTED) & ~_ALREADY_THERE),
        reverted=Count("pk", filter=_TAKEN_BACK),
    )
    groups = {tuple(row[: len(by)]): Acceptance(*row[len(by) :]) for row in counted}
    return {group: found for group, found in groups.items() if found.total}
