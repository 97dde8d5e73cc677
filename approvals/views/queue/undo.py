"""Undoing a decision: from its outcome in one press, or from a page that says first what it would do."""

from __future__ import annotations

from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals import services
from approvals.accounts.names import display_names
from approvals.accounts.sign_in import kept_fields, local_path, signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.proposal import UndoForm
from approvals.models import Event, Proposal, Status, User
from approvals.pages import inbox
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.queue.undoing import undoing
from approvals.permissions import ReviewAction, available_actions
from approvals.review.diff_mode import DiffMode
from approvals.services.decide.errors import AlreadyUndone, ChangedSince, UndoConflict
from approvals.services.errors import DecisionRefused, NotAllowed, ProposalNotFound
from approvals.views.kept_choices import chosen
from approvals.views.panels import Panel
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.queue.rows import beside, rows_now
from approvals.views.request import Request
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown


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
    return _done(request, user, undone)


def _done(request: Request, user: User, undone: Proposal) -> HttpResponse:
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
