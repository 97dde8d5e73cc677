"""`/agents/` and `/agents/<name>/`: how agents do. Owners see their memory’s, tutors their students’, staff all.

An agent that proposed nothing a viewer may see, and has no token for that memory, is answered as if it did not exist.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from approvals import permissions
from approvals.accounts.sign_in import display_names, signed_in, viewer_of
from approvals.models import Agent, Approval, ProposalQuerySet, RejectReason
from approvals.review import trust
from approvals.statistics import agents, drawing, weeks

#: The columns of the list; the cells are `agent_cells`.
_TITLES = (
    _("Agent"),
    _("Proposed"),
    _("Waiting"),
    _("Approved as proposed"),
    _("With changes or in part"),
    _("Rejected"),
    _("Automatic"),
    _("Acceptance"),
)


@signed_in()
@require_safe
def agent_list(request: HttpRequest) -> HttpResponse:
    """Show all agents that proposed something this person may see."""
    proposals, context = _narrowed(request)
    began = weeks.starts()
    rows = agents.agents_of(proposals, began, others=_serving(request, context["owner"]))
    return render(request, "statistics/agents.html", context | {"agents": rows, "titles": _TITLES, **_period(began)})


@signed_in()
@require_safe
def agent(request: HttpRequest, agent: str) -> HttpResponse:
    """Show one of them week by week."""
    proposals, context = _narrowed(request)
    described = Agent.objects.filter(name=agent).first()
    began = weeks.starts()
    others = [name for name in _serving(request, context["owner"]) if name == agent]
    rows = agents.agents_of(proposals.filter(agent=described), began, others=others) if described else []
    if not described or not rows:
        raise Http404
    counts = rows[0]
    context |= {
        "agent": described,
        "counts": counts,
        "began": began,
        "is_idle": not any(any(week.values()) for week in counts.weeks),
        "weeks": list(zip(began, counts.by_week, strict=True)),
        "picture": drawing.stacked(counts.by_week, began, title=str(_("Decisions about %(agent)s") % {"agent": agent})),
        "approvals": [(label, counts.approved[how]) for how, label in Approval.choices if how in counts.approved],
        "reasons": [(label, counts.rejected[why]) for why, label in RejectReason.choices if why in counts.rejected],
    }
    return render(request, "statistics/agent.html", context | _period(began))


def _serving(request: HttpRequest, owner: str) -> list[str]:
    """Return the agents that reach this owner's memory, or the viewer's own: some have not proposed anything yet."""
    return [agent.name for agent in trust.agents_serving(owner or viewer_of(request).username)]


def _narrowed(request: HttpRequest) -> tuple[ProposalQuerySet, dict[str, Any]]:
    """Return the proposals to count, and whose they are; of one owner where the address names one."""
    user = viewer_of(request)
    proposals = permissions.proposals_visible_to(user)
    owner = request.GET.get("owner", "").replace("\0", "")[:64]
    if owner:
        if not permissions.may_read(user, owner):
            raise Http404
        proposals = proposals.of_owner(owner)
    name = display_names({owner}).get(owner, "") if owner else ""
    return proposals, {"section": "settings", "owner": owner, "owner_name": name, "url": reverse("agent_list")}


def _period(began: tuple[Any, ...]) -> dict[str, Any]:
    return {"since": timezone.localtime(began[0]).date().isoformat(), "number_of_weeks": len(began)}
