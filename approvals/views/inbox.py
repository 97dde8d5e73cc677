"""The review queue: its tabs, the list, whether something new arrived, and filters saved under a name."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.core.cache import cache
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, typed_before, viewer_of
from approvals.forms.proposal import SeveralForm, is_tick
from approvals.models import Proposal, ProposalQuerySet, User, bare_name
from approvals.pages import inbox as queue
from approvals.pages.inbox_filters import Key, Listing, Sort, Tab, filter_menu, url_of
from approvals.pages.inbox_rows import InboxRow
from approvals.permissions import readable_people
from approvals.services.errors import Refusal
from approvals.views.request import Request, chosen, keep, reading_page, verb
from approvals.views.several import batches_shown

#: So few proposals need no order, density, filter or search of their own.
WORTH_A_VIEW = 15

#: How much room a row takes, as the address and the stylesheet call it; the first one unless the reader chose.
_DENSITIES = ("comfortable", "compact")


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
    keys = {name: Key.parse(request.GET.get(name, "")) for name in ("since", "read", "before", "after")}
    if keys["since"] and request.htmx:
        return _arrivals(request, listing, visible, owners, keys["since"], keys["read"])

    services.recover_on_read()
    _expire_overdue()
    now, by_tab = str(Key(timezone.now(), 0)), queue.counts(visible)
    request.waiting = by_tab[Tab.YOURS]  # for the navigation
    is_in_parts = listing.is_looked_through and by_tab[tab] > queue.MOST_LOOKED_THROUGH
    turned = {name: keys[name] for name in ("before", "after")}
    proposals = queue.listed(visible, listing, user, **turned if is_in_parts else {})
    order, gathers = queue.order_of(tab, listing.sort), tab is Tab.YOURS and (owners is None or len(owners) > 1)
    is_plain_page = tab is Tab.YOURS and request.GET.get("ticked") == "plain"
    if is_plain_page:
        shown = queue.plain_page(proposals, order, gathers=gathers, viewer=user)
        is_plain_page = bool(shown.groups)  # once they are decided, what else waits is shown at this address
    if not is_plain_page:
        shown = queue.page(proposals, order, gathers=gathers, viewer=user, **turned)
    until = queue.looked_until(visible, listing, keys["before"]) if is_in_parts and not keys["after"] else None
    if until and not shown.older and listing.sort is not Sort.RISK:
        shown = replace(shown, older=str(until))
    rows = [row for group in shown.groups for first in group.rows for row in first.together]
    outcome = batches_shown(request, tab)
    names = display_names({row.proposal.owner for row in rows}) | outcome.get("names", {}) if people is None else people
    context = outcome | {
        "tab": tab.value,
        "tabs": [(each.value, by_tab[each]) for each in Tab],
        "counts_here": by_tab[tab],
        "found": proposals.count() if filters.active and shown.groups and not is_plain_page else None,
        **_shown(request, visible, people, listing, by_tab),
        "looked_through": queue.MOST_LOOKED_THROUGH if until else 0,
        "filter_name": kept.get("filter_name", ""),
        "page": shown,
        "names": names,
        "several_owners": owners is None or len(owners) > 1,
        "row_url": request.get_full_path(),
        "listing": listing,
        "list_query": listing.query,
        "poll_url": url_of(listing.parameters | {"since": shown.newest or now, "read": now}),
        "poll": tab is Tab.YOURS and not shown.newer and not is_plain_page,
        "sorts": Sort.choices if tab is Tab.YOURS else Sort.choices[:2],
        **_several(request, kept, rows, is_plain_page),
        **_said(user, tab, visible, by_tab, not shown.groups),
    }
    return render(request, "inbox/list.html" if request.htmx else "inbox/inbox.html", context)


def _arrivals(
    request: Request,
    listing: Listing,
    visible: ProposalQuerySet,
    owners: list[str] | None,
    since: Key,
    read: Key | None,
) -> HttpResponse:
    viewer = viewer_of(request)
    waiting = queue.listed(visible, listing, viewer)
    new, changed = queue.arrived(waiting, listing.tab, since, viewer, read=read, owners=owners)
    if not (new or changed):
        return HttpResponse(status=204)
    arrivals = {"arrived": new + changed, "new": new, "changed": changed, "list_url": listing.url}
    return render(request, "inbox/arrived.html", arrivals)


def _said(user: User, tab: Tab, visible: ProposalQuerySet, by_tab: Mapping[Tab, int], is_empty: bool) -> dict[str, Any]:
    """Return what is told above the list to people who have decided nothing yet, and in the place of an empty one."""
    is_yours = tab is Tab.YOURS
    may_be_new = is_yours and not is_empty and not user.is_welcomed
    return {
        "is_newcomer": may_be_new and not Proposal.objects.filter(decided_by=user).exists(),
        "is_unused": not any(by_tab.values()),
        "waits_for_agent": by_tab[Tab.AGENT],
        "last_decisions": queue.last_decisions(visible) if is_yours and is_empty else [],
    }


@verb(lambda: reverse("inbox"))
def dismiss_welcome(request: Request) -> HttpResponse:
    """Put away what the list says to newcomers."""
    services.dismiss_welcome(actor=viewer_of(request))
    return HttpResponse() if request.htmx else redirect("inbox")


def _several(
    request: Request, kept: Mapping[str, str], rows: Sequence[InboxRow], is_plain_page: bool
) -> dict[str, Any]:
    """Return what the form that decides about several rows needs, with what was typed into it while signed out.

    Args:
        is_plain_page: these are all that may be decided together, and are all `chosen`.
    """
    return {
        "several_form": SeveralForm(initial=dict(kept)) if kept.get("reason") or kept.get("comment") else None,
        "ticked_before": {value for name, value in kept.items() if is_tick(name)},
        "has_plain": any(row.is_plain for row in rows),
        "chosen": len(rows) if is_plain_page else 0,
        "is_selecting": is_plain_page or "select" in request.GET,
    }


def _shown(
    request: Request,
    visible: ProposalQuerySet,
    people: dict[str, str] | None,
    listing: Listing,
    by_tab: Mapping[Tab, int],
) -> dict[str, Any]:
    """Return what the menu View offers: how the list is shown, what is left out, and the filters under a name.

    Args:
        by_tab: proposals in each tab. A few are shown as they are, unless the reader came here by a filter.
    """
    density = chosen(request, "density", _DENSITIES) or _DENSITIES[0]
    saved = list(viewer_of(request).saved_filters.order_by("name"))
    is_chosen = listing.filters.active or listing.sort is not Sort.NEWEST or saved
    has_view = by_tab[listing.tab] >= WORTH_A_VIEW or bool(is_chosen)
    return {
        "has_view": has_view,
        "density": density if has_view else _DENSITIES[0],
        **filter_menu(visible, people, listing, count=sum(by_tab.values())),
        "saved": saved,
        "is_saved": any(each.query == listing.query for each in saved),
    }


def _listing(request: Request, kept: Mapping[str, str]) -> Listing:
    """Return which list is asked for; after signing in again, the one that a form was sent from."""
    if kept.get("query") or kept.get("row"):
        return Listing.parse(kept["query"]) if kept.get("query") else Listing.of_url(kept["row"])
    return Listing.from_query(request.GET.dict())


def _with_density(request: Request) -> HttpResponse:
    others = request.GET.copy()
    (wanted,) = others.pop("density")[-1:]
    response = redirect(f"{request.path}?{others.urlencode()}" if others else request.path)
    if wanted in _DENSITIES:
        keep(response, "density", wanted)
    return response


def _with_owner_named(listing: Listing, owners: list[str] | None) -> Listing:
    """Return the filters with the username of an owner who was typed by name, where one of these has that name."""
    typed = listing.filters.owner
    if not typed or owners is None or typed in owners:
        return listing
    wanted = bare_name(typed).casefold()
    names = display_names(set(owners))
    called = [name for name, shown in names.items() if bare_name(shown).casefold() == wanted]
    return replace(listing, filters=replace(listing.filters, owner=called[0])) if len(called) == 1 else listing


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
    except Refusal as error:
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
