"""Several proposals decided at once, from their rows: a result for each, and one Undo."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals import services
from approvals.accounts.names import display_names
from approvals.accounts.sign_in import local_path, signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.several import SeveralForm, everybodys_agent, is_tick, new_batch, ticked
from approvals.models import Proposal, Status
from approvals.pages import inbox
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow
from approvals.pages.queue.alike import alike_to
from approvals.permissions import ReviewAction, available_actions, proposals_visible_to
from approvals.services import BatchOutcome
from approvals.services.decide.errors import TooManyAtOnce
from approvals.views.panels import Panel
from approvals.views.proposal import proposal_or_404
from approvals.views.queue.rows import beside, rows_now
from approvals.views.request import Request, whole_number


@transaction.non_atomic_requests
@signed_in(return_to=lambda: reverse("inbox"))
@require_POST
def several(request: Request) -> HttpResponse:
    """Approve or reject what is ticked."""
    form, items = SeveralForm(request.POST), ticked(request.POST.dict())
    if not items:
        return _again(request, form, Panel(_("Nothing is selected."), _("Tick the proposals that are meant first.")))
    if not form.is_valid():
        problem = " ".join(str(error) for errors in form.errors.values() for error in errors)
        return _again(request, form, Panel(_("Nothing was decided."), problem))
    try:
        outcome = services.decide_several(
            actor=viewer_of(request),
            items=items,
            action=form.action_wanted,
            reason=form.cleaned_data["reason"],
            comment=form.cleaned_data["comment"],
            batch=form.cleaned_data["batch"],
        )
    except TooManyAtOnce as error:
        return _again(request, form, Panel(_("Nothing was decided."), error.message))
    return _done(request, outcome)


@transaction.non_atomic_requests
@signed_in(return_to=lambda batch: reverse("inbox"))
@require_POST
def undo_several(request: Request, batch: str) -> HttpResponse:
    """Undo every decision of a batch."""
    outcome = services.undo_several(actor=viewer_of(request), batch=batch)
    if not outcome.results:
        raise Http404
    return _done(request, outcome)


@signed_in()
@require_safe
def together(request: Request, pk: int) -> HttpResponse:
    """Show the same change for several people, with a tick for each."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    listing = Listing.parse(request.GET.get("list", ""))
    if found.status != Status.OPEN:
        return redirect(found)
    waiting = inbox.listed(proposals_visible_to(user), Tab.YOURS, listing.filters, user)
    pks = alike_to(found, waiting, inbox.order_of(Tab.YOURS, listing.sort))
    known = Proposal.objects.select_related("agent").in_bulk(pks)
    rows = rows_now(known[each] for each in pks if each in known)
    if len(rows) < 2:
        return redirect(found)
    first = rows[0]
    names = display_names({row.proposal.owner for row in rows})
    context = {
        "first": first,
        "proposal": first.proposal,
        "rows": sorted(rows, key=lambda row: names.get(row.proposal.owner, row.proposal.owner).casefold()),
        "plain": sum(row.is_plain for row in rows),
        "names": names,
        "listing": listing,
        "list_query": listing.query,
        "row_url": listing.url,
        "batch": new_batch(),
        "several": everybodys_agent(),
    }
    return render(request, "inbox/together.html", context)


def _done(request: Request, outcome: BatchOutcome) -> HttpResponse:
    """Answer with what became of each: above the list, whose rows are replaced, or on a page."""
    user = viewer_of(request)
    counts = inbox.counts_for(user)
    request.waiting = counts[Tab.YOURS]
    row_url = local_path(request, request.POST.get("row", ""), reverse("inbox"))
    owners = {result.proposal.owner for result in outcome.results if result.proposal}
    context = {
        "outcome": outcome,
        "is_undo": outcome.action is ReviewAction.UNDO,
        "approved": outcome.action is ReviewAction.APPROVE,
        "may_undo": any(_may_undo(request, result.proposal) for result in outcome.done if result.proposal),
        "tabs": [(tab.value, counts[tab]) for tab in Tab],
        "names": display_names(owners),
        "several_owners": len(owners) > 1,
        "list_query": Listing.of_url(row_url).query,
        "row_url": row_url,
        "batch": new_batch(),
    }
    if not request.htmx:
        return render(request, "inbox/several_page.html", context)
    return render(request, "inbox/several_done.html", context | _rows(request, outcome))


def _may_undo(request: Request, proposal: Proposal) -> bool:
    return ReviewAction.UNDO in available_actions(viewer_of(request), proposal)


def _rows(request: Request, outcome: BatchOutcome) -> dict[str, Any]:
    """Return the rows on the reader's page that this changes: those decided, and those about the same targets."""
    named = map(whole_number, request.POST.get("beside", "").split(",", inbox.PAGE_SIZE * 4))
    on_page = {pk for pk in named if pk is not None}
    # Read again: approving one may have changed what is known of another.
    known = Proposal.objects.select_related("agent", "decided_by").in_bulk(
        [each.proposal_id for each in outcome.results if each.proposal and each.proposal_id in on_page]
    )
    decided = [each for each in known.values() if each.is_decided]
    waiting = [each for each in known.values() if each.status == Status.OPEN]
    why = {each.proposal_id: each.why for each in outcome.left}
    others = beside(request, [result.proposal for result in outcome.done if result.proposal])
    rows: list[InboxRow] = rows_now({each.pk: each for each in [*waiting, *others]}.values())
    return {
        "decided_rows": [(each, _may_undo(request, each)) for each in decided],
        "open_rows": [(row, why.get(row.proposal.pk, "")) for row in rows],
    }


def _again(request: Request, form: SeveralForm, panel: Panel) -> HttpResponse:
    """Say what is missing; the ticks and what was typed stay where they are, or come back on a page."""
    if request.htmx:
        return render(request, "inbox/several_panel.html", {"panel": panel}, status=422)
    items = [(name, value) for name, value in request.POST.items() if is_tick(name)]
    context = {
        "panel": panel,
        "form": form,
        "items": items,
        "several": everybodys_agent(),
        "row_url": local_path(request, request.POST.get("row", ""), reverse("inbox")),
        "batch": new_batch(),
    }
    return render(request, "inbox/several_again.html", context, status=422)
