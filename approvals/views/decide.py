"""Deciding about one proposal, on its page or on its row of the list: a function for each verb.

Each checks its form, calls one service, and says at its place what a form that was sent twice, a conflict and an outage
are answered with.
"""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals import services
from approvals.accounts.sign_in import display_names, kept_fields, local_path, signed_in, viewer_of
from approvals.forms.proposal import (
    ApproveForm,
    ApproveSomeForm,
    BackToReviewForm,
    CloseForm,
    RejectForm,
    RequestChangesForm,
    Ticks,
    UndoForm,
)
from approvals.models import Approval, Event, Proposal, Status, User
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing
from approvals.pages.inbox_rows import rows_of
from approvals.pages.undoing import undoing
from approvals.permissions import ReviewAction, available_actions
from approvals.review.diff_mode import DiffMode
from approvals.review.reworded import ids_of_changes, taken_of
from approvals.review.turn import change_request
from approvals.services.errors import (
    AlreadyDecided,
    AlreadyUndone,
    ChangedSince,
    DecisionRefused,
    UndoConflict,
    WithAgent,
)
from approvals.views.answers import REFUSED, beside, carried_out, invalid, refused, row, status_of, url_of, with_list
from approvals.views.panels import Panel
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request, chosen
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.models import TargetKind


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def approve(request: Request, pk: int) -> HttpResponse:
    """Approve what is ticked: as a rule everything, which is what a row of the list has."""
    user, ticks = viewer_of(request), Ticks.sent(request.POST)
    form = ApproveForm(request.POST) if ticks.is_everything else ApproveSomeForm(request.POST)
    if not form.is_valid():
        return invalid(request, pk, form)
    try:
        if ticks.is_everything:
            approved = carried_out(services.approve, user, pk, form.arguments())
        else:
            accepted = ticks.accepted(ids_of_changes(proposal_or_404(pk, user)))
            approved = carried_out(services.approve_some, user, pk, {"accepted": accepted, **form.arguments()})
    except AlreadyDecided as error:
        approved = error.proposal
        is_same = _is_all(approved) if ticks.is_everything else _is_same_part(approved, ticks)
        if not (is_same and _was_decided_so(approved, Status.APPROVED, user, form)):
            return refused(request, pk, form, error)
    except REFUSED as error:
        return refused(request, pk, form, error)
    if request.htmx and request.POST.get("row"):
        others, may_undo = beside(request, [approved]), ReviewAction.UNDO in available_actions(user, approved)
        return row(request, "inbox/row_decided.html", approved, others=others, may_undo=may_undo, is_own_change=True)
    return _page_or_list(request, approved, _("Approved: %(what)s"))


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def reject(request: Request, pk: int) -> HttpResponse:
    """Reject; with `already`, close what is already in the memory, which finds no fault with it."""
    user, closes = viewer_of(request), "already" in request.POST
    form = CloseForm(request.POST) if closes else RejectForm(request.POST)
    if not form.is_valid():
        return invalid(request, pk, form)
    try:
        service = services.close_already_applied if closes else services.reject
        rejected = carried_out(service, user, pk, form.arguments())
    except AlreadyDecided as error:
        rejected = error.proposal
        is_same = closes or rejected.decision_reason == form.cleaned_data["reason"]
        if not (is_same and _was_decided_so(rejected, Status.REJECTED, user, form)):
            return refused(request, pk, form, error)
    except REFUSED as error:
        return refused(request, pk, form, error)
    if request.htmx and request.POST.get("row"):
        may_undo = ReviewAction.UNDO in available_actions(user, rejected)
        return row(request, "inbox/row_decided.html", rejected, may_undo=may_undo)
    return _page_or_list(request, rejected, _("Rejected: %(what)s"))


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def request_changes(request: Request, pk: int) -> HttpResponse:
    """Ask the agent for changes; with `back`, take such a request back."""
    if "back" in request.POST:
        return _back_to_review(request, pk)
    user, form = viewer_of(request), RequestChangesForm(request.POST)
    if not form.is_valid():
        return invalid(request, pk, form)
    try:
        asked = carried_out(services.request_changes, user, pk, form.arguments())
    except WithAgent as error:
        asked, earlier = error.proposal, change_request(error.proposal)
        said = form.cleaned_data["comment"].strip()
        if earlier is None or (earlier.by, earlier.comment) != (user.username, said):
            return refused(request, pk, form, error)
    except REFUSED as error:
        return refused(request, pk, form, error)
    if request.htmx and request.POST.get("row"):
        return row(request, "inbox/row_decided.html", asked)
    return _page_or_list(request, asked, _("Changes requested: %(what)s"))


def _back_to_review(request: Request, pk: int) -> HttpResponse:
    user, form = viewer_of(request), BackToReviewForm(request.POST)
    if not form.is_valid():
        return invalid(request, pk, form)
    try:
        back = carried_out(services.back_to_review, user, pk, form.arguments())
    except REFUSED as error:
        return refused(request, pk, form, error)
    if request.htmx and request.POST.get("row"):
        return row(request, "inbox/row_undone.html", back, row=rows_of([back], looking=True)[0])
    panel = Panel(_("It’s your turn again."), _("The agent is no longer asked for changes."))
    return _page_or_list(request, back, _("Open again: %(what)s"), panel)


def _page_or_list(request: Request, decided: Proposal, said: str, panel: Panel | None = None) -> HttpResponse:
    """Answer a decision with its page; without scripts, go back to the page, or say it on the list it was sent from."""
    if request.htmx:
        return proposal_page(request, decided, just_decided=True, panel=panel)
    if row_url := request.POST.get("row", ""):
        messages.success(request, said % {"what": decided.target_title})
        return redirect(local_path(request, row_url, reverse("inbox")))
    return redirect(url_of("proposal", request, decided))


def _was_decided_so(proposal: Proposal, status: Status, user: User, form: ApproveForm) -> bool:
    """Whether the viewer decided it so before, as by pressing twice, and said nothing else with it now."""
    said = form.cleaned_data["comment"].strip() in ("", proposal.decision_comment)
    return said and proposal.status == status and proposal.decided_by_id == user.pk


def _is_all(proposal: Proposal) -> bool:
    return proposal.approval in ("", Approval.AS_PROPOSED)


def _is_same_part(proposal: Proposal, ticks: Ticks) -> bool:
    """Whether these ticks are what was approved of the proposal."""
    taken = taken_of(proposal)
    if taken is None:
        return False
    if proposal.target_kind == TargetKind.BLOCK:
        return ticks.accepted([change.id for change in taken.changes]) == taken.accepted
    asked, kept = ({change["id"] for change in revision.note_changes} for revision in (taken.asked, taken.approved))
    return ticks.accepted(asked) == kept


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def undo(request: Request, pk: int) -> HttpResponse:
    """Undo; where the memory changed since the decision, show first what undoing would do."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    if request.method != "POST":
        if ReviewAction.UNDO not in available_actions(user, found):
            return redirect(url_of("proposal", request, found))
        kept = kept_fields(request)
        return _undo_page(request, found, UndoForm(initial=kept), listing=listing_of(request, kept.get("list", "")))
    form = UndoForm(request.POST)
    if not form.is_valid():
        return _undo_page(request, found, form, status=422)
    try:
        undone = services.undo(actor=user, proposal_id=pk, **form.arguments())
    except AlreadyUndone as error:
        if not _was_undone_by(user, error.proposal):
            return _not_undone(request, pk, error.message)
        undone = proposal_or_404(pk, user)
    except (ChangedSince, UndoConflict) as error:
        if request.htmx:  # the page that says what undoing would do takes the place of this one
            listing = listing_of(request, Listing.of_url(request.POST.get("row", "")).query)
            return HttpResponse(headers={"HX-Redirect": with_list(reverse("undo", args=[pk]), listing)})
        return _undo_page(request, error.proposal, form, status=409, panel=Panel(_("Not undone."), error.message))
    except DecisionRefused as error:
        return _not_undone(request, pk, error.message, status=status_of(error))
    except (EngineUnavailable, OutcomeUnknown):
        text = _("The memory did not answer. If undoing had begun, it will finish by itself. Look again in a minute.")
        return _not_undone(request, pk, text, status=503)
    is_open = not undone.is_decided
    if request.htmx and request.POST.get("row"):
        shown = rows_of([undone], looking=True)[0] if is_open else None
        others = beside(request, [undone])
        return row(request, "inbox/row_undone.html", undone, row=shown, others=others, is_undone=True)
    if request.htmx:
        panel = Panel(_("This proposal is open again."), _("It waits for a decision as before.")) if is_open else None
        return proposal_page(request, undone, just_decided=True, panel=panel)
    if is_open:
        said = _("Open again: %(what)s")
    elif undone.auto_applied:
        said = _("Reverted: the memory is as it was before.")
    else:
        said = _("Undone: %(what)s. The memory is as it was before.")
    messages.success(request, said % {"what": undone.target_title})
    back = request.POST.get("next", "") or request.POST.get("row", "")
    return redirect(local_path(request, back, url_of("proposal", request, undone)))


def _undo_page(
    request: Request,
    proposal: Proposal,
    form: UndoForm,
    *,
    status: int = 200,
    panel: Panel | None = None,
    listing: Listing | None = None,
) -> HttpResponse:
    listing = listing or listing_of(request)
    context = {
        "proposal": proposal,
        "undoing": undoing(proposal, viewer_of(request)),
        "form": form,
        "panel": panel,
        "listing": listing,
        "list_query": listing.query,
        "target_url": url_of_target(proposal),
        "owner_name": display_names({proposal.owner}).get(proposal.owner, proposal.owner),
        "comment": form["comment"].value() or "",
        "proposal_url": with_list(proposal.get_absolute_url(), listing),
        "page_url": with_list(reverse("undo", args=[proposal.pk]), listing),
        "is_source": (request.GET.get("view") or chosen(request, "view", [*DiffMode])) == DiffMode.SOURCE,
    }
    return render(request, "proposal/undo.html", context, status=status)


def _not_undone(request: Request, pk: int, message: str, *, status: int = 409) -> HttpResponse:
    """Answer that nothing was undone, on the page of the proposal as it is now."""
    now = proposal_or_404(pk, viewer_of(request))
    return proposal_page(request, now, status=status, panel=Panel(_("Not undone."), message))


def _was_undone_by(user: User, proposal: Proposal) -> bool:
    """Whether the viewer undid it, in another window or by pressing twice."""
    what = Event.What.REOPENED if proposal.status == Status.OPEN else Event.What.REVERTED
    last = proposal.events.filter(what=what).last()
    return last is not None and (last.actor, last.actor_kind) == (user.username, Event.ActorKind.PERSON)
