"""Turning the pages of an import while its notes are ticked, and ticking many at once: nothing is decided here."""

from __future__ import annotations

from django.http import HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_POST

from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.proposal import ApproveSomeForm
from approvals.forms.ticks import Ticks
from approvals.views.proposal import proposal_or_404, proposal_page
from approvals.views.request import Request


@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def ticks(request: Request, pk: int) -> HttpResponse:
    """Return another page of the notes with the ticks as they were sent, and what was typed."""
    chosen = Ticks.sent(request.POST)
    match request.POST.get("tick"):
        case "all":
            chosen = Ticks()
        case "none":
            chosen = Ticks(False)
        case "page":
            chosen = Ticks(False, frozenset(request.POST.getlist("shown")))
    typed = {name: request.POST.get(name, "") for name in ("comment", "rest", "rest_reason")}
    return proposal_page(
        request, proposal_or_404(pk, viewer_of(request)), form=ApproveSomeForm(initial=typed), ticks=chosen
    )
