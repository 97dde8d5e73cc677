"""Several proposals decided at once, from their rows: a result for each, and one Undo."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, viewer_of
from approvals.forms.proposal import SeveralForm, everybodys_agent, is_tick, new_batch, ticked
from approvals.models import Proposal, Status
from approvals.pages import inbox
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import alike_to, rows_of
from approvals.permissions import ReviewAction, available_actions, proposals_visible_to
from approvals.services import BatchOutcome
from approvals.services.errors import Refusal
from approvals.views.decide import beside, counted, ids_on_page
from approvals.views.panels import Panel
from approvals.views.proposal import proposal_or_404
from approvals.views.request import Request, reading_page, verb


@verb(lambda: reverse("inbox"))
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
    except Refusal as error:
        return _again(request, form, Panel(_("Nothing was decided."), error.message))
    return _done(request, outcome)


@verb(lambda batch: reverse("inbox"))
def undo_several(request: Request, batch: str) -> HttpResponse:
    """Undo every decision of a batch."""
    outcome = services.undo_several(actor=viewer_of(request), batch=batch)
    if not outcome.results:
        raise Http404
    return _done(request, outcome)


@reading_page
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
    rows = rows_of((known[each] for each in pks if each in known), looking=True)
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
    row_url = local_path(request, request.POST.get("row", ""), reverse("inbox"))
    done = [result.proposal for result in outcome.done if result.proposal]
    owners = {result.proposal.owner for result in outcome.results if result.proposal}
    context = {
        "outcome": outcome,
        "is_undo": outcome.action is ReviewAction.UNDO,
        "approved": outcome.action is ReviewAction.APPROVE,
        "may_undo": any(
            ReviewAction.UNDO in available_actions(user, result.proposal) for result in outcome.done if result.proposal
        ),
        "names": display_names(owners),
        "several_owners": len(owners) > 1,
        "list_query": Listing.of_url(row_url).query,
        "row_url": row_url,
        "batch": new_batch(),
        **counted(request),
    }
    if not request.htmx:
        return render(request, "inbox/several_page.html", context)
    # Read again: approving one may have changed what is known of another.
    known = Proposal.objects.select_related("agent", "decided_by").in_bulk(
        [each.proposal_id for each in outcome.results if each.proposal and each.proposal_id in ids_on_page(request)]
    )
    decided = [each for each in known.values() if each.is_decided]
    waiting = [each for each in known.values() if each.status == Status.OPEN]
    why = {each.proposal_id: each.why for each in outcome.left}
    rows = beside(request, done, waiting=waiting)
    context |= {
        "decided_rows": [(each, ReviewAction.UNDO in available_actions(user, each)) for each in decided],
        "open_rows": [(row, why.get(row.proposal.pk, "")) for row in rows],
    }
    return render(request, "inbox/several_done.html", context)


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
