"""The review queue: its tabs, the list, whether something new arrived, and filters saved under a name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.db.models import Exists, OuterRef
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, typed_before, viewer_of
from approvals.forms.proposal import SeveralForm, everybodys_agent, is_tick, new_batch
from approvals.models import Agent, Kind, Mergeability, Proposal, ProposalQuerySet, Status, User
from approvals.pages import risk_wording
from approvals.pages.inbox import (
    Arrivals,
    arrived,
    counts,
    last_decisions,
    listed,
    order_of,
    page,
    titles_of_targets,
)
from approvals.pages.inbox_filters import (
    AGES,
    ANY_RISK,
    AS_PROPOSED,
    CHANGED,
    MINE,
    REVERTED,
    InboxFilters,
    Key,
    Listing,
    Sort,
    Tab,
    url_of,
)
from approvals.pages.inbox_rows import InboxRow
from approvals.pages.talk import talk_of
from approvals.permissions import readable_people
from approvals.risks import flags
from approvals.services.saved_filters import FilterNotSaved
from approvals.views.request import Request, chosen, keep, reading_page, verb
from memory_app.models import TargetKind

#: Owners and blocks offered as a list to choose from; with more, the reader types the name.
MOST_CHOICES = 100

#: With more owners the reader types a name, which the browser completes.
MOST_OWNERS_IN_A_LIST = 15

#: What the last tab's filter for the outcome offers.
_OUTCOMES = (
    (Status.APPROVED.value, gettext_lazy("approved")),
    (AS_PROPOSED, gettext_lazy("approved as proposed")),
    (CHANGED, gettext_lazy("approved with changes or in part")),
    (Status.REJECTED.value, gettext_lazy("rejected")),
    (Status.APPLIED.value, gettext_lazy("automatic")),
    (REVERTED, gettext_lazy("undone")),
    (Status.WITHDRAWN.value, gettext_lazy("withdrawn")),
    (Status.EXPIRED.value, gettext_lazy("expired")),
)


#: The orders, in the words of the switch.
_SORTS = (
    (Sort.NEWEST.value, gettext_lazy("Newest")),
    (Sort.OLDEST.value, gettext_lazy("Oldest")),
    (Sort.RISK.value, gettext_lazy("Risk")),
)


class Density(StrEnum):
    """How much room a row takes; the value is the word in the URL."""

    COMFORTABLE = "comfortable"
    COMPACT = "compact"


@reading_page
def inbox(request: Request) -> HttpResponse:
    """Show the page; with `since`, answer only whether more came: 204, or a line offering to show it.

    `density` is kept for the next pages, and leaves the address.
    """
    if "density" in request.GET:
        return _with_density(request)
    user = viewer_of(request)
    people = readable_people(user)
    owners = None if people is None else list(people)
    kept = typed_before(request)
    listing = _with_owner_named(_listing(request, kept), owners)
    tab, filters = listing.tab, listing.filters
    visible = Proposal.objects.visible_to(owners)
    proposals = listed(visible, tab, filters, user)

    since = Key.parse(request.GET.get("since", ""))
    if since and request.htmx:
        read = Key.parse(request.GET.get("read", ""))
        return _arrived(request, arrived(proposals, tab, since, user, read=read, owners=owners), listing)

    services.recover_on_read()
    _expire_overdue()
    now, by_tab = str(Key(timezone.now(), 0)), counts(visible)
    request.waiting = by_tab[Tab.YOURS]  # for the navigation
    shown = page(
        proposals,
        order_of(tab, listing.sort),
        gathers=tab is Tab.YOURS and (owners is None or len(owners) > 1),
        before=Key.parse(request.GET.get("before", "")),
        after=Key.parse(request.GET.get("after", "")),
        viewer=user,
    )
    rows = [row for group in shown.groups for first in group.rows for row in first.together]
    names = display_names({row.proposal.owner for row in rows}) if people is None else people
    fields = _fields(visible, people, tab, filters)
    context = {
        "tab": tab.value,
        "tabs": [(each.value, by_tab[each]) for each in Tab],
        "counts_here": by_tab[tab],
        "found": proposals.count() if filters.active and not shown.is_empty else None,
        "density": chosen(request, "density", set(Density)) or Density.COMFORTABLE.value,
        **_filtered(fields, listing),
        "page": shown,
        "names": names,
        "several_owners": owners is None or len(owners) > 1,
        "row_url": request.get_full_path(),
        "listing": listing,
        "list_query": listing.query,
        "poll_url": url_of(listing.parameters | {"since": shown.newest or now, "read": now}),
        "poll": tab is Tab.YOURS and not shown.newer,
        "sorts": _SORTS if tab is Tab.YOURS else _SORTS[:2],
        **_saved(user, listing, kept),
        **_several(request, kept, rows),
        "talk": talk_of([row.proposal for row in rows], user),
        "last_decisions": last_decisions(visible) if shown.is_empty and tab is Tab.YOURS else [],
    }
    return render(request, "inbox/list.html" if request.htmx else "inbox/inbox.html", context)


def _arrived(request: Request, found: Arrivals, listing: Listing) -> HttpResponse:
    """Return the line that offers to show what came or changed; 204 when nothing did."""
    if not (found.new or found.changed):
        return HttpResponse(status=204)
    context = {"arrived": found.new + found.changed, "new": found.new, "changed": found.changed}
    return render(request, "inbox/arrived.html", context | {"list_url": listing.url})


def _several(request: Request, kept: Mapping[str, str], rows: Sequence[InboxRow]) -> dict[str, Any]:
    """Return what the form that decides about several rows needs, with what was typed into it while signed out."""
    return {
        "batch": new_batch(),
        "several": everybodys_agent(),
        "several_form": SeveralForm(initial=dict(kept)) if kept.get("reason") or kept.get("comment") else None,
        "ticked": request.GET.get("ticked", ""),
        "ticked_before": {value for name, value in kept.items() if is_tick(name)},
        "plain": sum(row.is_plain for row in rows),
    }


def _listing(request: Request, kept: Mapping[str, str]) -> Listing:
    """Return which list is asked for; after signing in again, the one that a form was sent from."""
    if kept.get("query") or kept.get("row"):
        return Listing.parse(kept["query"]) if kept.get("query") else Listing.of_url(kept["row"])
    return Listing.from_query(request.GET.dict())


def _saved(user: User, listing: Listing, kept: Mapping[str, str]) -> dict[str, Any]:
    """Return the saved filters as links; one is shown where the list is narrowed by it now."""
    found = list(user.saved_filters.order_by("name"))
    links = [
        {
            "pk": each.pk,
            "name": each.name,
            "url": Listing.parse(each.query).url,
            "is_shown": each.query == listing.query,
        }
        for each in found
    ]
    is_saved = any(each.query == listing.query for each in found)
    return {"saved": links, "is_saved": is_saved, "filter_name": kept.get("filter_name", "")}


def _with_density(request: Request) -> HttpResponse:
    others = request.GET.copy()
    (wanted,) = others.pop("density")[-1:]
    response = redirect(f"{request.path}?{others.urlencode()}" if others else request.path)
    if wanted in set(Density):
        keep(response, "density", wanted)
    return response


@dataclass(frozen=True)
class Field:
    """A filter as the form shows it. Options complete what the reader types where there are too many to choose from."""

    name: str
    label: str
    value: str
    options: tuple[tuple[str, str], ...]

    @property
    def is_typed(self) -> bool:
        """Whether the reader types instead of choosing from a list."""
        return not self.options or (self.name == "owner" and len(self.options) > MOST_OWNERS_IN_A_LIST)

    @property
    def shown(self) -> str:
        return dict(self.options).get(self.value, self.value)


def _agents(visible: ProposalQuerySet) -> list[str]:
    """Return the names of the agents that proposed something this person may see."""
    # Asked of each agent, which are few: telling them from the proposals means reading all of those.
    theirs = visible.order_by().filter(agent=OuterRef("pk"))
    return list(Agent.objects.filter(Exists(theirs)).values_list("name", flat=True)[:MOST_CHOICES])


def _deciders(visible: ProposalQuerySet) -> list[tuple[str, str]]:
    """Return the people who decided something this person may see: username and name."""
    theirs = visible.order_by().filter(decided_by=OuterRef("pk"))
    people = User.objects.filter(Exists(theirs))[:MOST_CHOICES]
    return sorted(((person.username, person.display_name) for person in people), key=lambda item: item[1].lower())


def _with_owner_named(listing: Listing, owners: list[str] | None) -> Listing:
    """Return the filters with the username of an owner who was typed by name, where one of these has that name."""
    typed = listing.filters.owner
    if not typed or owners is None or typed in owners:
        return listing
    called = [name for name, shown in display_names(set(owners)).items() if shown.casefold() == typed.casefold()]
    return replace(listing, filters=replace(listing.filters, owner=called[0])) if len(called) == 1 else listing


def _fields(visible: ProposalQuerySet, people: dict[str, str] | None, tab: Tab, filters: InboxFilters) -> list[Field]:
    targets = titles_of_targets(visible.filter(target_kind=TargetKind.BLOCK), MOST_CHOICES + 1)
    states = _OUTCOMES if tab is Tab.DECIDED else Mergeability.choices
    offered: list[tuple[str, Any, Any]] = [
        ("about", _("About"), [("block", _("blocks")), ("note", _("notes"))]),
        ("target", _("Block"), targets.items() if len(targets) <= MOST_CHOICES else []),
        ("agent", _("Agent"), [(name, name) for name in _agents(visible)]),
        ("kind", _("Kind"), Kind.choices),
        ("state", _("Outcome") if tab is Tab.DECIDED else _("State"), states),
        *([("by", _("Decided by"), _deciders(visible))] if tab is Tab.DECIDED else []),
        ("risk", _("Risk"), [(ANY_RISK, _("any")), *((key, risk_wording.title(key)) for key in flags.KEYS)]),
        ("age", _("Proposed"), AGES.items()),
        *([("decided", _("Decided"), AGES.items())] if tab is Tab.DECIDED else []),
    ]
    if tab is Tab.YOURS:
        offered.append(("assigned", _("Assigned to"), [(MINE, _("me")), ("nobody", _("nobody"))]))
    if people is None or len(people) > 1:
        by_name = sorted((people or {}).items(), key=lambda item: item[1].lower())
        offered.insert(0, ("owner", _("Whose memory"), by_name))
    return [
        Field(name, str(label), getattr(filters, name), tuple((value, str(text)) for value, text in options))
        for name, label, options in offered
    ]


def _filtered(fields: list[Field], listing: Listing) -> dict[str, Any]:
    """Return what the filters offer, and those that are active, each with the way back out of it."""
    chips = [
        {
            "label": field.label,
            "value": field.shown,
            "without": url_of({name: value for name, value in listing.parameters.items() if name != field.name}),
        }
        for field in [*fields, Field("q", _("Text"), listing.filters.q, ())]
        if field.value
    ]
    return {
        "filters": listing.filters,
        "filter_fields": fields,
        "filter_count": sum(1 for field in fields if field.value),
        "filter_chips": chips,
    }


def _expire_overdue() -> None:
    """Expire proposals whose time is over, and settle what no longer fits: once a minute, where there is no worker that
    does it by the clock."""
    if settings.CELERY_TASK_ALWAYS_EAGER and cache.add("approvals.expire", 1, timeout=60):
        services.expire()
        services.settle()


@verb(lambda: reverse("inbox"))
def save_filter(request: Request) -> HttpResponse:
    """Save the filters of the list the form stands on."""
    listing = Listing.parse(request.POST.get("query", ""))
    try:
        saved = services.save_filter(
            actor=viewer_of(request), name=request.POST.get("filter_name", "")[:200], query=listing.query
        )
    except FilterNotSaved as error:
        messages.error(request, error.message)
    else:
        messages.success(request, _("Saved the filter “%(name)s”.") % {"name": saved.name})
    return redirect(listing.url)


@verb(lambda pk: reverse("inbox"))
def delete_filter(request: Request, pk: int) -> HttpResponse:
    name = services.delete_filter(actor=viewer_of(request), pk=min(pk, 2**31))
    if name:
        messages.success(request, _("Deleted the filter “%(name)s”.") % {"name": name})
    return redirect(local_path(request, request.POST.get("next", ""), reverse("inbox")))
