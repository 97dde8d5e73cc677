"""`/agents/`: agents and what became of their proposals, with the tokens of one's own memory, made, rotated, revoked;
`/agents/<name>/`: one agent, with its activity, its calls about the viewer's memory, and its webhooks as tabs.

Activity counts the proposals that a viewer may see; tokens, calls and webhooks are those of the viewer's own memory.
Calls are from the rows of the audit: names, sizes and outcomes, no texts.
"""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib import messages
from django.db import IntegrityError, transaction
from django.db.models import Count, Q, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from agent_tools import auth, snippets
from agent_tools.answers import paging
from agent_tools.calls.registry import TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.forms import RotateForm, TokenForm, mark_used, new_nonce, was_used
from agent_tools.models import AgentToken, AgentTokenQuerySet, ToolCall
from agent_tools.webhooks import endpoints
from approvals.accounts.sign_in import viewer_of
from approvals.models import Agent, Status, TrustRule, User
from approvals.statistics import agents as agents_statistics
from approvals.views.request import form_page, reading_page

# -- All agents, and the tokens of one's own memory.


def usable_of(viewer: User) -> AgentTokenQuerySet:
    """Return the tokens that open this person's memory now."""
    return AgentToken.objects.serving(viewer.username).working()


def rows_of(viewer: User, *, agent_id: int | None = None) -> list[dict[str, Any]]:
    """Return the tokens that open this person's memory now, newest first; of one agent where it is named."""
    found = usable_of(viewer).select_related("agent", "created_by", "replaced_by").prefetch_related("owners")
    if agent_id is not None:
        found = found.filter(agent=agent_id)
    families: dict[int, list[AgentToken]] = {}
    for token in found:
        families.setdefault(token.original_id, []).append(token)
    return [_row(family, viewer) for family in families.values()]


def _row(family: list[AgentToken], viewer: User) -> dict[str, Any]:
    """Return a token as the pages show it, with those it replaced that still work, the newest first."""
    newest, *replaced = sorted(family, key=lambda token: token.pk, reverse=True)
    old = []
    for token in replaced:
        at, used_at = token.replaced_by.created_at, token.last_used_at
        # Uses are noted once a minute.
        old.append({"token": token, "replaced_at": at, "is_in_use": used_at is not None and used_at > at})
    return {
        "token": newest,
        "old": old,
        "may_rotate": auth.may_rotate(newest, viewer),
        "is_by_admin": newest.created_by_id != viewer.pk and not newest.all_owners,
        "is_shared": len(newest.owners.all()) > 1,  # with others, too; not told with whom
    }


@form_page
def agents(request: HttpRequest) -> HttpResponse:
    """Show the tokens that serve this person, and make one.

    A new secret is in the answer to the POST only: not in the session, not behind an address.
    """
    viewer = viewer_of(request)
    if request.method != "POST":
        return tokens_page(request, viewer)
    form = TokenForm(request.POST, owner=viewer)
    if _has_made_its_token(request):
        return redirect("agents")
    if not form.is_valid() or form.agent is None:
        return tokens_page(request, viewer, form, status=422)
    try:
        with transaction.atomic():
            form.agent.save()
    except IntegrityError:  # made by another request since the form was checked
        form.add_error("name", _("An agent of this name was just created. Create the token again."))
        return tokens_page(request, viewer, form, status=422)
    mark_used(request)
    given = {name: form.cleaned_data[name] for name in ("scopes", "toolset")}
    made = auth.issue(agent=form.agent, owners=[viewer], created_by=viewer, expires_at=form.expires_at, **given)
    return tokens_page(request, viewer, issued=made)


@partial(form_page, return_to=lambda pk: reverse("agents"))
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask, then end a token; one that serves others too only stops serving this person."""
    viewer = viewer_of(request)
    serving_me = AgentToken.objects.usable().filter(owners=viewer, all_owners=False).select_related("agent")
    token = get_object_or_404(serving_me, pk=pk)
    family = Q(first=token.original_id) | Q(pk=token.original_id)
    old = list(serving_me.filter(family, pk__lt=token.pk))
    if request.method != "POST":
        context = {"section": "agents", "token": token, "old": old}
        return render(request, "agents/revoke.html", context)
    ended = [token, *(old if "old" in request.POST else [])]
    for each in ended:
        auth.stop_serving(each, viewer)
    messages.success(
        request,
        _("The token %(prefix)s… of %(agent)s no longer opens your memory.")
        % {"prefix": "…, ".join(each.prefix for each in ended), "agent": token.agent.name},
    )
    return redirect("agents")


def _has_made_its_token(request: HttpRequest) -> bool:
    """Whether this form has made its token: the page with the secret was loaded again. One press, one token."""
    told = _("That token has already been created. Its secret was shown once and is not stored.")
    return was_used(request, told)


def tokens_page(
    request: HttpRequest,
    viewer: User,
    form: TokenForm | None = None,
    *,
    issued: auth.Issued | None = None,
    old: AgentToken | None = None,
    status: int = 200,
) -> HttpResponse:
    """Render the page.

    Args:
        form: as it was refused.
        issued: the token that was made by this request, with its secret.
        old: the one it replaces.
    """
    serving = AgentToken.objects.serving(viewer.username).select_related("agent")
    owners, counted = agents_statistics.narrowed(request)
    rows = rows_of(viewer)
    own = [row for row in rows if not row["token"].all_owners]
    names = [row["token"].agent.name for row in own] if counted["owner"] in ("", viewer.username) else []
    context: dict[str, Any] = {
        **counted,
        "agents": agents_statistics.agents_of(owners, counted["began"], others=names),
        "form": form or TokenForm(owner=viewer),
        "nonce": new_nonce(),
        "own": own,
        "admins": [row for row in rows if row["token"].all_owners],
        "ended": serving.exclude(pk__in=usable_of(viewer).values("pk"))[:20],
        "issued": issued,
        "old": old,
        # What to type to connect: with the new secret, or with the variable it belongs into.
        "ways": snippets.ways(request.build_absolute_uri("/").rstrip("/"), issued.secret if issued else "asn_…"),
    }
    return render(request, "agents/agents.html", context, status=status)


@partial(form_page, return_to=lambda pk: reverse("agents"))
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask how long the old secret stays valid, then show the new one, in the answer to the POST only."""
    viewer = viewer_of(request)
    found = get_object_or_404(usable_of(viewer).select_related("agent", "replaced_by"), pk=pk)
    if request.method == "POST" and _has_made_its_token(request):
        return redirect("agents")
    if not auth.may_rotate(found, viewer):
        messages.warning(request, _("This token can’t be rotated here. It was rotated before, or an admin created it."))
        return redirect("agents")
    form = RotateForm(request.POST if request.method == "POST" else None)
    if not form.is_valid():
        context = {"section": "agents", "token": found, "form": form, "nonce": new_nonce()}
        return render(request, "agents/rotate.html", context, status=422 if form.is_bound else 200)
    try:
        issued = auth.rotate(found, by=viewer, until=form.until)
    except auth.NotRotatable:  # by another request since it was looked up
        messages.warning(request, _("This token was just rotated or revoked elsewhere."))
        return redirect("agents")
    mark_used(request)
    found.refresh_from_db()
    return tokens_page(request, viewer, issued=issued, old=found)


# -- One agent.

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
    owners, context = agents_statistics.narrowed(request)
    proposals = agent.proposals.visible_to(owners)
    has_calls, has_webhooks = serves(agent, viewer), endpoints.concern(viewer, agent)
    if not (has_calls or has_webhooks or proposals.exists()):
        raise Http404
    context |= {"owners": owners, "proposals": proposals}
    return context | {"agent": agent, "has_calls": has_calls, "has_webhooks": has_webhooks}


@reading_page
def activity(request: HttpRequest, agent: str) -> HttpResponse:
    """Show an agent's tokens, and what became of its proposals, week by week."""
    viewer, context = viewer_of(request), about_agent(request, get_object_or_404(Agent, name=agent))
    (counts,) = agents_statistics.agents_of(context["owners"], context["began"], agent=context["agent"])
    context |= {
        "tab": "activity",
        "rows": rows_of(viewer, agent_id=context["agent"].pk),
        "rules": TrustRule.objects.filter(owner=viewer.username, agent=context["agent"]).count(),
        "counts": counts,
        **agents_statistics.week_by_week(counts, context["began"]),
        "rejected": context["proposals"].filter(status=Status.REJECTED).order_by("-decided_at")[:_MOST_REJECTED],
    }
    return render(request, "agents/agent.html", context)


@reading_page
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
