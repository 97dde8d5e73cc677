"""Removing the texts of a proposal that was not taken, or not whole, after saying what that means."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals import services
from approvals.accounts.sign_in import signed_in, viewer_of
from approvals.permissions import ReviewAction, available_actions, may_redact
from approvals.services.errors import NotRemovable
from approvals.views.proposal import proposal_or_404
from approvals.views.request import Request


@signed_in()
@transaction.non_atomic_requests
@require_http_methods(["GET", "HEAD", "POST"])
def redact(request: Request, pk: int) -> HttpResponse:
    user = viewer_of(request)
    proposal = proposal_or_404(pk, user)
    if not may_redact(user, proposal.owner):
        raise Http404
    if request.method == "POST":
        try:
            services.redact(actor=user, proposal_id=pk)
        except NotRemovable as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("The texts of the proposal are removed."))
        return redirect("proposal", pk=pk)
    if ReviewAction.REDACT not in available_actions(user, proposal):
        return redirect("proposal", pk=pk)
    context = {"proposal": proposal, "conversations_url": reverse("conversations", args=[proposal.owner])}
    return render(request, "proposal/redact.html", context)
