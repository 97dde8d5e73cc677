"""Saving the filters of the list under a name, and deleting them."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import local_path, signed_in
from approvals.accounts.viewer import viewer_of
from approvals.pages.inbox_filters import Listing
from approvals.services.lists.saved_filters import FilterNotSaved
from approvals.views.request import Request


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
