"""Deciding about a proposal: on its page or on its row of the inbox."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import local_path, signed_in, viewer_of
from approvals.forms.proposal import (
    ApproveForm,
    ApproveSomeForm,
    BackToReviewForm,
    CloseForm,
    RejectForm,
    RequestChangesForm,
    Ticks,
)
from approvals.models import Approval, Proposal, Status, User
from approvals.pages import inbox
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import rows_of
from approvals.permissions import ReviewAction, available_actions
from approvals.review.reworded import ids_of_changes, taken_of
from approvals.review.turn import change_request
from approvals.services.errors import (
    AlreadyDecided,
    BeingDecided,
    BranchMissing,
    DecisionRefused,
    NotAllowed,
    ProposalNotFound,
    WithAgent,
)
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request
from approvals.views.rows import beside, rows_now
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.models import TargetKind


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def approve(request: Request, pk: int) -> HttpResponse:
    """Approve what is ticked: as a rule everything, which is what a row of the inbox has."""
    ticks = Ticks.sent(request.POST)
    if ticks.is_everything:
        return _decide(request, pk, ApproveForm(request.POST), services.approve, Status.APPROVED)
    ids = ids_of_changes(proposal_or_404(pk, viewer_of(request)))
    some = partial(services.approve_some, accepted=ticks.accepted(ids))
    return _decide(request, pk, ApproveSomeForm(request.POST), some, Status.APPROVED)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def reject(request: Request, pk: int) -> HttpResponse:
    """Reject; with `already`, close what is already in the memory, which finds no fault with it."""
    if "already" in request.POST:
        return _decide(request, pk, CloseForm(request.POST), services.close_already_applied, Status.REJECTED)
    return _decide(request, pk, RejectForm(request.POST), services.reject, Status.REJECTED)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def request_changes(request: Request, pk: int) -> HttpResponse:
    """Ask the agent for changes; with `back`, take such a request back."""
    if "back" in request.POST:
        return _decide(request, pk, BackToReviewForm(request.POST), services.back_to_review, Status.OPEN)
    return _decide(request, pk, RequestChangesForm(request.POST), services.request_changes, Status.CHANGES_REQUESTED)


def _decide(
    request: Request, pk: int, form: ApproveForm, service: Callable[..., Proposal], wanted: Status
) -> HttpResponse:
    """Call the service, and answer where the form was: on the row, on the page, or with a redirect."""
    user = viewer_of(request)
    if not form.is_valid():
        found = proposal_or_404(pk, user)
        is_foreign = {"revision", "seen_sha256"} & set(form.errors)
        panel = Panel(_("This form is not from this page."), _("Nothing was changed. Look at the change below."))
        return _again(request, found, form, status=422, panel=panel if is_foreign else None)
    try:
        decided = _decided(service, user, pk, form.arguments())
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    except (DecisionRefused, EngineUnavailable, OutcomeUnknown) as error:
        match error:
            case AlreadyDecided() if _is_sent_twice(error.proposal, form, user, wanted):
                return _done(request, user, error.proposal)
            case WithAgent() if _is_asked_twice(error.proposal, form, user, wanted):
                return _done(request, user, error.proposal)
            case NotAllowed():
                status = 403
            case BranchMissing():
                status = 410
            case DecisionRefused():
                status = 409
            case _:
                status = 503
        panel = panel_for(error, form.cleaned_data, user)
        return _again(request, proposal_or_404(pk, user), form, status=status, panel=panel)
    return _done(request, user, decided)


def _decided(service: Callable[..., Proposal], user: User, pk: int, arguments: dict[str, Any]) -> Proposal:
    """Return the proposal as decided; once more after finishing what a crash left of an earlier decision."""
    try:
        return service(actor=user, proposal_id=pk, **arguments)
    except BeingDecided:
        services.find_proposal(pk, user)
        return service(actor=user, proposal_id=pk, **arguments)


def _is_sent_twice(proposal: Proposal, form: ApproveForm, user: User, wanted: Status) -> bool:
    """Whether the viewer took this very decision before, and said nothing else with it now."""
    comment = form.cleaned_data["comment"].strip()
    is_own = proposal.status == wanted and proposal.decided_by_id == user.pk
    if not is_own or comment not in ("", proposal.decision_comment):
        return False
    if isinstance(form, RejectForm):
        return str(form.cleaned_data["reason"]) == proposal.decision_reason
    if isinstance(form, ApproveSomeForm):
        return _is_same_part(proposal, cast("QueryDict", form.data))
    return proposal.approval in ("", Approval.AS_PROPOSED)


def _is_same_part(proposal: Proposal, sent: QueryDict) -> bool:
    """Whether these ticks are what was approved of the proposal."""
    taken, ticks = taken_of(proposal), Ticks.sent(sent)
    if taken is None:
        return False
    if proposal.target_kind == TargetKind.BLOCK:
        return ticks.accepted([change.id for change in taken.changes]) == taken.accepted
    asked, kept = ({change["id"] for change in revision.note_changes} for revision in (taken.asked, taken.approved))
    return ticks.accepted(asked) == kept


def _is_asked_twice(proposal: Proposal, form: ApproveForm, user: User, wanted: Status) -> bool:
    """Whether the viewer asked for these very changes before."""
    asked = change_request(proposal) if wanted == Status.CHANGES_REQUESTED else None
    if asked is None:
        return False
    return (asked.by, asked.comment) == (user.username, form.cleaned_data["comment"].strip())


def _done(request: Request, user: User, decided: Proposal) -> HttpResponse:
    row_url = request.POST.get("row", "")
    if request.htmx and row_url:
        counts = inbox.counts_for(user)
        request.waiting = counts[Tab.YOURS]
        context = {
            "proposal": decided,
            "tabs": [(tab.value, counts[tab]) for tab in Tab],
            "list_query": Listing.of_url(row_url).query,
            "row_url": row_url,
            "others": rows_now(beside(request, [decided])) if decided.status == Status.APPROVED else [],
            "may_undo": ReviewAction.UNDO in available_actions(user, decided),
            "is_own_change": True,
        }
        if decided.status == Status.OPEN:  # its agent is no longer asked for changes
            context |= {"row": rows_now([decided])[0], "is_own_change": False}
            return render(request, "inbox/row_undone.html", context)
        return render(request, "inbox/row_decided.html", context)
    if request.htmx:
        is_back = decided.status == Status.OPEN
        panel = Panel(_("It’s your turn again."), _("The agent is no longer asked for changes.")) if is_back else None
        return proposal_page(request, decided, just_decided=True, panel=panel)
    if row_url:
        outcomes = {
            Status.APPROVED: _("Approved: %(what)s"),
            Status.CHANGES_REQUESTED: _("Changes requested: %(what)s"),
            Status.OPEN: _("Open again: %(what)s"),
        }
        outcome = outcomes.get(Status(decided.status), _("Rejected: %(what)s"))
        messages.success(request, outcome % {"what": decided.target_title})
        return redirect(local_path(request, row_url, reverse("inbox")))
    query = listing_of(request).query
    return redirect(decided.get_absolute_url() + (f"?{urlencode({'list': query})}" if query else ""))


def _again(request: Request, found: Proposal, form: ApproveForm, *, status: int, panel: Panel | None) -> HttpResponse:
    """Return the row or page as it is now, with what went wrong and with what was typed."""
    row_url = request.POST.get("row", "")
    if not (request.htmx and row_url):
        return proposal_page(request, found, status=status, panel=panel, form=form)
    (row,) = rows_of([found], looking=True)
    context = {
        "row": row,
        "row_url": row_url,
        "list_query": Listing.of_url(row_url).query,
        "panel": panel,
        "reject_form": form if isinstance(form, RejectForm) else None,
        "request_form": form if isinstance(form, RequestChangesForm) else None,
        "typed_comment": request.POST.get("comment", "").strip(),
        # What this row was shown against is gone for them too.
        "others": rows_now(beside(request, [found])) if status == 409 else [],
    }
    return render(request, "inbox/row_again.html", context, status=status)
