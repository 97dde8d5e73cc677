"""Approving words of one's own: an agent's text edited, or a conflict settled, place by place or as a whole text.

Also turning the pages of an import while its notes are ticked, which decides nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import display_names, typed_before, viewer_of
from approvals.forms.proposal import ApproveForm, ApproveSomeForm, ResolveForm, RewordBlockForm, RewordForm, Ticks
from approvals.models import Approval, Proposal, Status, User
from approvals.pages.blocks import url_of_target
from approvals.permissions import ReviewAction, available_actions
from approvals.review.reworded import NothingToReword, Rewording, rewording_of
from approvals.services.errors import (
    AlreadyDecided,
    NoteInvalid,
    NoText,
    OverLimit,
    SameAsNow,
)
from approvals.views.decide import REFUSED, page_of, status_of, url_of
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page
from approvals.views.request import Request, form_page, verb
from memory_app.text import worddiff
from memory_app.text.edits import ForbiddenCharacter

#: What a text does not meet; said beside its field.
_UNFIT = (OverLimit, NoText, SameAsNow, NoteInvalid, ForbiddenCharacter)


@verb(page_of)
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


@form_page
def edit(request: Request, pk: int) -> HttpResponse:
    """Show the agent's text to be edited, with what it changes; approve it as it was edited."""
    found = proposal_or_404(pk, viewer_of(request))
    texts = _texts_of(request, found, ReviewAction.EDIT)
    if request.method == "POST":
        return _approve_text(request, "edit", found, texts, services.approve_edited)
    if texts is None:
        return redirect(found.get_absolute_url())
    if texts.is_conflict:
        return redirect(url_of("resolve", request, found))
    return _page_with(request, "edit", texts, typed_before(request), text=texts.proposed)


@form_page
def resolve(request: Request, pk: int) -> HttpResponse:
    """Settle a conflict: for each place that both sides changed keep now, take proposed or write one's own."""
    found = proposal_or_404(pk, viewer_of(request))
    texts = _texts_of(request, found, ReviewAction.RESOLVE)
    if texts and texts.new_block:  # nothing to merge it with: its text is edited on the other page
        return redirect(url_of("edit", request, found))
    if request.method == "POST":
        if "text" in request.POST:
            return _approve_text(request, "resolve", found, texts, services.resolve)
        return _approve_places(request, found, texts)
    if texts is None:
        return redirect(found.get_absolute_url())
    if not texts.is_conflict:
        return redirect(url_of("edit", request, found))
    kept = typed_before(request)
    if texts.conflicts and "text" not in kept and "whole" not in request.GET:
        form = ResolveForm(conflicts=texts.conflicts, initial=kept | _seen_of(texts))
        return _places_page(request, texts, form, is_unsaved=bool(kept))
    # The text as it is now, with what of the change does not contradict it.
    text = texts.settled([conflict.ours for conflict in texts.conflicts])
    return _page_with(request, "resolve", texts, kept, text=text)


# -- The form of the whole text, to edit a proposal or to settle a conflict by hand.


def _approve_text(
    request: Request, name: str, found: Proposal, texts: Rewording | None, service: Callable[..., Proposal]
) -> HttpResponse:
    """Answer the form of the whole text: show what it changes, or approve it."""
    form, user = _form_of(texts)(request.POST), viewer_of(request)
    if texts and "preview" in request.POST:
        form.is_valid()
        return _text_page(request, name, texts, form, text=_typed(texts, form), is_unsaved=True)
    if not form.is_valid():
        return _again(request, found, texts, form, status=422)
    arguments = form.arguments_with(texts.proposed if texts else "")
    try:
        approved = service(actor=user, proposal_id=found.pk, **arguments)
    except _UNFIT as error:
        form.add_error("text", _in_words(error))
        return _again(request, found, texts, form, status=422)
    except REFUSED as error:
        if isinstance(error, AlreadyDecided):
            now = error.proposal
            is_own = now.status == Status.APPROVED and now.decided_by_id == user.pk
            if is_own and now.current_revision.result_text == arguments["text"]:  # sent twice
                return redirect(url_of("proposal", request, now))
        now = proposal_or_404(found.pk, user)
        panel = panel_for(error, form.cleaned_data, user)
        return _again(request, now, _texts_of(request, now), form, status=status_of(error), panel=panel)
    return redirect(url_of("proposal", request, approved))


def _again(
    request: Request,
    found: Proposal,
    texts: Rewording | None,
    form: RewordForm,
    *,
    status: int,
    panel: Panel | None = None,
) -> HttpResponse:
    """Return the page with what was typed, about the proposal and the text as they are now."""
    if texts is None:
        return _nothing_left(request, found, form.data.get("text", ""), status=status, panel=panel)
    if panel:  # sent once more, it is decided about what the page shows now
        form = _form_of(texts)(request.POST.dict() | _seen_of(texts))
        form.is_valid()
    name = "resolve" if texts.is_conflict else "edit"
    return _text_page(request, name, texts, form, text=_typed(texts, form), is_unsaved=True, status=status, panel=panel)


def _page_with(request: Request, name: str, texts: Rewording, kept: dict[str, str], *, text: str) -> HttpResponse:
    """Return the page with a text to begin with.

    Args:
        kept: what was typed into it while signed out.
    """
    title = {"title": texts.new_block.title} if texts.new_block else {}
    form = _form_of(texts)(initial={"text": text} | title | kept | _seen_of(texts))
    return _text_page(request, name, texts, form, text=str(form["text"].value()), is_unsaved=bool(kept))


def _text_page(
    request: Request, name: str, texts: Rewording, form: RewordForm, *, text: str, status: int = 200, **more: Any
) -> HttpResponse:
    is_resolving = name == "resolve"
    context = _context(request, texts, form, text) | {
        "is_resolving": is_resolving,
        "action": url_of(name, request, texts.proposal),
        "since_segments": worddiff.diff(texts.base, texts.now) if is_resolving else (),
        "proposed_segments": worddiff.diff(texts.base, texts.proposed) if is_resolving else (),
        "own_segments": texts.own_segments(text) if text != texts.proposed else (),
    }
    return render(request, "proposal/reword.html", context | more, status=status)


def _form_of(texts: Rewording | None) -> type[RewordForm]:
    """Return the form of what is reworded: of a new block the title can be changed too."""
    return RewordBlockForm if texts and texts.new_block else RewordForm


def _typed(texts: Rewording, form: RewordForm) -> str:
    """Return the typed text as it would be saved."""
    if "text" in form.cleaned_data:
        return str(form.arguments_with(texts.proposed)["text"])
    return str(form.data.get("text", ""))


# -- The form of the places of a conflict.


def _approve_places(request: Request, found: Proposal, texts: Rewording | None) -> HttpResponse:
    """Answer the form of the places: show what it comes to, or approve that."""
    user, conflicts = viewer_of(request), texts.conflicts if texts else ()
    form = ResolveForm(request.POST, conflicts=conflicts)
    is_valid = form.is_valid()
    text = ""  # about another text than the one there is now: the service refuses it before it looks at this one
    is_as_seen = texts is not None and request.POST.get("seen_sha256") == texts.seen_sha256
    if texts and is_as_seen:
        if "preview" in request.POST:
            return _places_page(request, texts, ResolveForm(conflicts=conflicts, initial=request.POST.dict()))
        text = texts.settled(form.chosen())
        if "whole" in request.POST:
            return _page_with(request, "resolve", texts, {"comment": request.POST.get("comment", "")}, text=text)
        if not is_valid:
            return _places_page(request, texts, form, status=422)
    named = {name: form.cleaned_data.get(name, "") for name in ("revision", "seen_sha256", "comment")}
    named["revision"] = named["revision"] or 0
    try:
        resolved = services.resolve(actor=user, proposal_id=found.pk, text=text, **named)
    except _UNFIT as error:
        if texts is None or not is_as_seen:  # it was changed and changed back while this was looked at
            panel = Panel(_("The text changed since you opened this page."), _("Your decision was not saved."))
            return _overtaken(request, found, form, status=409, panel=panel)
        form.add_error(None, _in_words(error))
        return _places_page(request, texts, form, status=422)
    except REFUSED as error:
        if isinstance(error, AlreadyDecided) and _was_resolved_so(error.proposal, form, user):
            return redirect(url_of("proposal", request, error.proposal))
        return _overtaken(request, found, form, status=status_of(error), panel=panel_for(error, named, user))
    return redirect(url_of("proposal", request, resolved))


def _was_resolved_so(decided: Proposal, form: ResolveForm, user: User) -> bool:
    """Whether the viewer settled it before, with all that they wrote."""
    if decided.approval != Approval.RESOLVED or decided.decided_by_id != user.pk:
        return False
    # A browser sends other line ends.
    result, *own = (" ".join(text.split()) for text in (decided.current_revision.result_text, *form.chosen_own()))
    return all(text in result for text in own)


def _overtaken(request: Request, found: Proposal, form: ResolveForm, *, status: int, panel: Panel) -> HttpResponse:
    """Return the conflict as it is now, with what was chosen where its places are as many, and what was typed."""
    now = proposal_or_404(found.pk, viewer_of(request))
    texts = _texts_of(request, now, ReviewAction.RESOLVE)
    typed = "\n\n".join(form.written())
    if texts is None:
        return _nothing_left(request, now, typed, status=status, panel=panel)
    if len(texts.conflicts) == sum(name.startswith("own_") for name in request.POST):
        typed = ""
    initial = {"comment": request.POST.get("comment", "")} if typed else request.POST.dict()
    form = ResolveForm(conflicts=texts.conflicts, initial=initial | _seen_of(texts))
    return _places_page(request, texts, form, status=status, panel=panel, typed=typed)


def _places_page(
    request: Request, texts: Rewording, form: ResolveForm, *, status: int = 200, is_unsaved: bool = True, **more: Any
) -> HttpResponse:
    context = _context(request, texts, form, texts.settled(form.chosen()))
    context |= {"action": url_of("resolve", request, texts.proposal), "is_unsaved": is_unsaved}
    return render(request, "proposal/resolve.html", context | more, status=status)


# -- What both pages have.


def _texts_of(request: Request, found: Proposal, action: ReviewAction = ReviewAction.EDIT) -> Rewording | None:
    """Return the texts to reword; None where this person has nothing to reword here, or no longer."""
    if action not in available_actions(viewer_of(request), found):
        return None
    try:
        return rewording_of(found)
    except NothingToReword:
        return None


def _seen_of(texts: Rewording) -> dict[str, Any]:
    return {"revision": texts.revision.number, "seen_sha256": texts.seen_sha256}


def _context(request: Request, texts: Rewording, form: ApproveForm, text: str) -> dict[str, Any]:
    return {
        "texts": texts,
        "proposal": texts.proposal,
        "form": form,
        "segments": texts.segments(text),
        "is_as_now": text == texts.now,
        "over": max(0, len(text) - texts.limit),
        **_about(request, texts.proposal),
    }


def _about(request: Request, found: Proposal) -> dict[str, Any]:
    return {
        "list_url": listing_of(request).url,
        "proposal_url": url_of("proposal", request, found),
        "target_url": url_of_target(found),
        "owner_name": display_names([found.owner]).get(found.owner, found.owner),
        "is_own": found.owner == viewer_of(request).username,
    }


def _nothing_left(request: Request, found: Proposal, typed: str, *, status: int, panel: Panel | None) -> HttpResponse:
    """Return the page of a proposal that can no longer be reworded, with what was typed, to copy."""
    context = {"proposal": found, "panel": panel, "typed": typed, **_about(request, found)}
    return render(request, "proposal/reword_over.html", context, status=status)


def _in_words(error: Exception) -> str:
    if isinstance(error, ForbiddenCharacter):
        return _("It contains the character %(code)s, which cannot be stored.") % {"code": error.code}
    return str(error)
