"""Turning the pages of an import while its notes are ticked, and ticking many at once: nothing is decided here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods, require_POST

from approvals import services
from approvals.accounts.sign_in import display_names, signed_in, typed_before, viewer_of
from approvals.forms.proposal import ApproveSomeForm, ResolveForm, RewordBlockForm, RewordForm, Ticks
from approvals.models import Approval, Proposal, Status, User
from approvals.pages.blocks import url_of_target
from approvals.permissions import ReviewAction, available_actions
from approvals.review.reworded import NothingToReword, Rewording, rewording_of
from approvals.services.errors import (
    AlreadyDecided,
    DecisionRefused,
    NotAllowed,
    NoteInvalid,
    NoText,
    OverLimit,
    ProposalNotFound,
    SameAsNow,
)
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.text import worddiff
from memory_app.text.edits import ForbiddenCharacter


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


# -- Approving words of one's own: the page with the whole text, to edit a proposal or to settle a conflict by hand.


@transaction.non_atomic_requests
@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: Request, pk: int) -> HttpResponse:
    """Show the agent's text to be edited, with what it changes; approve it as it was edited."""
    found = proposal_or_404(pk, viewer_of(request))
    texts = texts_of(request, found, ReviewAction.EDIT)
    if request.method == "POST":
        return sent(request, "edit", found, texts, services.approve_edited)
    if texts is None:
        return redirect(found.get_absolute_url())
    if texts.is_conflict:
        return redirect(url_of("resolve", request, found))
    return page_of(request, "edit", texts, typed_before(request), text=texts.proposed)


def page_of(request: Request, name: str, texts: Rewording, kept: dict[str, str], *, text: str) -> HttpResponse:
    """Return the page with a text to begin with.

    Args:
        kept: what was typed into it while signed out.
    """
    title = {"title": texts.new_block.title} if texts.new_block else {}
    form = form_of(texts)(initial={"text": text} | title | kept | seen_of(texts))
    return _page(request, name, texts, form, text=str(form["text"].value()), is_unsaved=bool(kept))


def sent(
    request: Request, name: str, found: Proposal, texts: Rewording | None, service: Callable[..., Proposal]
) -> HttpResponse:
    """Answer the form of the whole text: show what it changes, or approve it."""
    form = form_of(texts)(request.POST)
    if texts and "preview" in request.POST:
        form.is_valid()
        return _page(request, name, texts, form, text=_typed(texts, form), is_unsaved=True)
    if not form.is_valid():
        return _again(request, name, found, texts, form, status=422)
    return _decide(request, name, found, texts, form, service)


def _decide(
    request: Request,
    name: str,
    found: Proposal,
    texts: Rewording | None,
    form: RewordForm,
    service: Callable[..., Proposal],
) -> HttpResponse:
    user = viewer_of(request)
    arguments = form.arguments_with(texts.proposed if texts else "")
    try:
        decided = service(actor=user, proposal_id=found.pk, **arguments)
    except ProposalNotFound:
        raise Http404 from None
    except (OverLimit, NoText, SameAsNow, NoteInvalid, ForbiddenCharacter) as error:
        form.add_error("text", refusal_of(error))
        return _again(request, name, found, texts, form, status=422)
    except (DecisionRefused, EngineUnavailable, OutcomeUnknown) as error:
        if isinstance(error, AlreadyDecided) and is_sent_twice(error.proposal, user, arguments["text"]):
            return redirect(url_of("proposal", request, error.proposal))
        now = proposal_or_404(found.pk, user)
        panel = panel_for(error, form.cleaned_data, user)
        return _again(request, name, now, texts_of(request, now), form, status=status_of(error), panel=panel)
    return redirect(url_of("proposal", request, decided))


def status_of(error: Exception) -> int:
    """Return the status to answer a refused decision with."""
    if isinstance(error, DecisionRefused):
        return 403 if isinstance(error, NotAllowed) else 409
    return 503


def texts_of(request: Request, found: Proposal, action: ReviewAction = ReviewAction.EDIT) -> Rewording | None:
    """Return the texts to reword; None where this person has nothing to reword here, or no longer."""
    if action not in available_actions(viewer_of(request), found):
        return None
    try:
        return rewording_of(found)
    except NothingToReword:
        return None


def _again(
    request: Request,
    name: str,
    found: Proposal,
    texts: Rewording | None,
    form: RewordForm,
    *,
    status: int,
    panel: Panel | None = None,
) -> HttpResponse:
    """Return the page with what was typed, about the proposal and the text as they are now."""
    if texts is None:
        return nothing_left(request, found, form.data.get("text", ""), status=status, panel=panel)
    if panel:  # sent once more, it is decided about what the page shows now
        form = form_of(texts)(request.POST.dict() | seen_of(texts))
        form.is_valid()
    name = "resolve" if texts.is_conflict else "edit"
    return _page(request, name, texts, form, text=_typed(texts, form), is_unsaved=True, status=status, panel=panel)


def nothing_left(
    request: Request, found: Proposal, typed: str, *, status: int, panel: Panel | None = None
) -> HttpResponse:
    """Return the page of a proposal that can no longer be reworded, with what was typed, to copy."""
    context = {"proposal": found, "panel": panel, "typed": typed, **about(request, found)}
    return render(request, "proposal/reword_over.html", context, status=status)


def _page(
    request: Request,
    name: str,
    texts: Rewording,
    form: RewordForm,
    *,
    text: str,
    is_unsaved: bool,
    status: int = 200,
    panel: Panel | None = None,
) -> HttpResponse:
    context = {
        "texts": texts,
        "proposal": texts.proposal,
        "form": form,
        "panel": panel,
        "is_unsaved": is_unsaved,
        "is_resolving": name == "resolve",
        "action": url_of(name, request, texts.proposal),
        "segments": texts.segments(text),
        "is_as_now": text == texts.now,
        "since_segments": worddiff.diff(texts.base, texts.now) if name == "resolve" else (),
        "proposed_segments": worddiff.diff(texts.base, texts.proposed) if name == "resolve" else (),
        "own_segments": texts.own_segments(text) if text != texts.proposed else (),
        "over": max(0, len(text) - texts.limit),
        **about(request, texts.proposal),
    }
    return render(request, "proposal/reword.html", context, status=status)


def form_of(texts: Rewording | None) -> type[RewordForm]:
    """Return the form of what is reworded: of a new block the title can be changed too."""
    return RewordBlockForm if texts and texts.new_block else RewordForm


def about(request: Request, found: Proposal) -> dict[str, Any]:
    user = viewer_of(request)
    return {
        "list_url": listing_of(request).url,
        "proposal_url": url_of("proposal", request, found),
        "target_url": url_of_target(found),
        "owner_name": display_names([found.owner]).get(found.owner, found.owner),
        "is_own": found.owner == user.username,
    }


def seen_of(texts: Rewording) -> dict[str, Any]:
    return {"revision": texts.revision.number, "seen_sha256": texts.seen_sha256}


def _typed(texts: Rewording, form: RewordForm) -> str:
    """Return the typed text as it would be saved."""
    if "text" in form.cleaned_data:
        return str(form.arguments_with(texts.proposed)["text"])
    return str(form.data.get("text", ""))


def refusal_of(error: Exception) -> str:
    if isinstance(error, ForbiddenCharacter):
        return _("It contains the character %(code)s, which cannot be stored.") % {"code": error.code}
    return str(error)


def is_sent_twice(proposal: Proposal, user: User, text: str) -> bool:
    is_own = proposal.status == Status.APPROVED and proposal.decided_by_id == user.pk
    return is_own and proposal.current_revision.result_text == text


def url_of(name: str, request: Request, found: Proposal) -> str:
    query = listing_of(request).query
    return reverse(name, args=[found.pk]) + (f"?{urlencode({'list': query})}" if query else "")


# -- Resolving a conflict: for each place that both sides changed keep now, take proposed or write one's own.


@transaction.non_atomic_requests
@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def resolve(request: Request, pk: int) -> HttpResponse:
    found = proposal_or_404(pk, viewer_of(request))
    texts = texts_of(request, found, ReviewAction.RESOLVE)
    if texts and texts.new_block:  # nothing to merge it with: its text is edited on the other page
        return redirect(url_of("edit", request, found))
    if request.method == "POST":
        if "text" in request.POST:
            return sent(request, "resolve", found, texts, services.resolve)
        return _sent(request, found, texts)
    if texts is None:
        return redirect(found.get_absolute_url())
    if not texts.is_conflict:
        return redirect(url_of("edit", request, found))
    kept = typed_before(request)
    if texts.conflicts and "text" not in kept and "whole" not in request.GET:
        form = ResolveForm(conflicts=texts.conflicts, initial=kept | seen_of(texts))
        return _page_of_resolve(request, texts, form, is_unsaved=bool(kept))
    return page_of(request, "resolve", texts, kept, text=_to_begin_with(texts))


def _sent(request: Request, found: Proposal, texts: Rewording | None) -> HttpResponse:
    """Answer the form of the places: show what it comes to, or approve that."""
    conflicts = texts.conflicts if texts else ()
    form = ResolveForm(request.POST, conflicts=conflicts)
    is_as_seen = texts is not None and request.POST.get("seen_sha256") == texts.seen_sha256
    if texts and is_as_seen and "preview" in request.POST:
        return _page_of_resolve(
            request, texts, ResolveForm(conflicts=conflicts, initial=request.POST.dict()), is_unsaved=True
        )
    if texts and is_as_seen and "whole" in request.POST:
        return page_of(request, "resolve", texts, _kept(request), text=texts.settled(form.chosen()))
    if texts and is_as_seen and not form.is_valid():
        return _page_of_resolve(request, texts, form, is_unsaved=True, status=422)
    # About another text than the one there is now, the service refuses it before it looks at this one.
    text = texts.settled(form.chosen()) if texts and is_as_seen else ""
    user = viewer_of(request)
    form.is_valid()
    named = {name: form.cleaned_data.get(name, "") for name in ("revision", "seen_sha256", "comment")}
    named["revision"] = named["revision"] or 0
    try:
        decided = services.resolve(actor=user, proposal_id=found.pk, text=text, **named)
    except ProposalNotFound:
        raise Http404 from None
    except (OverLimit, NoText, SameAsNow, NoteInvalid, ForbiddenCharacter) as error:
        if texts is None or not is_as_seen:  # it was changed and changed back while this was looked at
            panel = Panel(_("The text changed since you opened this page."), _("Your decision was not saved."))
            return _overtaken(request, found, form, status=409, panel=panel)
        form.add_error(None, refusal_of(error))
        return _page_of_resolve(request, texts, form, is_unsaved=True, status=422)
    except (DecisionRefused, EngineUnavailable, OutcomeUnknown) as error:
        if isinstance(error, AlreadyDecided) and _is_sent_twice(error.proposal, form, user):
            return redirect(url_of("proposal", request, error.proposal))
        return _overtaken(request, found, form, status=status_of(error), panel=panel_for(error, named, user))
    return redirect(url_of("proposal", request, decided))


def _is_sent_twice(decided: Proposal, form: ResolveForm, user: User) -> bool:
    """Whether the viewer settled it before, with all that they wrote."""
    if decided.approval != Approval.RESOLVED or decided.decided_by_id != user.pk:
        return False
    # A browser sends other line ends.
    result, *own = (" ".join(text.split()) for text in (decided.current_revision.result_text, *form.chosen_own()))
    return all(text in result for text in own)


def _overtaken(request: Request, found: Proposal, form: ResolveForm, *, status: int, panel: Panel) -> HttpResponse:
    """Return the conflict as it is now, with what was chosen where its places are as many, and what was typed."""
    now = proposal_or_404(found.pk, viewer_of(request))
    texts = texts_of(request, now, ReviewAction.RESOLVE)
    typed = "\n\n".join(form.written())
    if texts is None:
        return nothing_left(request, now, typed, status=status, panel=panel)
    fresh = ResolveForm(conflicts=texts.conflicts)
    if len(fresh.conflicts) == sum(name.startswith("own_") for name in request.POST):
        typed = ""
    initial = (request.POST.dict() if not typed else _kept(request)) | seen_of(texts)
    form = ResolveForm(conflicts=texts.conflicts, initial=initial)
    return _page_of_resolve(request, texts, form, is_unsaved=True, status=status, panel=panel, typed=typed)


def _page_of_resolve(
    request: Request,
    texts: Rewording,
    form: ResolveForm,
    *,
    is_unsaved: bool,
    status: int = 200,
    panel: Panel | None = None,
    typed: str = "",
) -> HttpResponse:
    text = texts.settled(form.chosen())
    context = {
        "texts": texts,
        "proposal": texts.proposal,
        "form": form,
        "panel": panel,
        "typed": typed,
        "is_unsaved": is_unsaved,
        "action": url_of("resolve", request, texts.proposal),
        "segments": texts.segments(text),
        "is_as_now": text == texts.now,
        "over": max(0, len(text) - texts.limit),
        **about(request, texts.proposal),
    }
    return render(request, "proposal/resolve.html", context, status=status)


def _to_begin_with(texts: Rewording) -> str:
    """Return the text as it is now with what of the change does not contradict it."""
    return texts.settled([conflict.ours for conflict in texts.conflicts])


def _kept(request: Request) -> dict[str, str]:
    return {"comment": request.POST.get("comment", "")}
