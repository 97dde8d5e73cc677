"""Resolving a conflict: the text as it is now and the one proposed, and a text of one's own that settles both."""

from __future__ import annotations

from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from approvals import services
from approvals.accounts.sign_in import signed_in, typed_before
from approvals.accounts.viewer import viewer_of
from approvals.permissions import ReviewAction
from approvals.views.approving import reword
from approvals.views.proposal import proposal_or_404
from approvals.views.request import Request


@transaction.non_atomic_requests
@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def resolve(request: Request, pk: int) -> HttpResponse:
    found = proposal_or_404(pk, viewer_of(request))
    texts = reword.texts_of(request, found, ReviewAction.RESOLVE)
    if request.method == "POST":
        return reword.sent(request, "resolve", found, texts, services.resolve)
    if texts is None:
        return redirect(found.get_absolute_url())
    if not texts.is_conflict:
        return redirect(reword.url_of("edit", request, found))
    text = texts.proposed if texts.over_limit else texts.now
    return reword.page_of(request, "resolve", texts, typed_before(request), text=text)
