"""What became of agents' proposals in twelve weeks, for the pages of agents.

Owners see their memory's, tutors their students', staff all. What counts as accepted is `review.trust.acceptance`.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import accumulate
from typing import Any

from django.db.models import Exists, OuterRef, Sum
from django.http import Http404, HttpRequest
from django.utils import timezone
from django_stubs_ext import StrOrPromise

from approvals import permissions
from approvals.accounts.sign_in import display_names, viewer_of
from approvals.models import Agent, Approval, Proposal, RejectReason, WeekCount
from approvals.review import trust
from approvals.statistics import kept, weeks

#: What a week's decisions are divided into, as the columns of the page and its bars have them.
PARTS = ("as_proposed", "changed", "rejected", "unused", "automatic")


@dataclass
class AgentCounts:
    """What became of one agent's proposals since the first of the weeks.

    Args:
        waiting: open now.
        decided: outcome → how many: of `Approval`, `RejectReason` or `Status`, or `kept.ALREADY_APPLIED`. Approvals
            older than their column count as approved as proposed.
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
        return sum(self.decided[why] for why in (*RejectReason.values, "", kept.ALREADY_APPLIED))

    @property
    def outcomes(self) -> dict[str, list[tuple[StrOrPromise, int]]]:
        """Return how many were approved in which way and rejected for which reason, in words."""
        return {
            "approved": [(label, self.decided[how]) for how, label in Approval.choices if self.decided[how]],
            "rejected": [(label, self.decided[why]) for why, label in RejectReason.choices if self.decided[why]],
        }


def agents_of(
    owners: Collection[str] | None, began: Sequence[datetime], *, agent: Agent | None = None, others: Iterable[str] = ()
) -> list[AgentCounts]:
    """Return the agents that ever proposed anything about these owners, by name; two queries for any number of agents.

    Args:
        owners: whom the reader may see, or the one that it is narrowed to; None means everyone.
        began: when each of the weeks began, see `weeks.starts`.
        agent: this one alone.
        others: names of agents that are among them even when they made none.
    """
    counted = WeekCount.objects.filter(owner__in=[kept.EVERYONE] if owners is None else owners)
    if agent is None:
        any_of = Proposal.objects.visible_to(owners).filter(agent=OuterRef("pk"))
        others = {*others, *Agent.objects.filter(Exists(any_of)).values_list("name", flat=True)}
    else:
        counted, others = counted.filter(agent=agent), [agent.name]
    found = {name: AgentCounts(name, [Counter() for _week in began]) for name in others}
    counted = counted.filter(at__gte=began[0]).annotate(week=weeks.number_of("at", began))
    by_week = counted.values_list("agent__name", "week", "part", "what", "is_reverted").annotate(sum=Sum("number"))
    for name, week, part, what, is_reverted, number in by_week.filter(sum__gt=0):
        one = found.setdefault(name, AgentCounts(name, [Counter() for _week in began]))
        if part == "waiting":
            one.waiting += number
            continue
        one.weeks[week][part] += number
        if part == "proposed":
            one.proposed += number
            continue
        one.decided[what] += number
        judged = "reverted" if is_reverted else _JUDGED_AS.get(part)
        if judged:
            one.acceptance += trust.Acceptance(**{judged: number})
    return sorted(found.values(), key=lambda each: each.name)


#: What a part of a week is to `trust.Acceptance`, unless it was taken back.
_JUDGED_AS = {"as_proposed": "as_proposed", "changed": "edited", "rejected": "rejected"}


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


def narrowed(request: HttpRequest) -> tuple[list[str] | None, dict[str, Any]]:
    """Return the owners whose proposals to count, None for everyone; of one owner where the address names one."""
    user = viewer_of(request)
    owners = permissions.readable_owners(user)
    owner = request.GET.get("owner", "").replace("\0", "")[:64]
    if owner:
        if not permissions.may_read(user, owner):
            raise Http404
        owners = [owner]
    began = weeks.starts()
    return owners, {
        "section": "agents",
        "owner": owner,
        "owner_name": display_names({owner}).get(owner, "") if owner else "",
        "began": began,
        "since": timezone.localtime(began[0]).date().isoformat(),
        "number_of_weeks": len(began),
    }
