"""Several proposals decided at once, from their rows: a result for each, and one Undo."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from approvals import services
from approvals.accounts.sign_in import display_names, kept_fields, local_path, signed_in, viewer_of
from approvals.forms.proposal import SeveralForm, UndoForm, everybodys_agent, is_tick, new_batch, ticked
from approvals.models import Event, Proposal, Status, User
from approvals.pages import inbox
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow, alike_to
from approvals.pages.undoing import undoing
from approvals.permissions import ReviewAction, available_actions, proposals_visible_to
from approvals.review.diff_mode import DiffMode
from approvals.services import BatchOutcome
from approvals.services.errors import (
    AlreadyUndone,
    ChangedSince,
    DecisionRefused,
    NotAllowed,
    ProposalNotFound,
    TooManyAtOnce,
    UndoConflict,
)
from approvals.services.saved_filters import FilterNotSaved
from approvals.views.panels import Panel
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request, whole_number
from approvals.views.rows import beside, chosen, rows_now
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown

# -- Saving the filters of the list under a name, and deleting them.


@signed_in(return_to=lambda: reverse("inbox"))
@require_POST
def save(request: Request) -> HttpResponse:
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


@signed_in(return_to=lambda pk: reverse("inbox"))
@require_POST
def delete(request: Request, pk: int) -> HttpResponse:
    name = services.delete_filter(actor=viewer_of(request), pk=min(pk, 2**31))
    if name:
        messages.success(request, _("Deleted the filter “%(name)s”.") % {"name": name})
    return redirect(local_path(request, request.POST.get("next", ""), reverse("inbox")))


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


# -- Undoing a decision: from its outcome in one press, or from a page that says first what it would do.


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: Request, pk: int) -> HttpResponse:
    """Undo; where the memory changed since the decision, show first what undoing would do."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    if request.method != "POST":
        if ReviewAction.UNDO not in available_actions(user, found):
            return redirect(_url_of(found, listing_of(request)))
        kept = kept_fields(request)
        return _page(request, found, UndoForm(initial=kept), listing=listing_of(request, kept.get("list", "")))
    form = UndoForm(request.POST)
    if not form.is_valid():
        return _page(request, found, form, status=422)
    try:
        undone = services.undo(actor=user, proposal_id=pk, **form.arguments())
    except ProposalNotFound:
        raise Http404 from None
    except AlreadyUndone as error:
        if not _was_by(user, error.proposal):
            return _refused(request, error.proposal, error.message)
        undone = proposal_or_404(pk, user)
    except (ChangedSince, UndoConflict) as error:
        if request.htmx:  # the page that says what undoing would do takes the place of this one
            listing = listing_of(request, Listing.of_url(request.POST.get("row", "")).query)
            return HttpResponse(headers={"HX-Redirect": _with_list(reverse("undo", args=[pk]), listing)})
        return _page(request, error.proposal, form, status=409, panel=Panel(_("Not undone."), error.message))
    except DecisionRefused as error:
        return _refused(request, error.proposal, error.message, status=403 if isinstance(error, NotAllowed) else 409)
    except (EngineUnavailable, OutcomeUnknown):
        text = _("The memory did not answer. If undoing had begun, it will finish by itself. Look again in a minute.")
        return _refused(request, found, text, status=503)
    return _done_of_undo(request, user, undone)


def _done_of_undo(request: Request, user: User, undone: Proposal) -> HttpResponse:
    """Answer where the button was: on the row, on the page, or with a redirect."""
    reopened = not undone.is_decided
    row_url = request.POST.get("row", "")
    if request.htmx and row_url:
        counts = inbox.counts_for(user)
        request.waiting = counts[Tab.YOURS]
        context = {
            "proposal": undone,
            "row": rows_now([undone])[0] if reopened else None,
            "is_undone": True,
            "tabs": [(tab.value, counts[tab]) for tab in Tab],
            "list_query": Listing.of_url(row_url).query,
            "row_url": row_url,
            "others": rows_now(beside(request, [undone])),
        }
        return render(request, "inbox/row_undone.html", context)
    if request.htmx:
        panel = Panel(_("This proposal is open again."), _("It waits for a decision as before.")) if reopened else None
        return proposal_page(request, undone, just_decided=True, panel=panel)
    text = (
        _("Open again: %(what)s")
        if reopened
        else _("Undone: %(what)s. The memory is as it was before.")
        if not undone.auto_applied
        else _("Reverted: the memory is as it was before.")
    )
    messages.success(request, text % {"what": undone.target_title})
    back = local_path(request, request.POST.get("next", "") or row_url, _url_of(undone, listing_of(request)))
    return redirect(back)


def _page(
    request: Request,
    proposal: Proposal,
    form: UndoForm,
    *,
    status: int = 200,
    panel: Panel | None = None,
    listing: Listing | None = None,
) -> HttpResponse:
    shown = undoing(proposal, viewer_of(request))
    listing = listing or listing_of(request)
    names = display_names({proposal.owner})
    context = {
        "proposal": proposal,
        "undoing": shown,
        "form": form,
        "panel": panel,
        "listing": listing,
        "list_query": listing.query,
        "target_url": url_of_target(proposal),
        "owner_name": names.get(proposal.owner, proposal.owner),
        "comment": form["comment"].value() or "",
        "proposal_url": _url_of(proposal, listing),
        "page_url": _with_list(reverse("undo", args=[proposal.pk]), listing),
        "is_source": (request.GET.get("view") or chosen(request, "view", [*DiffMode])) == DiffMode.SOURCE,
    }
    return render(request, "proposal/undo.html", context, status=status)


def _refused(request: Request, proposal: Proposal, message: str, *, status: int = 409) -> HttpResponse:
    """Answer that nothing was undone, on the page of the proposal as it is now."""
    return proposal_page(
        request, proposal_or_404(proposal.pk, viewer_of(request)), status=status, panel=Panel(_("Not undone."), message)
    )


def _was_by(user: User, proposal: Proposal) -> bool:
    """Whether the viewer undid it, in another window or by pressing twice."""
    what = Event.What.REOPENED if proposal.status == Status.OPEN else Event.What.REVERTED
    last = proposal.events.filter(what=what).last()
    return last is not None and (last.actor, last.actor_kind) == (user.username, Event.ActorKind.PERSON)


def _url_of(proposal: Proposal, listing: Listing) -> str:
    return _with_list(proposal.get_absolute_url(), listing)


def _with_list(url: str, listing: Listing) -> str:
    return f"{url}?{urlencode({'list': listing.query})}" if listing.query else url
