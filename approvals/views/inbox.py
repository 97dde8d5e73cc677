"""The inbox: whose turn it is, the list, and whether something new arrived."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.core.cache import cache
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from approvals import inbox as queue
from approvals import risk_words, risks, services
from approvals.filters import AGES, ANY_RISK, Filters, Tab
from approvals.inbox import Key
from approvals.models import Agent, Kind, Mergeability, Proposal, ProposalQuerySet, Status
from approvals.permissions import readable_owners
from approvals.views.auth import signed_in
from approvals.views.request import Request
from approvals.views.viewer import viewer_of

#: Owners and blocks offered as a list to choose from; with more, the reader types the name.
MOST_CHOICES = 100

#: States a proposal can be decided into, as filters of the last tab.
_OUTCOMES = (Status.APPROVED, Status.REJECTED, Status.WITHDRAWN, Status.EXPIRED)


@signed_in()
@require_safe
def inbox(request: Request) -> HttpResponse:
    """The page; with `since` only whether more came: 204, or a line offering to show it."""
    user = viewer_of(request)
    tab = _tab(request.GET.get("tab", ""))
    filters = Filters.from_query(request.GET.dict())
    owners = readable_owners(user)
    visible = Proposal.objects.visible_to(owners)
    proposals = queue.listed(visible, tab, filters)

    since = Key.parse(request.GET.get("since", ""))
    if since and request.htmx:
        arrived = queue.arrived(proposals, tab, since)
        if not arrived:
            return HttpResponse(status=204)
        return render(request, "inbox/arrived.html", {"arrived": arrived, "list_url": _url(_narrowed(tab, filters))})

    services.recover_on_read()
    _expire_overdue()
    counts = queue.counts(visible)
    request.waiting = counts[Tab.YOURS]  # for the navigation
    page = queue.page(
        proposals,
        tab,
        before=Key.parse(request.GET.get("before", "")),
        after=Key.parse(request.GET.get("after", "")),
    )
    names = queue.names_of({group.owner for group in page.groups} if owners is None else set(owners))
    narrowed = _narrowed(tab, filters)
    fields = _fields(
        visible, None if owners is None else {owner: names.get(owner, owner) for owner in owners}, tab, filters
    )
    context = {
        "tab": tab.value,
        "tabs": [(each.value, counts[each]) for each in Tab],
        "counts_here": counts[tab],
        "filters": filters,
        "filter_fields": fields,
        "filter_count": sum(1 for field in fields if field.value),
        "filter_chips": _chips(fields, narrowed, filters),
        "page": page,
        "names": names,
        "several_owners": owners is None or len(owners) > 1,
        "row_url": request.get_full_path(),
        "poll_url": _url(narrowed | {"since": page.newest or str(Key(timezone.now(), 0))}),
        "poll": tab is Tab.YOURS and not page.newer,
        "last_decisions": queue.last_decisions(visible) if page.is_empty and tab is Tab.YOURS else [],
    }
    return render(request, "inbox/list.html" if request.htmx else "inbox/inbox.html", context)


@dataclass(frozen=True)
class Field:
    """A filter as the form shows it; without options the reader types."""

    name: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...]

    @property
    def shown(self) -> str:
        return dict(self.options).get(self.value, self.value)


@dataclass(frozen=True)
class Chip:
    """An active filter and the way back out of it."""

    label: str
    value: str
    without: str


def _tab(text: str) -> Tab:
    return Tab(text) if text in set(Tab) else Tab.YOURS


def _narrowed(tab: Tab, filters: Filters) -> dict[str, str]:
    """Parameters that lead to the top of the list as it is filtered now."""
    return ({"tab": tab.value} if tab is not Tab.YOURS else {}) | filters.active


def _url(parameters: dict[str, str]) -> str:
    return f"{reverse('inbox')}?{urlencode(parameters)}" if parameters else reverse("inbox")


def _agents(visible: ProposalQuerySet) -> list[str]:
    """Names of the agents that proposed something this person may see, and no others."""
    # Asked of each agent, which are few: telling them from the proposals means reading all of those.
    theirs = visible.order_by().filter(agent=OuterRef("pk"))
    return list(Agent.objects.filter(Exists(theirs)).values_list("name", flat=True)[:MOST_CHOICES])


def _fields(visible: ProposalQuerySet, people: dict[str, str] | None, tab: Tab, filters: Filters) -> list[Field]:
    targets = queue.titles_of_targets(visible.filter(target_kind="block"), MOST_CHOICES + 1)
    states = [(status.value, status.label) for status in _OUTCOMES] if tab is Tab.DECIDED else Mergeability.choices
    offered: list[tuple[str, Any, Any]] = [
        ("about", _("About"), [("block", _("blocks")), ("note", _("notes"))]),
        ("target", _("Block"), targets.items() if len(targets) <= MOST_CHOICES else []),
        ("agent", _("Agent"), [(name, name) for name in _agents(visible)]),
        ("kind", _("Kind"), Kind.choices),
        ("state", _("Outcome") if tab is Tab.DECIDED else _("State"), states),
        ("risk", _("Risk"), [(ANY_RISK, _("any")), *((key, risk_words.title(key)) for key in risks.KEYS)]),
        ("age", _("Proposed"), AGES.items()),
    ]
    if people is None or len(people) > 1:
        by_name = sorted((people or {}).items(), key=lambda item: item[1].lower())
        offered.insert(0, ("owner", _("Whose memory"), by_name))
    return [
        Field(name, str(label), getattr(filters, name), tuple((value, str(text)) for value, text in options))
        for name, label, options in offered
    ]


def _chips(fields: list[Field], narrowed: dict[str, str], filters: Filters) -> list[Chip]:
    shown = [*fields, Field("q", _("Text"), filters.q, ())]
    return [
        Chip(field.label, field.shown, _url({name: value for name, value in narrowed.items() if name != field.name}))
        for field in shown
        if field.value
    ]


def _expire_overdue() -> None:
    """Without a worker nobody else looks at the calendar (design.md §6): once a minute, a reader does."""
    if settings.CELERY_TASK_ALWAYS_EAGER and cache.add("approvals.expire", 1, timeout=60):
        services.expire()
