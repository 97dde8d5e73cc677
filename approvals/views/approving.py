"""Approving words of one's own: an agent's text edited, or a conflict settled, place by place or as a whole text.

Also turning the pages of an import while its notes are ticked, which decides nothing.
"""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import typed_before, viewer_of
from approvals.forms.memory import in_words
from approvals.forms.proposal import ApproveSomeForm, ResolveForm, RewordForm, Ticks, seen_of
from approvals.models import Approval, Proposal, Status, User
from approvals.permissions import ReviewAction, available_actions
from approvals.review.diff_mode import laid_out, redline
from approvals.review.presentation import compared, warnings_of_words
from approvals.review.reworded import NothingToReword, Rewording, rewording_of
from approvals.services.errors import AlreadyDecided, Refusal
from approvals.views.decide import REFUSED, page_of, status_of, url_of, warnings_in
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import proposal_or_404, proposal_page
from approvals.views.request import Request, form_page, verb
from memory_app.text.edits import ForbiddenCharacter

#: What is wrong with a text, beside what is refused about the proposal; said beside its field.
_UNFIT = (Refusal, ForbiddenCharacter)


@verb(page_of)
def ticks(request: Request, pk: int) -> HttpResponse:
    """Return another page of the notes with the ticks as they were sent, and what was typed."""
    shown, sent = frozenset(request.POST.getlist("shown")), Ticks.sent(request.POST)
    pressed = {"all": Ticks(), "none": Ticks(False), "page": Ticks(False, shown)}
    chosen, found = pressed.get(request.POST.get("tick", ""), sent), proposal_or_404(pk, viewer_of(request))
    typed = {name: request.POST.get(name, "") for name in ("comment", "rest", "rest_reason")}
    return proposal_page(request, found, form=ApproveSomeForm(initial=typed), ticks=chosen)


@form_page
def reword(request: Request, pk: int, *, resolves: bool = False) -> HttpResponse:
    """Show the agent's text to be edited, with what it changes; approve it as it was edited.

    Args:
        resolves: settle a conflict: for each place that both sides changed keep now, take proposed or write one's own.
    """
    found = proposal_or_404(pk, viewer_of(request))
    texts = _texts_of(request, found)
    if resolves and texts and texts.new_block:  # nothing to merge it with: its text is edited on the other page
        return redirect(url_of("edit", request, found))
    if request.method == "POST":
        if resolves and "text" not in request.POST:
            return _approve_places(request, found, texts)
        return _approve_text(request, found, texts, resolves)
    if texts is None:
        return redirect(found.get_absolute_url())
    if texts.is_conflict != resolves:
        return redirect(_url_of_form(request, texts))
    kept = typed_before(request)
    if texts.conflicts and "text" not in kept and "whole" not in request.GET:
        return _page(request, found, ResolveForm(texts, initial=kept), is_unsaved=bool(kept))
    # Of a conflict, the text as it is now, with what of the change does not contradict it.
    text = texts.settled([conflict.ours for conflict in texts.conflicts]) if resolves else texts.proposed
    return _text_page(request, texts, text, kept)


def _url_of_form(request: Request, texts: Rewording) -> str:
    return url_of("resolve" if texts.is_conflict else "edit", request, texts.proposal)


def _text_page(request: Request, texts: Rewording, text: str, typed: dict[str, str]) -> HttpResponse:
    """Return the form of the whole text with a text to begin with.

    Args:
        typed: what was typed before, which is shown instead.
    """
    title = {"title": texts.new_block.title} if texts.new_block else {}
    form = RewordForm(texts, initial={"text": text} | title | typed)
    return _page(request, texts.proposal, form, is_unsaved=bool(typed))


def _approve_text(request: Request, found: Proposal, texts: Rewording | None, resolves: bool) -> HttpResponse:
    """Answer the form of the whole text, to edit a proposal or to settle a conflict by hand: show what it changes, or
    approve it."""
    form, user = RewordForm(texts, request.POST), viewer_of(request)
    is_valid = form.is_valid()
    if texts and "preview" in request.POST:
        return _page(request, found, form)
    if not is_valid:
        return _page(request, found, form, status=422)
    text = form.result()
    try:
        own = {"text": text, "resolves": resolves, **form.arguments()}
        approved = services.approve_edited(actor=user, proposal_id=found.pk, **own)
    except REFUSED as error:
        if isinstance(error, AlreadyDecided):
            now = error.proposal
            is_own = now.status == Status.APPROVED and now.decided_by_id == user.pk
            if is_own and now.current_revision.result_text == text:  # sent twice
                return redirect(url_of("proposal", request, now))
        panel, now = panel_for(error, form.cleaned_data, user), proposal_or_404(found.pk, user)
        texts = _texts_of(request, now)
        # Sent once more, it is decided about what the page shows now.
        form = RewordForm(texts, request.POST.dict() | (seen_of(texts) if texts else {}))
        return _page(request, now, form, error, panel=panel)
    except _UNFIT as error:
        form.add_error("text", in_words(error))
        return _page(request, found, form, status=422)
    return redirect(url_of("proposal", request, approved))


def _approve_places(request: Request, found: Proposal, texts: Rewording | None) -> HttpResponse:
    """Answer the form of the places of a conflict: show what it comes to, or approve that."""
    user, form = viewer_of(request), ResolveForm(texts, request.POST)
    is_valid = form.is_valid()
    text = ""  # about another text than the one there is now: the service refuses it before it looks at this one
    is_as_seen = texts is not None and request.POST.get("seen_sha256") == texts.seen_sha256
    if texts and is_as_seen:
        if "preview" in request.POST:
            return _page(request, found, ResolveForm(texts, initial=request.POST.dict()))
        text = form.result()
        if "whole" in request.POST:
            return _text_page(request, texts, text, {"comment": request.POST.get("comment", "")})
        if not is_valid:
            return _page(request, found, form, status=422)
    named = {name: form.cleaned_data.get(name, "") for name in form.named}
    named["revision"] = named["revision"] or 0
    try:
        resolved = services.approve_edited(actor=user, proposal_id=found.pk, text=text, resolves=True, **named)
    except REFUSED as error:
        if isinstance(error, AlreadyDecided) and _was_resolved_so(error.proposal, form, user):
            return redirect(url_of("proposal", request, error.proposal))
        return _overtaken(request, found, form, panel_for(error, named, user), error)
    except _UNFIT as error:
        if is_as_seen:
            form.add_error(None, in_words(error))
            return _page(request, found, form, status=422)
        # It was changed and changed back while this was looked at.
        panel = Panel(_("The text changed since you opened this page."), _("Your decision was not saved."))
        return _overtaken(request, found, form, panel)
    return redirect(url_of("proposal", request, resolved))


def _was_resolved_so(decided: Proposal, form: ResolveForm, user: User) -> bool:
    """Whether the viewer settled it before, with all that they wrote."""
    if decided.approval != Approval.RESOLVED or decided.decided_by_id != user.pk:
        return False
    # A browser sends other line ends.
    result, *own = (" ".join(text.split()) for text in (decided.current_revision.result_text, *form.chosen_own()))
    return all(text in result for text in own)


def _overtaken(
    request: Request, found: Proposal, form: ResolveForm, panel: Panel, error: Exception | None = None
) -> HttpResponse:
    """Return the conflict as it is now, with what was chosen where its places are as many, and what was typed."""
    now = proposal_or_404(found.pk, viewer_of(request))
    texts = _texts_of(request, now)
    typed = "\n\n".join(form.written())
    if texts and len(texts.conflicts) == sum(name.startswith("own_") for name in request.POST):
        typed = ""
    initial = {"comment": request.POST.get("comment", "")} if typed else request.POST.dict()
    form = ResolveForm(texts, initial=initial)
    return _page(request, now, form, error, status=409, panel=panel, typed=typed)


def _texts_of(request: Request, found: Proposal) -> Rewording | None:
    """Return the texts to reword; None where this person has nothing to reword here, or no longer."""
    if ReviewAction.EDIT not in available_actions(viewer_of(request), found):
        return None
    try:
        return rewording_of(found)
    except NothingToReword:
        return None


def _page(
    request: Request,
    found: Proposal,
    form: RewordForm | ResolveForm,
    error: Exception | None = None,
    *,
    status: int = 200,
    is_unsaved: bool = True,
    panel: Panel | None = None,
    typed: str = "",
) -> HttpResponse:
    """Return the proposal's page with a form in the place of its change, and what its text would change; for a preview
    that alone. Where nothing is left to reword, the page has what was typed, to copy.

    Args:
        error: why a decision was refused; it has a status of its own.
    """
    texts, status = form.texts, status_of(error) if error else status
    if texts is None:
        typed = form.result() if isinstance(form, RewordForm) else typed
        panel = panel or Panel(
            _("Your text was not saved."), _("The proposal was decided, or what it was about is gone.")
        )
        return proposal_page(request, found, status=status, panel=panel, typed=typed)
    text = form.result()
    own = {
        "texts": texts,
        "form": form,
        "risks": warnings_of_words(texts, text, form["title"].value() if "title" in form.fields else None),
        "redline": None if text == texts.now else laid_out(texts.now, text),
        "difference": None if text == texts.proposed else redline(compared(texts.proposed, text)),
        "over": max(0, len(text) - texts.limit),
        "caret": _caret(texts.now, text),
        "is_unsaved": is_unsaved,
        "action": _url_of_form(request, texts),
        "cancel": url_of("proposal", request, found),
    }
    if request.htmx and request.htmx.target == "preview":
        return render(request, "proposal/preview.html", {"own": own, "proposal": found, "is_preview": True})
    warnings = warnings_in(error)
    return proposal_page(request, found, status=status, panel=panel, own=own, warnings=warnings, typed=typed)


def _caret(before: str, after: str) -> int:
    """Return where the first change begins in a field of a form, in the units that browsers count in."""
    first = next(iter(compared(before, after)), None)
    start = first.text.replace("\r\n", "\n") if first and first.kind == "same" else ""
    return len(start.encode("utf-16-le")) // 2
