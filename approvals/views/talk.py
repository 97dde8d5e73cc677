"""The forms beside a proposal that decide nothing: its thread, and whose it is."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import display_names, signed_in, viewer_of
from approvals.forms.proposal import AssignForm, CommentForm
from approvals.markdown.rendering import on_one_line
from approvals.models import Event, Proposal
from approvals.pages import risk_wording
from approvals.pages.inbox_filters import Listing
from approvals.permissions import deciders_of, is_open_for_talk, may_decide
from approvals.review.compared import compared
from approvals.review.presentation import Review, review_of
from approvals.risks import flags
from approvals.services.errors import AlreadyDecided, CommentInvalid, DecisionRefused, ProposalNotFound, TalkClosed
from approvals.views.request import Request
from memory_app.models import TargetKind
from memory_app.text.edits import ForbiddenCharacter
from memory_app.text.lines import first_words

# -- The thread of a proposal: what the page shows of it, and commenting.

#: Changes offered to comment on one by one; with more, a comment says which it means.
MOST_CHANGES = 60
#: Flags of an agent's comment that people are told: it may be written to lead them or a model astray.
_FLAGS = ("hidden_characters", "mixed_scripts", "reads_like_instructions")


@dataclass(frozen=True)
class ChangeOption:
    """A change one can comment on: its id, its number on the page, and its words."""

    id: str
    number: int
    words: str


@dataclass(frozen=True)
class CommentShown:
    """A comment as the page draws it.

    Args:
        about: the change it is about, where that is still there.
        about_gone: it is about a change that is no longer there.
        warnings: titles of flags.
    """

    event: Event
    who: str
    about: ChangeOption | None
    about_gone: bool
    warnings: tuple[str, ...] = ()


def talk_context(
    review: Review, typed: Mapping[str, str] | None = None, form: CommentForm | None = None
) -> dict[str, Any]:
    """Return what the thread's template needs.

    Args:
        typed: what was typed into the form before, such as while signed out.
        form: the form as it was refused.
    """
    proposal = review.proposal
    options = {each.id: each for each in _options(review)}
    comments = [each for each in review.events if each.what == Event.What.COMMENTED and each.text]
    names = display_names(each.actor for each in comments if each.actor_kind == Event.ActorKind.PERSON)
    values = dict(form.data.items()) if form else dict(typed or {})
    shown = [_shown(each, names, options) for each in comments]
    return {
        "review": review,
        "proposal": proposal,
        "comments": shown,
        "comments_at": _counted(shown),
        "change_ids": {each.number: each.id for each in options.values()},
        "talk_changes": list(options.values()) if len(options) > 1 else [],
        "talk_open": is_open_for_talk(proposal),
        "talk_errors": form.errors.get("said", []) if form else [],
        "talk_said": values.get("said", ""),
        "talk_change": values.get("change", ""),
        # A refused form goes on being the same one.
        "talk_nonce": values.get("nonce") or uuid.uuid4().hex,
        "is_typed_again": bool(typed),
    }


def _counted(comments: list[CommentShown]) -> dict[int, int]:
    """Return how many comments there are about each change, by its number on the page."""
    counted: dict[int, int] = {}
    for each in comments:
        if each.about:
            counted[each.about.number] = counted.get(each.about.number, 0) + 1
    return counted


def _shown(event: Event, names: Mapping[str, str], options: Mapping[str, ChangeOption]) -> CommentShown:
    change = event.data.get("change", "")
    by_agent = event.actor_kind == Event.ActorKind.AGENT
    found = {risk.key for risk in flags.flags("", event.text)} if by_agent else set()
    return CommentShown(
        event,
        names.get(event.actor, event.actor),
        options.get(change),
        about_gone=bool(change) and change not in options,
        warnings=tuple(str(risk_wording.title(key)) for key in _FLAGS if key in found),
    )


def _options(review: Review) -> list[ChangeOption]:
    if review.proposal.target_kind == TargetKind.BLOCK:
        hunks = compared(review.before_text, review.after_text).hunks[:MOST_CHANGES]
        return [ChangeOption(hunk.id, hunk.number, _beginning(hunk.after or hunk.before)) for hunk in hunks]
    return [
        ChangeOption(note.id, number, first_words((note.after or note.before).content, 60))  # type: ignore[union-attr]
        for number, note in enumerate(review.notes[:MOST_CHANGES], start=review.first_note)
    ]


def _beginning(text: str) -> str:
    """Return the first words of a change without the marks of Markdown, unless it consists of marks."""
    start = text[:1_000]
    return first_words(on_one_line(start) or start, 60)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def comment(request: Request, pk: int) -> HttpResponse:
    """Save a comment, and answer with the thread or the page."""
    from approvals.views.proposal import proposal_or_404

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
    except ProposalNotFound:
        raise Http404 from None
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
    from approvals.views.proposal import proposal_page

    if request.htmx:
        context = talk_context(review_of(found, viewer_of(request)), form=form)
        return render(request, "talk/thread.html", context, status=status)
    return proposal_page(request, found, status=status, comment_form=form)


def care_context(request: Request, found: Proposal) -> dict[str, Any]:
    """Return to whom an undecided proposal may be assigned."""
    may = not found.is_decided and may_decide(viewer_of(request), found.owner)
    return {"may_care": may, "deciders": deciders_of(found.owner) if may else []}


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def assign(request: Request, pk: int) -> HttpResponse:
    """Assign a proposal, and answer with its page."""
    form, viewer = AssignForm(request.POST), viewer_of(request)
    if not form.is_valid() or "to" not in request.POST:
        messages.error(request, _("Not assigned: choose a person, or nobody."))
        return _back(request, pk)
    try:
        done = services.assign(actor=viewer, proposal_id=pk, to=form.cleaned_data["to"])
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    except DecisionRefused as error:
        messages.error(request, error.message)
        return _back(request, pk)
    if done.assigned_to is None:
        messages.success(request, _("Assigned to nobody."))
    elif done.assigned_to_id == viewer.pk:
        messages.success(request, _("Assigned to you."))
    else:
        messages.success(request, _("Assigned to %(who)s.") % {"who": done.assigned_to.display_name})
    return _back(request, pk)


def _back(request: Request, pk: int) -> HttpResponse:
    query = Listing.parse(request.POST.get("list", "")).query
    return redirect(reverse("proposal", args=[pk]) + (f"?{urlencode({'list': query})}" if query else ""))
