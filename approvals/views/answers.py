"""What a verb about one proposal answers: the row or the page that its form was on, as it is now.

Without scripts both are redirects, which each verb writes itself. Only views of verbs call this.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import reduce
from operator import or_
from typing import Any
from urllib.parse import urlencode

from django.db.models import Q
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import viewer_of
from approvals.forms.proposal import ApproveForm, RejectForm, RequestChangesForm
from approvals.models import Proposal, User
from approvals.pages import inbox
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.services.errors import BeingDecided, BranchMissing, DecisionRefused, NotAllowed
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request, whole_number
from memory_app.dolt.errors import DoltError, EngineUnavailable, OutcomeUnknown

#: What a service raises instead of deciding; `refused` answers it.
REFUSED = (DecisionRefused, EngineUnavailable, OutcomeUnknown)


def carried_out(service: Callable[..., Proposal], user: User, pk: int, arguments: dict[str, Any]) -> Proposal:
    """Return the proposal as decided; once more after finishing what a crash left of an earlier decision."""
    try:
        return service(actor=user, proposal_id=pk, **arguments)
    except BeingDecided:
        services.find_proposal(pk, user)
        return service(actor=user, proposal_id=pk, **arguments)
    except OverflowError:
        raise Http404 from None


def refused(request: Request, pk: int, form: ApproveForm, error: DecisionRefused | DoltError) -> HttpResponse:
    """Answer a decision that was not taken: the proposal as it is now, what changed, and what was typed."""
    user = viewer_of(request)
    panel = panel_for(error, form.cleaned_data, user)
    return again(request, proposal_or_404(pk, user), form, status=status_of(error), panel=panel)


def status_of(error: Exception) -> int:
    """Return the status to answer a refused decision with."""
    match error:
        case NotAllowed():
            return 403
        case BranchMissing():
            return 410
        case DecisionRefused():
            return 409
    return 503


def invalid(request: Request, pk: int, form: ApproveForm) -> HttpResponse:
    """Answer a form with errors, which it shows, or one that no page of ours sent."""
    found = proposal_or_404(pk, viewer_of(request))
    if {"revision", "seen_sha256"} & set(form.errors):
        panel = Panel(_("This form is not from this page."), _("Nothing was changed. Look at the change below."))
        return again(request, found, form, status=422, panel=panel)
    return again(request, found, form, status=422)


def again(
    request: Request, found: Proposal, form: ApproveForm, *, status: int, panel: Panel | None = None
) -> HttpResponse:
    """Return the row or the page as it is now, with what went wrong and with what was typed."""
    row_url = request.POST.get("row", "")
    if not (request.htmx and row_url):
        return proposal_page(request, found, status=status, panel=panel, form=form)
    (shown,) = rows_of([found], looking=True)
    context = {
        "row": shown,
        "row_url": row_url,
        "list_query": Listing.of_url(row_url).query,
        "panel": panel,
        "reject_form": form if isinstance(form, RejectForm) else None,
        "request_form": form if isinstance(form, RequestChangesForm) else None,
        "typed_comment": request.POST.get("comment", "").strip(),
        # What this row was shown against is gone for them too.
        "others": beside(request, [found]) if status == 409 else [],
    }
    return render(request, "inbox/row_again.html", context, status=status)


def row(request: Request, template: str, proposal: Proposal, **context: Any) -> HttpResponse:
    """Return a template of a row whose proposal was decided, with the new counts of the list."""
    row_url = request.POST["row"]
    context |= {"proposal": proposal, "row_url": row_url, "list_query": Listing.of_url(row_url).query}
    return render(request, template, context | counted(request))


def counted(request: Request) -> dict[str, Any]:
    """Return how many proposals each tab has now; the navigation says the same."""
    counts = inbox.counts_for(viewer_of(request))
    request.waiting = counts[Tab.YOURS]
    return {"tabs": [(tab.value, counts[tab]) for tab in Tab]}


def url_of(name: str, request: Request, found: Proposal) -> str:
    """Return the address of a page of a proposal, with the list it was opened from."""
    return with_list(reverse(name, args=[found.pk]), listing_of(request))


def with_list(url: str, listing: Listing) -> str:
    return f"{url}?{urlencode({'list': listing.query})}" if listing.query else url


def ids_on_page(request: Request) -> set[int]:
    """Return the proposals listed on the page that a form was sent from."""
    named = map(whole_number, request.POST.get("beside", "").split(",", inbox.PAGE_SIZE * 4))
    return {pk for pk in named if pk is not None}


def beside(request: Request, decided: Iterable[Proposal], *, waiting: Iterable[Proposal] = ()) -> list[InboxRow]:
    """Return rows of the page that a form was sent from, as they are now: those about the targets of what was decided.

    Args:
        waiting: others to return the rows of.
    """
    decided = list(decided)
    ids = ids_on_page(request) - {each.pk for each in decided}
    targets = {(each.owner, each.target_kind, each.target) for each in decided}
    others: Iterable[Proposal] = ()
    if ids and targets:
        about = reduce(or_, (Q(owner=owner, target_kind=kind, target=target) for owner, kind, target in targets))
        found = Proposal.objects.open().filter(about, pk__in=ids)
        others = found.select_related("agent", "decided_by")
    return rows_of({each.pk: each for each in [*waiting, *others]}.values(), looking=True)
