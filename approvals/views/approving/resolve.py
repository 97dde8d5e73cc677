"""Resolving a conflict: for each place that both sides changed keep now, take proposed or write one's own.

Where there are no such places (a note that changed, a text that got too long), and for whoever prefers it, there is
the whole text instead, as when editing (`reword`).
"""

from __future__ import annotations

from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from approvals import services
from approvals.accounts.sign_in import signed_in, typed_before
from approvals.accounts.viewer import viewer_of
from approvals.forms.resolve import ResolveForm
from approvals.models import Approval, Proposal, User
from approvals.permissions import ReviewAction
from approvals.review.reworded.rewording import Rewording
from approvals.services.decide.refusals import NoText, SameAsNow
from approvals.services.errors import AlreadyDecided, DecisionRefused, NoteInvalid, OverLimit, ProposalNotFound
from approvals.views.approving import reword
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import proposal_or_404
from approvals.views.request import Request
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.text.edits import ForbiddenCharacter


@transaction.non_atomic_requests
@signed_in()
@require_http_methods(["GET", "HEAD", "POST"])
def resolve(request: Request, pk: int) -> HttpResponse:
    found = proposal_or_404(pk, viewer_of(request))
    texts = reword.texts_of(request, found, ReviewAction.RESOLVE)
    if texts and texts.new_block:  # nothing to merge it with: its text is edited on the other page
        return redirect(reword.url_of("edit", request, found))
    if request.method == "POST":
        if "text" in request.POST:
            return reword.sent(request, "resolve", found, texts, services.resolve)
        return _sent(request, found, texts)
    if texts is None:
        return redirect(found.get_absolute_url())
    if not texts.is_conflict:
        return redirect(reword.url_of("edit", request, found))
    kept = typed_before(request)
    if texts.conflicts and "text" not in kept and "whole" not in request.GET:
        form = ResolveForm(conflicts=texts.conflicts, initial=kept | reword.seen_of(texts))
        return _page(request, texts, form, is_unsaved=bool(kept))
    return reword.page_of(request, "resolve", texts, kept, text=_to_begin_with(texts))


def _sent(request: Request, found: Proposal, texts: Rewording | None) -> HttpResponse:
    """Answer the form of the places: show what it comes to, or approve that."""
    conflicts = texts.conflicts if texts else ()
    form = ResolveForm(request.POST, conflicts=conflicts)
    is_as_seen = texts is not None and request.POST.get("seen_sha256") == texts.seen_sha256
    if texts and is_as_seen and "preview" in request.POST:
        return _page(request, texts, ResolveForm(conflicts=conflicts, initial=request.POST.dict()), is_unsaved=True)
    if texts and is_as_seen and "whole" in request.POST:
        return reword.page_of(request, "resolve", texts, _kept(request), text=texts.settled(form.chosen()))
    if texts and is_as_seen and not form.is_valid():
        return _page(request, texts, form, is_unsaved=True, status=422)
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
        form.add_error(None, reword.refusal_of(error))
        return _page(request, texts, form, is_unsaved=True, status=422)
    except (DecisionRefused, EngineUnavailable, OutcomeUnknown) as error:
        if isinstance(error, AlreadyDecided) and _is_sent_twice(error.proposal, form, user):
            return redirect(reword.url_of("proposal", request, error.proposal))
        return _overtaken(request, found, form, status=reword.status_of(error), panel=panel_for(error, named, user))
    return redirect(reword.url_of("proposal", request, decided))


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
    texts = reword.texts_of(request, now, ReviewAction.RESOLVE)
    typed = "\n\n".join(form.written())
    if texts is None:
        return reword.nothing_left(request, now, typed, status=status, panel=panel)
    fresh = ResolveForm(conflicts=texts.conflicts)
    if len(fresh.conflicts) == sum(name.startswith("own_") for name in request.POST):
        typed = ""
    initial = (request.POST.dict() if not typed else _kept(request)) | reword.seen_of(texts)
    form = ResolveForm(conflicts=texts.conflicts, initial=initial)
    return _page(request, texts, form, is_unsaved=True, status=status, panel=panel, typed=typed)


def _page(
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
        "action": reword.url_of("resolve", request, texts.proposal),
        "segments": texts.segments(text),
        "is_as_now": text == texts.now,
        "over": max(0, len(text) - texts.limit),
        **reword.about(request, texts.proposal),
    }
    return render(request, "proposal/resolve.html", context, status=status)


def _to_begin_with(texts: Rewording) -> str:
    """Return the text as it is now with what of the change does not contradict it."""
    return texts.settled([conflict.ours for conflict in texts.conflicts])


def _kept(request: Request) -> dict[str, str]:
    return {"comment": request.POST.get("comment", "")}
