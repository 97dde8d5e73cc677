"""The page of one proposal, and deciding on it or on its row of the inbox."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST, require_safe

from approvals import services
from approvals.accounts.sign_in import kept_fields, local_path, signed_in
from approvals.accounts.viewer import viewer_of
from approvals.forms.proposal import ApproveForm, RejectForm
from approvals.models import Event, Proposal, Revision, Status, User
from approvals.pages import inbox as queue
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.permissions import proposals_visible_to
from approvals.review.diff_mode import DiffMode, change_shown
from approvals.review.presentation import Review, find_proposal, review_of
from approvals.services.errors import (
    AlreadyDecided,
    BranchMissing,
    DecisionRefused,
    NotAllowed,
    ProposalNotFound,
)
from approvals.views import kept_choices
from approvals.views.panels import Panel, panel_for
from approvals.views.request import Request, whole_number
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.models import TargetKind


@signed_in()
@require_safe
def proposal(request: Request, pk: int) -> HttpResponse:
    """The page; for the switch between its views only the change."""
    user = viewer_of(request)
    found = _found(pk, user)
    kept = kept_fields(request)
    panel = None
    if kept:
        panel = Panel(_("Welcome back."), _("Nothing was decided while you were signed out. Your text is still here."))
    response = _page(request, user, found, panel=panel, kept=kept, **_refilled(kept))
    if request.GET.get("view") in set(DiffMode):
        kept_choices.keep(response, "view", request.GET["view"])
    return response


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def approve(request: Request, pk: int) -> HttpResponse:
    form = ApproveForm(request.POST)
    return _decide(
        request,
        pk,
        form,
        Status.APPROVED,
        lambda user: services.approve(
            actor=user,
            proposal_id=pk,
            revision=form.cleaned_data["revision"],
            seen_sha256=form.cleaned_data["seen_sha256"],
            comment=form.cleaned_data["comment"],
        ),
    )


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def reject(request: Request, pk: int) -> HttpResponse:
    """Reject; with `already`, close what is in the memory already, which finds no fault with it."""
    if "already" in request.POST:
        seen = ApproveForm(request.POST)
        return _decide(
            request,
            pk,
            seen,
            Status.REJECTED,
            lambda user: services.close_as_present(
                actor=user,
                proposal_id=pk,
                revision=seen.cleaned_data["revision"],
                seen_sha256=seen.cleaned_data["seen_sha256"],
            ),
        )
    form = RejectForm(request.POST)
    return _decide(
        request,
        pk,
        form,
        Status.REJECTED,
        lambda user: services.reject(
            actor=user,
            proposal_id=pk,
            revision=form.cleaned_data["revision"],
            reason=form.cleaned_data["reason"],
            comment=form.cleaned_data["comment"],
        ),
    )


def _decide(
    request: Request, pk: int, form: ApproveForm, wanted: Status, act: Callable[[User], Proposal]
) -> HttpResponse:
    """Do it, and answer where it was asked: on the row, on the page, or with a redirect."""
    user = viewer_of(request)
    found = _found(pk, user)
    if not form.is_valid():
        if {"revision", "seen_sha256"} & set(form.errors):
            panel = Panel(_("This form is not from this page."), _("Nothing was changed. Look at the change below."))
            return _again(request, user, found, form, status=422, panel=panel)
        return _again(request, user, found, form, status=422)
    try:
        decided = act(user)
    except ProposalNotFound:
        raise Http404 from None
    except AlreadyDecided as error:
        if error.proposal.status != wanted or error.proposal.decided_by_id != user.pk:
            return _refused(request, user, error, form)
        decided = error.proposal  # the same press twice
        comment = form.cleaned_data["comment"].strip()
        if comment and comment != decided.decision_comment:
            return _refused(request, user, error, form)
    except DecisionRefused as error:
        return _refused(request, user, error, form)
    except (EngineUnavailable, OutcomeUnknown):
        panel = Panel(
            _("The memory did not answer."),
            _("If your decision had begun, it will finish by itself once the memory is back. Look again in a minute."),
        )
        return _again(request, user, _found(pk, user), form, status=503, panel=panel)
    return _done(request, user, decided)


def _done(request: Request, user: User, decided: Proposal) -> HttpResponse:
    row_url = request.POST.get("row", "")
    if request.htmx and row_url:
        counts = queue.counts(proposals_visible_to(user))
        request.waiting = counts[Tab.YOURS]
        context = {
            "proposal": decided,
            "tabs": [(tab.value, counts[tab]) for tab in Tab],
            "list_query": Listing.of_url(row_url).query,
            "row_url": row_url,
            "others": _others(request, decided) if decided.status == Status.APPROVED else [],
            "is_own_change": True,
        }
        return render(request, "inbox/row_decided.html", context)
    if request.htmx:
        return _page(request, user, decided, just_decided=True)
    if row_url:
        outcome = _("Approved: %(what)s") if decided.status == Status.APPROVED else _("Rejected: %(what)s")
        messages.success(request, outcome % {"what": decided.target_title})
        return redirect(local_path(request, row_url, reverse("inbox")))
    listing = _listing(request)
    return redirect(decided.get_absolute_url() + (f"?{urlencode({'list': listing.query})}" if listing.query else ""))


def _others(request: Request, decided: Proposal) -> list[InboxRow]:
    """The rows of its target that stand beside a row, as they are after a decision; their ids come with the form."""
    beside = [whole_number(pk) for pk in request.POST.get("beside", "").split(",", queue.PAGE_SIZE)]
    others = (
        Proposal.objects.open()
        .on_target(decided.owner, decided.target_kind, decided.target)
        .filter(pk__in=[pk for pk in beside if pk is not None and pk != decided.pk])
        .select_related("agent", "decided_by")
    )
    return rows_of(others, looking=True)


def _listing(request: Request, kept: Mapping[str, str] | None = None) -> Listing:
    """The list a proposal was opened from: in its address, with its form, or kept while signed out."""
    return Listing.parse(request.POST.get("list") or request.GET.get("list") or (kept or {}).get("list", ""))


def _refused(request: Request, user: User, error: DecisionRefused, form: ApproveForm) -> HttpResponse:
    status = 403 if isinstance(error, NotAllowed) else 410 if isinstance(error, BranchMissing) else 409
    found = _found(error.proposal.pk, user)
    return _again(request, user, found, form, status=status, panel=panel_for(error, form.cleaned_data, user))


def _again(
    request: Request,
    user: User,
    found: Proposal,
    form: ApproveForm,
    *,
    status: int,
    panel: Panel | None = None,
) -> HttpResponse:
    """The row or page as it is now, with what went wrong and with what was typed."""
    row_url = request.POST.get("row", "")
    reject_form = form if isinstance(form, RejectForm) else None
    if request.htmx and row_url:
        (row,) = rows_of([found], looking=True)
        context = {
            "row": row,
            "row_url": row_url,
            "list_query": Listing.of_url(row_url).query,
            "panel": panel,
            "reject_form": reject_form,
            # What this row was shown against is gone for them too.
            "others": _others(request, found) if status == 409 else [],
        }
        return render(request, "inbox/row_again.html", context, status=status)
    approve_form = None if reject_form else form
    return _page(request, user, found, status=status, panel=panel, reject_form=reject_form, approve_form=approve_form)


def _page(
    request: Request,
    user: User,
    found: Proposal,
    *,
    status: int = 200,
    panel: Panel | None = None,
    reject_form: RejectForm | ApproveForm | None = None,
    approve_form: ApproveForm | None = None,
    just_decided: bool = False,
    kept: Mapping[str, str] | None = None,
) -> HttpResponse:
    listing = _listing(request, kept)
    try:
        review = review_of(
            found,
            user,
            revision=whole_number(request.GET.get("revision", "")),
            note_page=whole_number(request.GET.get("page", "")) or 1,
        )
    except (Revision.DoesNotExist, OverflowError):
        raise Http404 from None
    view = _view(request)
    context: dict[str, Any] = {
        "review": review,
        "proposal": found,
        # Notes are drawn one by one.
        "change": None if review.note_count else change_shown(review, view, unfolded="unfolded" in request.GET),
    }
    # A decision answers with the page, wherever its form was sent from; the page's own address is meant, with the list.
    context["page_url"] = reverse("proposal", args=[found.pk])
    page_query = request.GET.copy()
    if listing.query:
        page_query["list"] = listing.query
    context["page_query"] = page_query
    if request.htmx and request.htmx.target == "change":
        if found.is_redacted:  # since the page was loaded: there is no change to show in another view
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        template = "proposal/notes.html" if review.note_count else "proposal/change.html"
        return render(request, template, context | {"is_part": True}, status=status)
    following = queue.next_for(user, found, listing) if found.is_decided else None
    place = None
    if not found.is_decided or listing.tab is Tab.DECIDED:
        place = queue.place_of(user, found, listing)
    people = {found.owner, *(event.actor for event in review.events if event.actor_kind == Event.ActorKind.PERSON)}
    names = queue.names_of(people | ({following.owner} if following else set()))
    context |= {
        "listing": listing,
        "list_query": listing.query,
        "place": place,
        "names": names,
        "owner_name": names.get(found.owner, found.owner),
        "title": _title(review),
        "target_url": url_of_target(found),
        "panel": panel,
        "reject_form": reject_form,
        "approve_form": approve_form,
        "typed_comment": request.POST.get("comment", "").strip(),
        "just_decided": just_decided,
        "next_proposal": following,
        "next_owner": names.get(following.owner, following.owner)
        if following and following.owner != user.username
        else "",
        "is_own": found.owner == user.username,
        "is_being_decided": found.status == Status.MERGING,
    }
    return render(request, "proposal/body.html" if request.htmx else "proposal/proposal.html", context, status=status)


def _title(review: Review) -> str:
    """What a proposal is about: of a single note its text as it is, or would be when it is new, in full."""
    if review.proposal.target_kind == TargetKind.NOTE and review.notes:
        note = review.notes[0].before or review.notes[0].after
        if note:
            return note.content
    return review.proposal.target_title


def _view(request: Request) -> DiffMode:
    """How the change is shown: as asked for, else as it was last asked for in this browser."""
    wanted = request.GET.get("view", "")
    return DiffMode(
        (wanted if wanted in set(DiffMode) else kept_choices.chosen(request, "view", set(DiffMode))) or DiffMode.INLINE
    )


def _found(pk: int, user: User) -> Proposal:
    try:
        return find_proposal(pk, user)
    except (ProposalNotFound, OverflowError):
        raise Http404 from None


def _refilled(kept: dict[str, str]) -> dict[str, Any]:
    """Forms holding what was typed before the session ran out; not checked yet, so without errors."""
    if not kept:
        return {}
    typed = {name: kept.get(name, "") for name in ("comment", "reason")}
    if "reason" in kept or not kept.get("seen_sha256"):
        return {"reject_form": RejectForm(initial=typed)}
    return {"approve_form": ApproveForm(initial=typed)}
