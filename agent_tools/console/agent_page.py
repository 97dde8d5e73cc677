"""`/settings/agents/<name>/`: one agent that serves me: tokens, calls, refusals, and what became of its proposals."""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls.registry import TOOLS
from agent_tools.console import call_log
from agent_tools.console.token_list import rows_of
from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.models import Agent, Approval, Proposal, RejectReason, Status, TrustRule, User
from approvals.statistics import agents, weeks

#: Rejected proposals with their reasons, as many as one reads.
_MOST_REJECTED = 5


@signed_in()
@never_cache
@require_safe
def agent_page(request: HttpRequest, agent: str) -> HttpResponse:
    """Show what an agent did with the viewer's own memory. One that never did anything there is not found."""
    viewer = viewer_of(request)
    found = Agent.objects.filter(name=agent).first()
    proposals = Proposal.objects.of_owner(viewer.username).filter(agent=found)
    if found is None or not (call_log.serves(found, viewer) or proposals.exists()):
        raise Http404
    narrowed = {name: request.GET.get(name, "").replace("\0", "")[:64] for name in ("tool", "outcome", "before")}
    usage = call_log.usage_of(found, viewer)
    context = {
        "section": "settings",
        "agent": found,
        "rows": rows_of(viewer, agent_id=found.pk),
        "page": call_log.page_of(found, viewer, **narrowed),
        "narrowed": narrowed,
        "is_narrowed": bool(narrowed["tool"] or narrowed["outcome"]),
        "meaning": call_log.meaning_of(narrowed["outcome"]),
        "usage": usage,
        "tool_names": sorted({use.tool for use in usage.tools} | ({narrowed["tool"]} & TOOLS.keys())),
        "rules": TrustRule.objects.filter(owner=viewer.username, agent=found).count(),
        **_decided(found, viewer),
    }
    return render(request, "agents/agent.html", context)


def _decided(agent: Agent, viewer: User) -> dict[str, Any]:
    """Return what became of its proposals, counted as on the page that has them week by week."""
    mine = Proposal.objects.of_owner(viewer.username).filter(agent=agent)
    began = weeks.starts()
    counts = agents.agents_of(mine, began, others=[agent.name])[0]
    return {
        "owner": viewer.username,
        "counts": counts,
        "since": timezone.localtime(began[0]).date().isoformat(),
        "number_of_weeks": len(began),
        "approvals": [(label, counts.approved[how]) for how, label in Approval.choices if how in counts.approved],
        "reasons": [(label, counts.rejected[why]) for why, label in RejectReason.choices if why in counts.rejected],
        "rejected": mine.filter(status=Status.REJECTED).order_by("-decided_at")[:_MOST_REJECTED],
        "has_proposals": mine.exists(),
    }
