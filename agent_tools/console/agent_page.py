"""`/agents/<name>/`: one agent, with its activity, its calls about the viewer's memory, and its webhooks as tabs.

Activity counts the proposals that a viewer may see; tokens, calls and webhooks are those of the viewer's own memory.
Calls are from the rows of the audit: names, sizes and outcomes, no texts.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.answers import paging
from agent_tools.calls.registry import TOOLS
from agent_tools.console.tokens_page import rows_of
from agent_tools.errors import ErrorCode
from agent_tools.models import AgentToken, ToolCall
from agent_tools.webhooks import endpoints
from approvals.accounts.sign_in import viewer_of
from approvals.models import Agent, Status, TrustRule, User
from approvals.statistics import agents
from approvals.views.request import reading_page

#: How far back the counts go.
RECENT = timedelta(days=30)
ON_A_PAGE = 50
#: Value of the filter for "whatever went wrong".
REFUSED = "refused"
#: Refusals listed with what they mean.
_MOST_REFUSALS = 5

#: What the reference says about each error code.
_CODES = {known.code: known for known in ErrorCode}

#: Where a call is refused with one of these, what it names may be anything: the agent's own text, in the end.
_UNCHECKED_TARGET = (400, 403, 404)


def serves(agent: Agent, viewer: User) -> bool:
    """Whether an agent has, or had, anything to do with this person's memory."""
    tokens = AgentToken.objects.filter(agent=agent).serving(viewer.username)
    return tokens.exists() or ToolCall.objects.filter(agent=agent, owner=viewer.username).exists()


def calls_of(agent: Agent, viewer: User, *, tool: str, outcome: str, before: str) -> tuple[list[ToolCall], str]:
    """Return a page of the calls, newest first, and the cursor of the next page; empty on the last one.

    Args:
        tool, outcome: to narrow it down, where they are not empty; unknown values match nothing.
        before: the cursor of a page, as a page before gave it; anything else is the first page.
    """
    narrowed = Q(tool=tool) if tool else Q()
    if outcome == REFUSED:
        narrowed &= ~Q(outcome="ok")
    elif outcome:
        narrowed &= Q(outcome=outcome)
    narrowed &= _before(before)
    found: list[ToolCall] = []
    for rows in _of(agent, viewer):
        found += rows.filter(narrowed)[: ON_A_PAGE + 1]
    found.sort(key=lambda call: (call.at, call.pk), reverse=True)
    shown = found[:ON_A_PAGE]
    for call in shown:
        if call.status in _UNCHECKED_TARGET:
            call.target = ""
    return shown, paging.pack(shown[-1].at.isoformat(), shown[-1].pk) if len(found) > ON_A_PAGE else ""


def usage_of(agent: Agent, viewer: User) -> dict[str, Any]:
    """Return what was called in the last 30 days, and how that went, most frequent first; for the template."""
    since = timezone.now() - RECENT
    calls: Counter[str] = Counter()
    errors: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    for rows in _of(agent, viewer):
        grouped = rows.filter(at__gte=since).order_by().values_list("tool", "outcome").annotate(number=Count("pk"))
        for tool, outcome, number in grouped:
            calls[tool] += number
            if outcome != "ok":
                errors[tool] += number
                codes[outcome] += number
    return {
        "tools": [{"tool": tool, "calls": number, "errors": errors[tool]} for tool, number in calls.most_common()],
        "refusals": [
            {"code": code, "known": _CODES.get(code), "number": number}
            for code, number in codes.most_common(_MOST_REFUSALS)
        ],
        "outcomes": sorted(codes),
    }


def _of(agent: Agent, viewer: User) -> Sequence[QuerySet[ToolCall]]:
    """Return the two kinds of rows apart, so that each is read in the order of its index."""
    rows = ToolCall.objects.filter(agent=agent)
    named = rows.filter(owner=viewer.username)
    tokens = AgentToken.objects.filter(agent=agent, owners=viewer, all_owners=False).prefetch_related("owners")
    mine = [token for token in tokens if len(token.owners.all()) == 1]
    if not mine:
        return (named,)
    during = Q()
    for token in mine:
        during |= Q(token=token, at__gte=token.owners_since)
    return named, rows.filter(during, owner="")


def _before(cursor: str) -> Q:
    try:
        said, pk = paging.unpack(cursor)
        at = datetime.fromisoformat(said)
    except (TypeError, ValueError):
        return Q()
    if type(pk) is not int or not 0 < pk < 2**63 or at.tzinfo is None or not 1900 <= at.year <= 2200:
        return Q()
    # `at__lte` alone lets the index begin there; the rest is for calls of the same moment.
    return Q(at__lte=at) & (Q(at__lt=at) | Q(pk__lt=pk))


#: Rejected proposals with their reasons, as many as one reads.
_MOST_REJECTED = 5


def about_agent(request: HttpRequest, agent: Agent) -> dict[str, Any]:
    """Return what every tab of an agent's page needs.

    Raises:
        Http404: there is nothing about it that this viewer may see.
    """
    viewer = viewer_of(request)
    owners, context = agents.narrowed(request)
    proposals = agent.proposals.visible_to(owners)
    has_calls, has_webhooks = serves(agent, viewer), endpoints.concern(viewer, agent)
    if not (has_calls or has_webhooks or proposals.exists()):
        raise Http404
    context |= {"owners": owners, "proposals": proposals}
    return context | {"agent": agent, "has_calls": has_calls, "has_webhooks": has_webhooks}


@reading_page
@never_cache
def activity(request: HttpRequest, agent: str) -> HttpResponse:
    """Show an agent's tokens, and what became of its proposals, week by week."""
    viewer, context = viewer_of(request), about_agent(request, get_object_or_404(Agent, name=agent))
    (counts,) = agents.agents_of(context["owners"], context["began"], agent=context["agent"])
    context |= {
        "tab": "activity",
        "rows": rows_of(viewer, agent_id=context["agent"].pk),
        "rules": TrustRule.objects.filter(owner=viewer.username, agent=context["agent"]).count(),
        "counts": counts,
        **agents.week_by_week(counts, context["began"]),
        "rejected": context["proposals"].filter(status=Status.REJECTED).order_by("-decided_at")[:_MOST_REJECTED],
    }
    return render(request, "agents/agent.html", context)


@reading_page
@never_cache
def calls(request: HttpRequest, agent: str) -> HttpResponse:
    """Show what an agent called about the viewer's own memory. One that called nothing there is not found."""
    viewer, context = viewer_of(request), about_agent(request, get_object_or_404(Agent, name=agent))
    if not context["has_calls"]:
        raise Http404
    narrowed = {name: request.GET.get(name, "").replace("\0", "")[:100] for name in ("tool", "outcome", "before")}
    usage = usage_of(context["agent"], viewer)
    found, older = calls_of(context["agent"], viewer, **narrowed)
    context |= {
        "tab": "calls",
        "calls": found,
        "older": older,
        "narrowed": narrowed,
        "is_narrowed": bool(narrowed["tool"] or narrowed["outcome"]),
        "known": _CODES.get(narrowed["outcome"]),
        "usage": usage,
        "tool_names": sorted({use["tool"] for use in usage["tools"]} | ({narrowed["tool"]} & TOOLS.keys())),
    }
    return render(request, "agents/agent.html", context)
