"""Whose a proposal is, who looks at it now, and putting it off."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import structlog
from django.contrib import messages
from django.db import DatabaseError, transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import local_path, signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.talk import AssignForm, SnoozeForm
from approvals.models import Proposal
from approvals.pages import inbox
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.talk import attention, threads
from approvals.permissions import deciders_of, may_decide
from approvals.services.errors import DecisionRefused, ProposalNotFound
from approvals.views.queue.rows import rows_now
from approvals.views.request import Request, is_read, whole_number

log = structlog.get_logger(__name__)


def care_context(request: Request, found: Proposal) -> dict[str, Any]:
    """Return who takes care of a proposal; note that the viewer looks at it."""
    viewer = viewer_of(request)
    if found.is_decided:
        return {}
    if is_read(request):
        _look(request, found)
    may = may_decide(viewer, found.owner)
    seen = attention.of_rows([found], viewer)
    return {
        "looking": seen.looking.get(found.pk, []),
        "snoozed_until": seen.snoozed.get(found.pk),
        "may_care": may,
        "deciders": deciders_of(found.owner) if may else [],
        "first_day": timezone.localdate(),
        "last_day": timezone.localdate(found.expires_at),
    }


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def looking(request: Request, pk: int) -> HttpResponse:
    """Note that the viewer still looks, and say who else does and whether somebody wrote since; 204 for no change."""
    from approvals.views.proposal import proposal_or_404

    viewer = viewer_of(request)
    found = proposal_or_404(pk, viewer)
    _look(request, found)
    known = whole_number(request.GET.get("comments", "")) or 0
    context = {
        "proposal": found,
        "looking": attention.of_rows([found], viewer).looking.get(found.pk, []),
        "new_comments": max(0, threads.summary(found).comments - known),
        "is_decided_since": found.is_decided,
        "list_query": Listing.parse(request.GET.get("list", "")).query,
    }
    return render(request, "talk/presence.html", context)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def assign(request: Request, pk: int) -> HttpResponse:
    form = AssignForm(request.POST)
    if not form.is_valid() or "to" not in request.POST:
        messages.error(request, _("Not assigned: choose a person, or nobody."))
        return _back(request, pk)

    def carry_out() -> str:
        done = services.assign(actor=viewer_of(request), proposal_id=pk, to=form.cleaned_data["to"])
        if done.assigned_to is None:
            return _("Assigned to nobody.")
        if done.assigned_to_id == viewer_of(request).pk:
            return _("Assigned to you.")
        return _("Assigned to %(who)s.") % {"who": done.assigned_to.display_name}

    return _done(request, pk, carry_out)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def snooze(request: Request, pk: int) -> HttpResponse:
    form = SnoozeForm(request.POST)
    until = form.at() if form.is_valid() else None
    if until is None:
        messages.error(request, _("Not snoozed: choose for how long."))
        return _back(request, pk)

    def carry_out() -> str:
        done = services.snooze(actor=viewer_of(request), proposal_id=pk, until=until)
        # The page says until when, with the way back; the list no longer has it.
        return _("Snoozed: %(what)s") % {"what": done.target_title} if request.POST.get("row") else ""

    return _done(request, pk, carry_out, until=until)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def wake(request: Request, pk: int) -> HttpResponse:
    def carry_out() -> str:
        services.wake(actor=viewer_of(request), proposal_id=pk)
        return _("It is back in your list.")

    return _done(request, pk, carry_out)


def _done(request: Request, pk: int, carry_out: Callable[[], str], *, until: datetime | None = None) -> HttpResponse:
    """Carry it out, say what it returns, and go back to the page; or answer with the row it was sent from."""
    try:
        said = carry_out()
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    except DecisionRefused as error:
        messages.error(request, error.message)
        return _back(request, pk)
    if request.htmx and request.POST.get("row"):
        return _row(request, pk, until)
    if said:
        messages.success(request, said)
    return _back(request, pk)


def _row(request: Request, pk: int, until: datetime | None) -> HttpResponse:
    """Return the row of what was snoozed until then, or of what is back."""
    from approvals.views.proposal import proposal_or_404

    row_url, user = request.POST["row"], viewer_of(request)
    found = proposal_or_404(pk, user)
    counts = inbox.counts_for(user)
    request.waiting = counts[Tab.YOURS]
    context: dict[str, Any] = {
        "proposal": found,
        "until": until,
        "row": None if until else rows_now([found])[0],
        "tabs": [(tab.value, counts[tab]) for tab in Tab],
        "list_query": Listing.of_url(row_url).query,
        "row_url": row_url,
    }
    return render(request, "inbox/row_snoozed.html" if until else "inbox/row_undone.html", context)


def _back(request: Request, pk: int) -> HttpResponse:
    """Go back to the list, where the form was on a row, else to the page of the proposal."""
    row_url = request.POST.get("row", "")
    url = local_path(request, row_url, reverse("inbox")) if row_url else _page(request, pk)
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": url})
    return redirect(url)


def _page(request: Request, pk: int) -> str:
    query = Listing.parse(request.POST.get("list", "")).query
    page = reverse("proposal", args=[pk])
    if not query:
        return page
    return f"{page}?{urlencode({'list': query})}"


def _look(request: Request, found: Proposal) -> None:
    """Note that the viewer looks; a page is not refused because that could not be written."""
    try:
        services.look(actor=viewer_of(request), proposal=found)
    except DatabaseError:
        log.exception("look_not_written", proposal=found.pk)
