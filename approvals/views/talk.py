"""The forms beside a proposal that decide nothing: its thread, whose it is, putting it off, who looks at it."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import structlog
from django.contrib import messages
from django.db import DatabaseError, transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, signed_in, viewer_of
from approvals.forms.proposal import AssignForm, CommentForm, SnoozeForm
from approvals.markdown.rendering import on_one_line
from approvals.models import Event, Proposal
from approvals.pages import inbox, risk_wording, talk
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.talk import thread_of
from approvals.permissions import deciders_of, is_open_for_talk, may_decide
from approvals.review.compared import compared
from approvals.review.presentation import Review, review_of
from approvals.risks import flags
from approvals.services.errors import AlreadyDecided, CommentInvalid, DecisionRefused, ProposalNotFound, TalkClosed
from approvals.views.request import Request, is_read, whole_number
from approvals.views.rows import rows_now
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
    comments = thread_of(proposal)
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


# -- Whose a proposal is, who looks at it now, and putting it off.

log = structlog.get_logger(__name__)


def care_context(request: Request, found: Proposal) -> dict[str, Any]:
    """Return who takes care of a proposal; note that the viewer looks at it."""
    viewer = viewer_of(request)
    if found.is_decided:
        return {}
    if is_read(request):
        _look(request, found)
    may = may_decide(viewer, found.owner)
    seen = talk.of_rows([found], viewer)
    return {
        "looking": seen.looking.get(found.pk, []),
        "snoozed_until": seen.snoozed.get(found.pk),
        "may_care": may,
        "deciders": deciders_of(found.owner) if may else [],
        "first_day": timezone.localdate(),
        "last_day": timezone.localdate(found.expires_at),
    }


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def looking(request: Request, pk: int) -> HttpResponse:
    """Note that the viewer still looks, and say who else does and whether somebody wrote since; 204 for no change."""
    from approvals.views.proposal import proposal_or_404

    viewer = viewer_of(request)
    found = proposal_or_404(pk, viewer)
    _look(request, found)
    known = whole_number(request.GET.get("comments", "")) or 0
    context = {
        "proposal": found,
        "looking": talk.of_rows([found], viewer).looking.get(found.pk, []),
        "new_comments": max(0, talk.summary(found).comments - known),
        "is_decided_since": found.is_decided,
        "list_query": Listing.parse(request.GET.get("list", "")).query,
    }
    return render(request, "talk/presence.html", context)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def assign(request: Request, pk: int) -> HttpResponse:
    form = AssignForm(request.POST)
    if not form.is_valid() or "to" not in request.POST:
        messages.error(request, _("Not assigned: choose a person, or nobody."))
        return _back(request, pk)

    def carry_out() -> str:
        done = services.assign(actor=viewer_of(request), proposal_id=pk, to=form.cleaned_data["to"])
        if done.assigned_to is None:
            return _("Assigned to nobody.")
        if done.assigned_to_id == viewer_of(request).pk:
            return _("Assigned to you.")
        return _("Assigned to %(who)s.") % {"who": done.assigned_to.display_name}

    return _done(request, pk, carry_out)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def snooze(request: Request, pk: int) -> HttpResponse:
    form = SnoozeForm(request.POST)
    until = form.at() if form.is_valid() else None
    if until is None:
        messages.error(request, _("Not snoozed: choose for how long."))
        return _back(request, pk)

    def carry_out() -> str:
        done = services.snooze(actor=viewer_of(request), proposal_id=pk, until=until)
        # The page says until when, with the way back; the list no longer has it.
        return _("Snoozed: %(what)s") % {"what": done.target_title} if request.POST.get("row") else ""

    return _done(request, pk, carry_out, until=until)


@transaction.non_atomic_requests
@signed_in(return_to=lambda pk: reverse("proposal", args=[pk]))
@require_POST
def wake(request: Request, pk: int) -> HttpResponse:
    def carry_out() -> str:
        services.wake(actor=viewer_of(request), proposal_id=pk)
        return _("It is back in your list.")

    return _done(request, pk, carry_out)


def _done(request: Request, pk: int, carry_out: Callable[[], str], *, until: datetime | None = None) -> HttpResponse:
    """Carry it out, say what it returns, and go back to the page; or answer with the row it was sent from."""
    try:
        said = carry_out()
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    except DecisionRefused as error:
        messages.error(request, error.message)
        return _back(request, pk)
    if request.htmx and request.POST.get("row"):
        return _row(request, pk, until)
    if said:
        messages.success(request, said)
    return _back(request, pk)


def _row(request: Request, pk: int, until: datetime | None) -> HttpResponse:
    """Return the row of what was snoozed until then, or of what is back."""
    from approvals.views.proposal import proposal_or_404

    row_url, user = request.POST["row"], viewer_of(request)
    found = proposal_or_404(pk, user)
    counts = inbox.counts_for(user)
    request.waiting = counts[Tab.YOURS]
    context: dict[str, Any] = {
        "proposal": found,
        "until": until,
        "row": None if until else rows_now([found])[0],
        "tabs": [(tab.value, counts[tab]) for tab in Tab],
        "list_query": Listing.of_url(row_url).query,
        "row_url": row_url,
    }
    return render(request, "inbox/row_snoozed.html" if until else "inbox/row_undone.html", context)


def _back(request: Request, pk: int) -> HttpResponse:
    """Go back to the list, where the form was on a row, else to the page of the proposal."""
    row_url = request.POST.get("row", "")
    url = local_path(request, row_url, reverse("inbox")) if row_url else _page(request, pk)
    if request.htmx:
        return HttpResponse(headers={"HX-Redirect": url})
    return redirect(url)


def _page(request: Request, pk: int) -> str:
    query = Listing.parse(request.POST.get("list", "")).query
    page = reverse("proposal", args=[pk])
    if not query:
        return page
    return f"{page}?{urlencode({'list': query})}"


def _look(request: Request, found: Proposal) -> None:
    """Note that the viewer looks; a page is not refused because that could not be written."""
    try:
        services.look(actor=viewer_of(request), proposal=found)
    except DatabaseError:
        log.exception("look_not_written", proposal=found.pk)
