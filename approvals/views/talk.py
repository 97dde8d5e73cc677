"""The forms beside a proposal that decide nothing: its thread, and whose it is."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import signed_in, viewer_of
from approvals.forms.proposal import AssignForm, CommentForm
from approvals.models import Proposal
from approvals.review.presentation import review_of
from approvals.services.errors import AlreadyDecided, CommentInvalid, DecisionRefused, TalkClosed
from approvals.views.answers import url_of
from approvals.views.proposal import proposal_or_404, proposal_page, talk_context
from approvals.views.request import Request
from memory_app.text.edits import ForbiddenCharacter


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def comment(request: Request, pk: int) -> HttpResponse:
    """Save a comment, and answer with the thread or the page."""
    viewer = viewer_of(request)
    found = proposal_or_404(pk, viewer)
    form = CommentForm(request.POST)
    if not form.is_valid():
        if set(form.errors) != {"said"}:
            form.add_error("said", _("This form is not from this page. Send it again."))
        return _again(request, found, form, 422)
    try:
        services.comment(
            actor=viewer,
            proposal_id=pk,
            text=form.cleaned_data["said"],
            change=form.cleaned_data["change"],
            operation=form.cleaned_data["nonce"],
        )
    except CommentInvalid as error:
        form.add_error("said", error.message)
        return _again(request, found, form, 422)
    except ForbiddenCharacter as error:
        form.add_error("said", _("It contains a character that cannot be stored: %(code)s.") % {"code": error.code})
        return _again(request, found, form, 422)
    except (TalkClosed, AlreadyDecided) as error:
        form.add_error("said", error.message)
        return _again(request, proposal_or_404(pk, viewer), form, 409)
    if request.htmx:
        context = talk_context(review_of(found, viewer)) | {"is_new_comment": True}
        return render(request, "talk/thread.html", context)
    return redirect(f"{found.get_absolute_url()}#talk")


def _again(request: Request, found: Proposal, form: CommentForm, status: int) -> HttpResponse:
    """Return the thread, or all of the page, with what was typed and what is wrong with it."""
    if request.htmx:
        context = talk_context(review_of(found, viewer_of(request)), form=form)
        return render(request, "talk/thread.html", context, status=status)
    return proposal_page(request, found, status=status, comment_form=form)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def assign(request: Request, pk: int) -> HttpResponse:
    """Assign a proposal, and answer with its page."""
    form, viewer = AssignForm(request.POST), viewer_of(request)
    page_url = url_of("proposal", request, proposal_or_404(pk, viewer))
    if not form.is_valid() or "to" not in request.POST:
        messages.error(request, _("Not assigned: choose a person, or nobody."))
        return redirect(page_url)
    try:
        done = services.assign(actor=viewer, proposal_id=pk, to=form.cleaned_data["to"])
    except DecisionRefused as error:
        messages.error(request, error.message)
        return redirect(page_url)
    if done.assigned_to is None:
        messages.success(request, _("Assigned to nobody."))
    elif done.assigned_to_id == viewer.pk:
        messages.success(request, _("Assigned to you."))
    else:
        messages.success(request, _("Assigned to %(who)s.") % {"who": done.assigned_to.display_name})
    return redirect(page_url)
