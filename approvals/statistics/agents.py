"""What became of agents' proposals in twelve weeks, for the pages of agents.

Owners see their memory's, tutors their students', staff all. What counts as accepted is `review.trust.acceptance`.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import Count, Q
from django.http import Http404, HttpRequest
from django.utils import timezone
from django_stubs_ext import StrOrPromise

from approvals import permissions
from approvals.accounts.sign_in import display_names, viewer_of
from approvals.models import Approval, Mergeability, ProposalQuerySet, RejectReason, Status
from approvals.review import trust
from approvals.statistics import weeks

#: What a week's decisions are divided into, as the columns of the page and its bars have them.
PARTS = ("as_proposed", "changed", "rejected", "unused", "automatic")

#: What a duplicate counts as that was in the memory already: no mistake of its agent's.
ALREADY_APPLIED = "already_applied"


@dataclass
class AgentCounts:
    """What became of one agent's proposals since the first of the weeks.

    Args:
        waiting: open now.
        decided: outcome → how many: of `Approval`, `RejectReason` or `Status`, or `ALREADY_APPLIED`. Approvals older
            than their column count as approved as proposed.
        weeks: for each week, oldest first, how many of `PARTS` and "proposed".
    """

    name: str
    weeks: list[Counter[str]]
    proposed: int = 0
    waiting: int = 0
    decided: Counter[str] = field(default_factory=Counter)
    acceptance: trust.Acceptance = field(default_factory=trust.Acceptance)

    @property
    def approved(self) -> int:
        return sum(self.decided[how] for how in Approval.values)

    @property
    def changed(self) -> int:
        return self.approved - self.decided[Approval.AS_PROPOSED]

    @property
    def rejected(self) -> int:
        """Return what the list of rejected proposals has."""
        return sum(self.decided[why] for why in (*RejectReason.values, "", ALREADY_APPLIED))

    @property
    def outcomes(self) -> dict[str, list[tuple[StrOrPromise, int]]]:
        """Return how many were approved in which way and rejected for which reason, in words."""
        return {
            "approved": [(label, self.decided[how]) for how, label in Approval.choices if self.decided[how]],
            "rejected": [(label, self.decided[why]) for why, label in RejectReason.choices if self.decided[why]],
        }


def agents_of(
    proposals: ProposalQuerySet, began: Sequence[datetime], *, others: Iterable[str] = ()
) -> list[AgentCounts]:
    """Return the agents that made any of these proposals, by name; four queries for any number of agents.

    Args:
        proposals: those the reader may see, narrowed to an owner or an agent.
        began: when each of the weeks began, see `weeks.starts`.
        others: names of agents that are among them even when they made none.
    """
    proposals = proposals.order_by()
    found = {name: AgentCounts(name, [Counter() for _week in began]) for name in others}
    made = Q(status__in=weeks.ASKED, created_at__gte=began[0])
    asked = proposals.values_list("agent__name").annotate(
        proposed=Count("pk", filter=made), waiting=Count("pk", filter=Q(status=Status.OPEN))
    )
    for name, proposed, waiting in asked:
        found[name] = AgentCounts(name, [Counter() for _week in began], proposed, waiting)
    by_week = proposals.filter(made).values_list("agent__name", weeks.number_of("created_at", began))
    for name, week, number in by_week.annotate(number=Count("pk")):
        found[name].weeks[week]["proposed"] += number
    decided = proposals.filter(decided_at__gte=began[0]).values_list(
        "agent__name", weeks.number_of("decided_at", began), "status", "approval", "decision_reason", "mergeability"
    )
    for name, week, *outcome, number in decided.annotate(number=Count("pk")):
        part, what = _counted_as(*outcome)
        if part:
            found[name].weeks[week][part] += number
            found[name].decided[what] += number
    for (name,), accepted in trust.acceptance(proposals, since=began[0]).items():
        found[name].acceptance = accepted
    return sorted(found.values(), key=lambda agent: agent.name)


def _counted_as(status: str, approval: str, reason: str, fits: str) -> tuple[str, str]:
    """Return the part of its week that an outcome belongs to, and what it counts as in `decided`."""
    if status == Status.APPROVED:
        how = approval or Approval.AS_PROPOSED
        return ("as_proposed" if how == Approval.AS_PROPOSED else "changed"), how
    if status == Status.REJECTED and reason == RejectReason.DUPLICATE and fits == Mergeability.ALREADY_APPLIED:
        return "unused", ALREADY_APPLIED
    if status == Status.REJECTED:
        return "rejected", reason
    unasked = {Status.APPLIED: "automatic", Status.WITHDRAWN: "unused", Status.EXPIRED: "unused"}
    return unasked.get(Status(status), ""), status


def week_by_week(counts: AgentCounts, began: Sequence[datetime]) -> dict[str, Any]:
    """Return an agent's counts of each week as the table shows them, with the bars of their parts."""
    parts = [[week[part] for part in PARTS] for week in counts.weeks]
    # The parts of a bar lie over each other, the longest first: each reaches from the start to its own end.
    bars = [[*zip(PARTS, accumulate(week), strict=True)][::-1] for week in parts]
    return {
        "weeks": list(zip(began, [week["proposed"] for week in counts.weeks], parts, bars, strict=True)),
        "is_idle": not any(week.total() for week in counts.weeks),
        "most": max(map(sum, parts)) or 1,
    }


def narrowed(request: HttpRequest) -> tuple[ProposalQuerySet, dict[str, Any]]:
    """Return the proposals to count, and whose they are; of one owner where the address names one."""
    user = viewer_of(request)
    proposals = permissions.proposals_visible_to(user)
    owner = request.GET.get("owner", "").replace("\0", "")[:64]
    if owner:
        if not permissions.may_read(user, owner):
            raise Http404
        proposals = proposals.of_owner(owner)
    began = weeks.starts()
    return proposals, {
        "section": "agents",
        "owner": owner,
        "owner_name": display_names({owner}).get(owner, "") if owner else "",
        "began": began,
        "since": timezone.localtime(began[0]).date().isoformat(),
        "number_of_weeks": len(began),
    }
