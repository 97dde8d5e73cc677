"""The verbs about one proposal, on its page or on its row of the list: a function for each.

Each checks its form, calls one service, and says at its place what a form that was sent twice, a conflict and an outage
are answered with. What they answer is the row or the page that the form was on, as it is now; without scripts a
redirect.
"""

from collections.abc import Callable, Sequence
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, typed_before, viewer_of
from approvals.forms import proposal as forms
from approvals.forms.memory import in_words
from approvals.models import Approval, Event, Proposal, Status, User
from approvals.pages import inbox
from approvals.pages.blocks import undoing
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.permissions import ReviewAction, available_actions, may_redact, proposals_visible_to, readable_people
from approvals.review.diff_mode import DiffMode
from approvals.review.presentation import review_of
from approvals.review.reworded import ids_of_changes, taken_of
from approvals.review.turn import change_request
from approvals.risks.flags import Risk
from approvals.services import errors
from approvals.templatetags.assent import proposal_url
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page, talk_context, view_of
from approvals.views.request import Request, form_page, verb, whole_number
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.models import TargetKind
from memory_app.text.edits import ForbiddenCharacter

#: What a service raises instead of deciding; `_again` answers it.
REFUSED = (errors.DecisionRefused, EngineUnavailable, OutcomeUnknown)


def page_of(pk: int) -> str:
    """Return the page that shows again what was sent about a proposal while signed out."""
    return reverse("proposal", args=[pk])


@verb(page_of)
def approve(request: Request, pk: int) -> HttpResponse:
    """Approve what is ticked: as a rule everything, which is what a row of the list has."""
    user, ticks = viewer_of(request), forms.Ticks.sent(request.POST)
    form = forms.ApproveForm(request.POST) if ticks.is_everything else forms.ApproveSomeForm(request.POST)

    def approve_ticked(**decision: Any) -> Proposal:
        if ticks.is_everything:
            return services.approve(**decision)
        accepted = ticks.accepted(ids_of_changes(proposal_or_404(pk, user)))
        return services.approve_some(accepted=accepted, **decision)

    def was_done(approved: Proposal) -> bool:
        return _is_same_part(approved, ticks) and _was_decided_so(approved, Status.APPROVED, user, form)

    return _decide(request, pk, form, approve_ticked, was_done, _("Approved: %(what)s"))


@verb(page_of)
def reject(request: Request, pk: int) -> HttpResponse:
    """Reject; with `already`, close what is already in the memory, which finds no fault with it."""
    closes = "already" in request.POST
    form = forms.CloseForm(request.POST) if closes else forms.RejectForm(request.POST)
    service = services.close_already_applied if closes else services.reject

    def was_done(rejected: Proposal) -> bool:
        is_same = closes or rejected.decision_reason == form.cleaned_data["reason"]
        return is_same and _was_decided_so(rejected, Status.REJECTED, viewer_of(request), form)

    return _decide(request, pk, form, service, was_done, _("Rejected: %(what)s"))


@verb(page_of)
def request_changes(request: Request, pk: int) -> HttpResponse:
    """Ask the agent for changes; with `back`, take such a request back."""
    if "back" in request.POST:
        back, said = forms.BackToReviewForm(request.POST), _("Open again: %(what)s")
        panel = Panel(_("It’s your turn again."), _("The agent is no longer asked for changes."))
        return _decide(request, pk, back, services.back_to_review, lambda _asked: False, said, panel)
    form = forms.RequestChangesForm(request.POST)

    def was_done(asked: Proposal) -> bool:
        earlier, said = change_request(asked), form.cleaned_data["comment"].strip()
        return earlier is not None and (earlier.by, earlier.comment) == (viewer_of(request).username, said)

    return _decide(request, pk, form, services.request_changes, was_done, _("Changes requested: %(what)s"))


def _decide(
    request: Request,
    pk: int,
    form: forms.ApproveForm,
    service: Callable[..., Proposal],
    was_done: Callable[[Proposal], bool],
    said: str,
    panel: Panel | None = None,
) -> HttpResponse:
    """Check a form, decide with a service and answer it: see `_answer`, or `_again` where nothing was decided.

    Args:
        was_done: whether the viewer decided so before, as by pressing twice.
    """
    if not form.is_valid():
        problem = None
        if {"revision", "seen_sha256"} & set(form.errors):
            problem = Panel(_("This form is not from this page."), _("Nothing was changed. Look at the change below."))
        return _again(request, pk, form, problem)
    arguments = {"actor": viewer_of(request), "proposal_id": pk, **form.arguments()}
    try:
        try:
            decided = service(**arguments)
        except errors.BeingDecided:  # once more, after finishing what a crash left of an earlier decision
            services.find_proposal(pk, viewer_of(request))
            decided = service(**arguments)
    except OverflowError:
        raise Http404 from None
    except REFUSED as error:
        if not (isinstance(error, errors.AlreadyDecided | errors.WithAgent) and was_done(error.proposal)):
            return _again(request, pk, form, panel_for(error, form.cleaned_data, viewer_of(request)), error)
        decided = error.proposal
    return _answer(request, decided, said, panel)


def _was_decided_so(proposal: Proposal, status: Status, user: User, form: forms.ApproveForm) -> bool:
    """Whether the viewer decided it so before, and said nothing else with it now."""
    said = form.cleaned_data["comment"].strip() in ("", proposal.decision_comment)
    return said and proposal.status == status and proposal.decided_by_id == user.pk


def _is_same_part(proposal: Proposal, ticks: forms.Ticks) -> bool:
    """Whether these ticks are what was approved of the proposal."""
    if ticks.is_everything:
        return proposal.approval in ("", Approval.AS_PROPOSED)
    taken = taken_of(proposal)
    if taken is None:
        return False
    if proposal.target_kind == TargetKind.BLOCK:
        return ticks.accepted([change.id for change in taken.changes]) == taken.accepted
    asked, kept = ({change["id"] for change in revision.note_changes} for revision in (taken.asked, taken.approved))
    return ticks.accepted(asked) == kept


def _answer(
    request: Request, now: Proposal, said: str, panel: Panel | None = None, *, is_undo: bool = False
) -> HttpResponse:
    """Answer a decision, or undoing one, with its row or its page; without scripts, go back to the page, or say it on
    the list that the form was sent from."""
    row_url, is_approved = request.POST.get("row", ""), now.status == Status.APPROVED and not is_undo
    if not request.htmx:
        back = request.POST.get("next", "") or row_url
        if back or is_undo:
            messages.success(request, said % {"what": now.target_title})
        default = reverse("inbox") if row_url else url_of("proposal", request, now)
        return redirect(local_path(request, back, default))
    if not row_url:
        return proposal_page(request, now, just_decided=True, panel=panel)
    counts = inbox.counts(proposals_visible_to(viewer_of(request)))
    request.waiting = counts[Tab.YOURS]  # for the navigation
    context = _row_context(request, now) | {
        "row": None if now.is_decided or now.is_with_agent else rows_of([now], looking=True)[0],
        "others": _beside(request, now) if is_approved or is_undo else (),
        "may_undo": ReviewAction.UNDO in available_actions(viewer_of(request), now),
        "is_own_change": is_approved,
        "tabs": [(tab.value, counts[tab]) for tab in Tab],
    }
    return render(request, "inbox/row_decided.html", context)


def _again(
    request: Request, pk: int, form: forms.ApproveForm, panel: Panel | None, error: Exception | None = None
) -> HttpResponse:
    """Return the row or the page as it is now, with what went wrong and with what was typed.

    Args:
        error: why a valid form was refused. After warnings the next press approves; a row has no button for that.
    """
    found, status = proposal_or_404(pk, viewer_of(request)), status_of(error) if error else 422
    if not (request.htmx and request.POST.get("row")):
        return proposal_page(request, found, status=status, panel=panel, form=form, warnings=warnings_in(error))
    context = _row_context(request, found) | {
        "row": rows_of([found], looking=True)[0],
        "panel": panel,
        # What this row was shown against is gone for them too.
        "others": _beside(request, found) if status == 409 else [],
    }
    return render(request, "inbox/row_again.html", context, status=status)


def _row_context(request: Request, found: Proposal) -> dict[str, Any]:
    """Return what rows of the list are drawn with that the form was sent from."""
    people, row_url = readable_people(viewer_of(request)), request.POST["row"]
    return {
        "proposal": found,
        "row_url": row_url,
        "list_query": Listing.of_url(row_url).query,
        "names": display_names([found.owner]) if people is None else people,
        "several_owners": people is None or len(people) > 1,
    }


def warnings_in(error: Exception | None) -> Sequence[Risk]:
    """Return what an approval was refused for until the button is pressed again."""
    return error.details["risks"] if isinstance(error, errors.HasWarnings) else ()


def status_of(error: Exception) -> int:
    """Return the status to answer a refused decision with."""
    return error.status if isinstance(error, errors.Refusal) else 503


def url_of(name: str, request: Request, found: Proposal) -> str:
    """Return the address of a page of a proposal, with the list it was opened from."""
    return proposal_url(found, listing_of(request).query, name)


def _beside(request: Request, decided: Proposal) -> list[InboxRow]:
    """Return rows of the page that a form was sent from, as they are now: the others about the target of what was
    decided."""
    named = map(whole_number, request.POST.get("beside", "").split(",", inbox.PAGE_SIZE * 4))
    ids = [pk for pk in named if pk is not None and pk != decided.pk]
    if not ids:
        return []
    others = Proposal.objects.open().on_target(decided.owner, decided.target_kind, decided.target)
    return rows_of(others.filter(pk__in=ids).select_related("agent", "decided_by"), looking=True)


@form_page
def undo(request: Request, pk: int) -> HttpResponse:
    """Undo; where the memory changed since the decision, show first what undoing would do."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    if request.method != "POST":
        if ReviewAction.UNDO not in available_actions(user, found):
            return redirect(url_of("proposal", request, found))
        return _undo_page(request, found, forms.UndoForm(initial=typed_before(request)))
    form = forms.UndoForm(request.POST)
    if not form.is_valid():
        return _undo_page(request, found, form, status=422)
    try:
        undone = services.undo(actor=user, proposal_id=pk, **form.arguments())
    except errors.AlreadyUndone as error:
        # In another window or by pressing twice.
        last = error.proposal.events.filter(what__in=services.UNDONE).last()
        if last is None or (last.actor, last.actor_kind) != (user.username, Event.ActorKind.PERSON):
            return _not_undone(request, pk, error.message)
        undone = proposal_or_404(pk, user)
    except errors.ChangedSince as error:
        if request.htmx:  # the page that says what undoing would do takes the place of this one
            listing = listing_of(request, Listing.of_url(request.POST.get("row", "")).query)
            return HttpResponse(headers={"HX-Redirect": proposal_url(found, listing.query, "undo")})
        return _undo_page(request, error.proposal, form, status=409, panel=Panel(_("Not undone."), error.message))
    except errors.DecisionRefused as error:
        return _not_undone(request, pk, error.message, status=status_of(error))
    except (EngineUnavailable, OutcomeUnknown):
        text = _("The memory did not answer. If undoing had begun, it will finish by itself. Look again in a minute.")
        return _not_undone(request, pk, text, status=503)
    panel = None if undone.is_decided else _back(undone)
    if panel:
        back = _("%(what)s is back in Your turn.")
        said = f"{back} {panel.message}".strip()
    elif undone.auto_applied:
        said = _("Reverted: the memory is as it was before.")
    else:
        said = _("Undone: %(what)s. The memory is as it was before.")
    return _answer(request, undone, said, panel, is_undo=True)


def _back(undone: Proposal) -> Panel:
    """Return what is said of a proposal that waits again."""
    last, said = undone.events.filter(what__in=services.UNDONE).last(), []
    if last and last.what == Event.What.REVERTED:
        said.append(_("The memory is as it was before."))
        closed = undone.answered_by.filter(status=Status.REJECTED, decided_by=None, decided_at__gt=last.at)
        said += [_("Proposal %(number)d, the rest of it, is closed.") % {"number": each.pk} for each in closed]
    return Panel(_("Back in Your turn."), " ".join(said))


def _undo_page(
    request: Request, proposal: Proposal, form: forms.UndoForm, *, status: int = 200, panel: Panel | None = None
) -> HttpResponse:
    listing = listing_of(request, form.initial.get("list", ""))
    context = {
        "proposal": proposal,
        "listing": listing,
        "list_query": listing.query,
        "undoing": undoing(proposal, viewer_of(request)),
        "form": form,
        "panel": panel,
        "is_source": view_of(request) is DiffMode.SOURCE,
    }
    return render(request, "proposal/undo.html", context, status=status)


def _not_undone(request: Request, pk: int, message: str, *, status: int = 409) -> HttpResponse:
    """Answer that nothing was undone, on the page of the proposal as it is now."""
    now = proposal_or_404(pk, viewer_of(request))
    return proposal_page(request, now, status=status, panel=Panel(_("Not undone."), message))


@form_page
def redact(request: Request, pk: int) -> HttpResponse:
    """Remove the texts of a proposal that was not taken, or not whole, after saying what that means."""
    user = viewer_of(request)
    found = proposal_or_404(pk, user)
    if not may_redact(user, found.owner):
        raise Http404
    if request.method == "POST":
        try:
            services.redact(actor=user, proposal_id=pk)
        except errors.DecisionRefused as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("The texts of the proposal are removed."))
    elif ReviewAction.REDACT in available_actions(user, found):
        was_taken = found.events.filter(what=Event.What.REVERTED).exists()
        return render(request, "proposal/redact.html", {"proposal": found, "was_taken": was_taken})
    return redirect("proposal", pk=pk)


@verb(page_of)
def comment(request: Request, pk: int) -> HttpResponse:
    """Save a comment, and answer with the thread or the page: with what was typed, where it is refused."""
    viewer, form, status = viewer_of(request), forms.CommentForm(request.POST), 422
    found = proposal_or_404(pk, viewer)
    if form.is_valid():
        typed = form.cleaned_data
        try:
            services.comment(
                actor=viewer, proposal_id=pk, text=typed["said"], change=typed["change"], operation=typed["nonce"]
            )
        except (ForbiddenCharacter, errors.Refusal) as error:
            form.add_error("said", in_words(error))
            found, status = proposal_or_404(pk, viewer), getattr(error, "status", status)
    elif set(form.errors) != {"said"}:
        form.add_error("said", _("This form is not from this page. Send it again."))
    if request.htmx:
        context = talk_context(review_of(found, viewer), form if form.errors else None)
        context["is_new_comment"] = not form.errors
        return render(request, "talk/thread.html", context, status=status if form.errors else 200)
    if form.errors:
        return proposal_page(request, found, status=status, comment_form=form)
    return redirect(f"{found.get_absolute_url()}#talk")


@verb(page_of)
def assign(request: Request, pk: int) -> HttpResponse:
    """Assign a proposal, and answer with its page."""
    form, viewer = forms.AssignForm(request.POST), viewer_of(request)
    page_url = url_of("proposal", request, proposal_or_404(pk, viewer))
    if not form.is_valid() or "to" not in request.POST:
        messages.error(request, _("Not assigned: choose a person, or nobody."))
        return redirect(page_url)
    try:
        done = services.assign(actor=viewer, proposal_id=pk, to=form.cleaned_data["to"])
    except errors.DecisionRefused as error:
        messages.error(request, error.message)
        return redirect(page_url)
    if done.assigned_to is None:
        messages.success(request, _("Assigned to nobody."))
    elif done.assigned_to_id == viewer.pk:
        messages.success(request, _("Assigned to you."))
    else:
        messages.success(request, _("Assigned to %(who)s.") % {"who": done.assigned_to.display_name})
    return redirect(page_url)
