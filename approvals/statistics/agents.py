"""How agents do: what each proposed, and what people made of it, week by week.

Three queries for any number of agents. What counts as accepted is `review.acceptance`, which rules of trust show too.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Q

from approvals.models import Approval, Mergeability, ProposalQuerySet, RejectReason, Status
from approvals.review.trust import Acceptance, acceptance
from approvals.statistics import weeks
from approvals.statistics.board import ASKED


@dataclass(frozen=True)
class WeekOfAgent:
    """What was decided in one week about an agent's proposals, and how many it made."""

    proposed: int = 0
    as_proposed: int = 0
    changed: int = 0
    rejected: int = 0
    unused: int = 0
    automatic: int = 0

    @property
    def parts(self) -> tuple[int, ...]:
        """Return what is stacked in a bar, from below."""
        return (self.as_proposed, self.changed, self.rejected, self.unused, self.automatic)


@dataclass
class AgentCounts:
    """What became of one agent's proposals since the first of the weeks.

    Args:
        waiting: open now.
        approved: how → how many, of `Approval`; those older than that count as approved as proposed.
        rejected: why → how many, of `RejectReason`, without those already in the memory.
        already_applied: closed since the change was in the memory already.
    """

    name: str
    proposed: int = 0
    waiting: int = 0
    approved: dict[str, int] = field(default_factory=dict)
    rejected: dict[str, int] = field(default_factory=dict)
    already_applied: int = 0
    withdrawn: int = 0
    expired: int = 0
    automatic: int = 0
    weeks: list[dict[str, int]] = field(default_factory=list)
    acceptance: Acceptance = field(default_factory=Acceptance)

    @property
    def approved_total(self) -> int:
        return sum(self.approved.values())

    @property
    def rejected_total(self) -> int:
        return sum(self.rejected.values())

    @property
    def rejected_and_already_applied(self) -> int:
        """Return what the list of rejected proposals has."""
        return self.rejected_total + self.already_applied

    @property
    def as_proposed(self) -> int:
        return self.approved.get(Approval.AS_PROPOSED, 0)

    @property
    def changed(self) -> int:
        return self.approved_total - self.as_proposed

    @property
    def by_week(self) -> tuple[WeekOfAgent, ...]:
        return tuple(WeekOfAgent(**week) for week in self.weeks)


def agents_of(
    proposals: ProposalQuerySet, began: Sequence[datetime], *, others: Iterable[str] = ()
) -> list[AgentCounts]:
    """Return the agents that made any of these proposals, by name.

    Args:
        proposals: those the reader may see, narrowed to an owner or an agent.
        began: when each of the weeks began, see `weeks.starts`.
        others: names of agents that are among them even when they made none.
    """
    proposals = proposals.order_by()
    found = {name: AgentCounts(name, weeks=[defaultdict(int) for _week in began]) for name in others}
    asked = proposals.values_list("agent__name").annotate(
        proposed=Count("pk", filter=Q(status__in=ASKED, created_at__gte=began[0])),
        waiting=Count("pk", filter=Q(status=Status.OPEN)),
    )
    for name, proposed, waiting in asked:
        found[name] = AgentCounts(name, proposed, waiting, weeks=[defaultdict(int) for _week in began])
    made = proposals.filter(status__in=ASKED, created_at__gte=began[0])
    for name, week, number in made.values_list("agent__name", weeks.number_of("created_at", began)).annotate(
        number=Count("pk")
    ):
        found[name].weeks[week]["proposed"] += number
    decided = proposals.filter(decided_at__gte=began[0])
    columns = ("agent__name", "status", "approval", "decision_reason", "mergeability")
    for *facts, week, number in decided.values_list(*columns, weeks.number_of("decided_at", began)).annotate(
        number=Count("pk")
    ):
        name, *what = facts
        _count(found[name], *what, week=week, number=number)
    for (name,), accepted in acceptance(proposals, since=began[0]).items():
        found[name].acceptance = accepted
    return sorted(found.values(), key=lambda agent: agent.name)


#: What an outcome that nobody took up is called in `AgentCounts`.
_UNUSED: Mapping[str, str] = {Status.WITHDRAWN: "withdrawn", Status.EXPIRED: "expired"}


def _count(agent: AgentCounts, status: str, approval: str, reason: str, fits: str, *, week: int, number: int) -> None:
    of_week = agent.weeks[week]
    if status == Status.APPROVED:
        how = approval or Approval.AS_PROPOSED
        agent.approved[how] = agent.approved.get(how, 0) + number
        of_week["as_proposed" if how == Approval.AS_PROPOSED else "changed"] += number
    elif status == Status.APPLIED:
        agent.automatic += number
        of_week["automatic"] += number
    elif status == Status.REJECTED and reason == RejectReason.DUPLICATE and fits == Mergeability.ALREADY_APPLIED:
        agent.already_applied += number
        of_week["unused"] += number
    elif status == Status.REJECTED:
        agent.rejected[reason] = agent.rejected.get(reason, 0) + number
        of_week["rejected"] += number
    elif status in _UNUSED:
        setattr(agent, _UNUSED[status], getattr(agent, _UNUSED[status]) + number)
        of_week["unused"] += number
