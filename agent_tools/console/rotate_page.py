"""`/settings/agents/<id>/rotate/`: a new secret with the same rights, while the old one goes on working for a time."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agent_tools.auth import tokens
from agent_tools.console.token_list import usable_of
from agent_tools.console.tokens_page import mark_as_sent, new_nonce, tokens_page, was_sent_before
from agent_tools.forms import RotateForm
from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of


@signed_in(return_to=lambda pk: reverse("agents"))
@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def rotate(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask how long the old secret stays valid, then show the new one, in the answer to the POST only."""
    viewer = viewer_of(request)
    found = usable_of(viewer).filter(pk=pk).select_related("agent", "replaced_by").prefetch_related("owners").first()
    if found is None:
        raise Http404
    if request.method == "POST" and was_sent_before(request):
        return redirect("agents")
    if not tokens.may_rotate(found, viewer):
        messages.warning(request, _("This token can’t be rotated here. It was rotated before, or an admin created it."))
        return redirect("agents")
    form = RotateForm(request.POST if request.method == "POST" else None)
    if request.method != "POST" or not form.is_valid():
        context = {"section": "settings", "token": found, "form": form, "nonce": new_nonce()}
        return render(request, "agents/rotate.html", context, status=422 if form.is_bound else 200)
    try:
        issued = tokens.rotate(found, by=viewer, until=form.until)
    except tokens.NotRotatable:  # by another request since it was looked up
        messages.warning(request, _("This token was just rotated or revoked elsewhere."))
        return redirect("agents")
    mark_as_sent(request)
    found.refresh_from_db()
    return tokens_page(request, viewer, issued=issued, old=found)
