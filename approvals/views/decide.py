"""The verbs about one proposal, on its page or on its row of the list: a function for each.

Each checks its form, calls one service, and says at its place what a form that was sent twice, a conflict and an outage
are answered with. What they answer is the row or the page that the form was on, as it is now; without scripts a
redirect.
"""

from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from approvals import services
from approvals.accounts.sign_in import display_names, local_path, typed_before, viewer_of
from approvals.forms.memory import in_words
from approvals.forms.proposal import (
    ApproveForm,
    ApproveSomeForm,
    AssignForm,
    BackToReviewForm,
    CloseForm,
    CommentForm,
    RejectForm,
    RequestChangesForm,
    Ticks,
    UndoForm,
)
from approvals.models import Approval, Event, Proposal, Status, User
from approvals.pages import inbox
from approvals.pages.blocks import url_of_target
from approvals.pages.inbox_filters import Listing, Tab
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.pages.undoing import undoing
from approvals.permissions import ReviewAction, available_actions, may_redact, proposals_visible_to, readable_people
from approvals.review.diff_mode import DiffMode
from approvals.review.presentation import review_of
from approvals.review.reworded import ids_of_changes, taken_of
from approvals.review.turn import change_request
from approvals.services.errors import (
    AlreadyDecided,
    AlreadyUndone,
    BeingDecided,
    ChangedSince,
    DecisionRefused,
    HasWarnings,
    Refusal,
    WithAgent,
)
from approvals.views.panels import Panel, panel_for
from approvals.views.proposal import listing_of, proposal_or_404, proposal_page, talk_context
from approvals.views.request import Request, chosen, form_page, verb, whole_number
from memory_app.dolt.errors import DoltError, EngineUnavailable, OutcomeUnknown
from memory_app.models import TargetKind
from memory_app.text.edits import ForbiddenCharacter

#: What a service raises instead of deciding; `refused` answers it.
REFUSED = (DecisionRefused, EngineUnavailable, OutcomeUnknown)


def page_of(pk: int) -> str:
    """Return the page that shows again what was sent about a proposal while signed out."""
    return reverse("proposal", args=[pk])


@verb(page_of)
def approve(request: Request, pk: int) -> HttpResponse:
    """Approve what is ticked: as a rule everything, which is what a row of the list has."""
    user, ticks = viewer_of(request), Ticks.sent(request.POST)
    form = ApproveForm(request.POST) if ticks.is_everything else ApproveSomeForm(request.POST)
    if not form.is_valid():
        return _invalid(request, pk, form)
    try:
        if ticks.is_everything:
            approved = _carried_out(services.approve, user, pk, form.arguments())
        else:
            accepted = ticks.accepted(ids_of_changes(proposal_or_404(pk, user)))
            approved = _carried_out(services.approve_some, user, pk, {"accepted": accepted, **form.arguments()})
    except AlreadyDecided as error:
        approved = error.proposal
        if ticks.is_everything:
            is_same = approved.approval in ("", Approval.AS_PROPOSED)
        else:
            is_same = _is_same_part(approved, ticks)
        if not (is_same and _was_decided_so(approved, Status.APPROVED, user, form)):
            return _refused(request, pk, form, error)
    except REFUSED as error:
        return _refused(request, pk, form, error)
    return _decided(request, approved, _("Approved: %(what)s"))


@verb(page_of)
def reject(request: Request, pk: int) -> HttpResponse:
    """Reject; with `already`, close what is already in the memory, which finds no fault with it."""
    user, closes = viewer_of(request), "already" in request.POST
    form = CloseForm(request.POST) if closes else RejectForm(request.POST)
    if not form.is_valid():
        return _invalid(request, pk, form)
    try:
        service = services.close_already_applied if closes else services.reject
        rejected = _carried_out(service, user, pk, form.arguments())
    except AlreadyDecided as error:
        rejected = error.proposal
        is_same = closes or rejected.decision_reason == form.cleaned_data["reason"]
        if not (is_same and _was_decided_so(rejected, Status.REJECTED, user, form)):
            return _refused(request, pk, form, error)
    except REFUSED as error:
        return _refused(request, pk, form, error)
    return _decided(request, rejected, _("Rejected: %(what)s"))


@verb(page_of)
def request_changes(request: Request, pk: int) -> HttpResponse:
    """Ask the agent for changes; with `back`, take such a request back."""
    user, is_back = viewer_of(request), "back" in request.POST
    form = BackToReviewForm(request.POST) if is_back else RequestChangesForm(request.POST)
    if not form.is_valid():
        return _invalid(request, pk, form)
    try:
        service = services.back_to_review if is_back else services.request_changes
        asked = _carried_out(service, user, pk, form.arguments())
    except WithAgent as error:
        asked, earlier = error.proposal, change_request(error.proposal)
        said = form.cleaned_data["comment"].strip()
        if is_back or earlier is None or (earlier.by, earlier.comment) != (user.username, said):
            return _refused(request, pk, form, error)
    except REFUSED as error:
        return _refused(request, pk, form, error)
    if not is_back:
        return _decided(request, asked, _("Changes requested: %(what)s"))
    if request.htmx and request.POST.get("row"):
        return _row(request, "inbox/row_undone.html", asked, row=rows_of([asked], looking=True)[0])
    panel = Panel(_("It’s your turn again."), _("The agent is no longer asked for changes."))
    return _decided(request, asked, _("Open again: %(what)s"), panel)


def _carried_out(service: Callable[..., Proposal], user: User, pk: int, arguments: dict[str, Any]) -> Proposal:
    """Return the proposal as decided; once more after finishing what a crash left of an earlier decision."""
    try:
        return service(actor=user, proposal_id=pk, **arguments)
    except BeingDecided:
        services.find_proposal(pk, user)
        return service(actor=user, proposal_id=pk, **arguments)
    except OverflowError:
        raise Http404 from None


def _was_decided_so(proposal: Proposal, status: Status, user: User, form: ApproveForm) -> bool:
    """Whether the viewer decided it so before, as by pressing twice, and said nothing else with it now."""
    said = form.cleaned_data["comment"].strip() in ("", proposal.decision_comment)
    return said and proposal.status == status and proposal.decided_by_id == user.pk


def _is_same_part(proposal: Proposal, ticks: Ticks) -> bool:
    """Whether these ticks are what was approved of the proposal."""
    taken = taken_of(proposal)
    if taken is None:
        return False
    if proposal.target_kind == TargetKind.BLOCK:
        return ticks.accepted([change.id for change in taken.changes]) == taken.accepted
    asked, kept = ({change["id"] for change in revision.note_changes} for revision in (taken.asked, taken.approved))
    return ticks.accepted(asked) == kept


def _decided(request: Request, decided: Proposal, said: str, panel: Panel | None = None) -> HttpResponse:
    """Answer a decision with its row or its page; without scripts, go back to the page, or say it on the list that the
    form was sent from."""
    row_url, is_approved = request.POST.get("row", ""), decided.status == Status.APPROVED
    if request.htmx and row_url:
        others = beside(request, decided) if is_approved else ()
        may_undo = ReviewAction.UNDO in available_actions(viewer_of(request), decided)
        context = {"others": others, "may_undo": may_undo, "is_own_change": is_approved}
        return _row(request, "inbox/row_decided.html", decided, **context)
    if request.htmx:
        return proposal_page(request, decided, just_decided=True, panel=panel)
    if row_url:
        messages.success(request, said % {"what": decided.target_title})
        return redirect(local_path(request, row_url, reverse("inbox")))
    return redirect(url_of("proposal", request, decided))


def _row(request: Request, template: str, proposal: Proposal, **context: Any) -> HttpResponse:
    """Return a template of a row whose proposal was decided, with the new counts of the list."""
    context |= {"proposal": proposal, **row_context(request, request.POST["row"], [proposal.owner])}
    return render(request, template, context | counted(request))


def row_context(request: Request, row_url: str, owners: Iterable[str]) -> dict[str, Any]:
    """Return what rows of a list are drawn with, where some of them answer a form.

    Args:
        row_url: the list's address.
        owners: of the rows.
    """
    people = readable_people(viewer_of(request))
    return {
        "row_url": row_url,
        "list_query": Listing.of_url(row_url).query,
        "names": display_names(set(owners)) if people is None else people,
        "several_owners": people is None or len(people) > 1,
    }


def _refused(request: Request, pk: int, form: ApproveForm, error: DecisionRefused | DoltError) -> HttpResponse:
    """Answer a decision that was not taken: the proposal as it is now, what changed, and what was typed."""
    panel = panel_for(error, form.cleaned_data, viewer_of(request))
    is_confirming = isinstance(error, HasWarnings)
    return _again(request, pk, form, status=status_of(error), panel=panel, is_confirming=is_confirming)


def _invalid(request: Request, pk: int, form: ApproveForm) -> HttpResponse:
    """Answer a form with errors, which it shows, or one that no page of ours sent."""
    panel = None
    if {"revision", "seen_sha256"} & set(form.errors):
        panel = Panel(_("This form is not from this page."), _("Nothing was changed. Look at the change below."))
    return _again(request, pk, form, status=422, panel=panel)


def _again(
    request: Request, pk: int, form: ApproveForm, *, status: int, panel: Panel | None, is_confirming: bool = False
) -> HttpResponse:
    """Return the row or the page as it is now, with what went wrong and with what was typed.

    Args:
        is_confirming: the next press approves despite warnings; a row has no button for that.
    """
    found, row_url = proposal_or_404(pk, viewer_of(request)), request.POST.get("row", "")
    if not (request.htmx and row_url):
        return proposal_page(request, found, status=status, panel=panel, form=form, is_confirming=is_confirming)
    context = {
        "row": rows_of([found], looking=True)[0],
        "panel": panel,
        **row_context(request, row_url, [found.owner]),
        # What this row was shown against is gone for them too.
        "others": beside(request, found) if status == 409 else [],
    }
    return render(request, "inbox/row_again.html", context, status=status)


def status_of(error: Exception) -> int:
    """Return the status to answer a refused decision with."""
    return error.status if isinstance(error, Refusal) else 503


def counted(request: Request) -> dict[str, Any]:
    """Return how many proposals each tab has now; the navigation says the same."""
    counts = inbox.counts(proposals_visible_to(viewer_of(request)))
    request.waiting = counts[Tab.YOURS]
    return {"tabs": [(tab.value, counts[tab]) for tab in Tab]}


def url_of(name: str, request: Request, found: Proposal) -> str:
    """Return the address of a page of a proposal, with the list it was opened from."""
    return _with_list(reverse(name, args=[found.pk]), listing_of(request))


def _with_list(url: str, listing: Listing) -> str:
    return f"{url}?{urlencode({'list': listing.query})}" if listing.query else url


def about_proposal(request: Request, found: Proposal, list_query: str = "") -> dict[str, Any]:
    """Return what every page beside that of a proposal needs: what it is about, and the ways back.

    Args:
        list_query: the list it was opened from, where neither form nor address has it.
    """
    listing = listing_of(request, list_query)
    return {
        "proposal": found,
        "listing": listing,
        "list_query": listing.query,
        "proposal_url": _with_list(found.get_absolute_url(), listing),
        "target_url": url_of_target(found),
        "owner_name": display_names([found.owner]).get(found.owner, found.owner),
        "is_own": found.owner == viewer_of(request).username,
    }


def beside(request: Request, decided: Proposal) -> list[InboxRow]:
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
        kept = typed_before(request)
        return _undo_page(request, found, UndoForm(initial=kept), list_query=kept.get("list", ""))
    form = UndoForm(request.POST)
    if not form.is_valid():
        return _undo_page(request, found, form, status=422)
    try:
        undone = services.undo(actor=user, proposal_id=pk, **form.arguments())
    except AlreadyUndone as error:
        # In another window or by pressing twice.
        last = error.proposal.events.filter(what__in=services.UNDONE).last()
        if last is None or (last.actor, last.actor_kind) != (user.username, Event.ActorKind.PERSON):
            return _not_undone(request, pk, error.message)
        undone = proposal_or_404(pk, user)
    except ChangedSince as error:
        if request.htmx:  # the page that says what undoing would do takes the place of this one
            listing = listing_of(request, Listing.of_url(request.POST.get("row", "")).query)
            return HttpResponse(headers={"HX-Redirect": _with_list(reverse("undo", args=[pk]), listing)})
        return _undo_page(request, error.proposal, form, status=409, panel=Panel(_("Not undone."), error.message))
    except DecisionRefused as error:
        return _not_undone(request, pk, error.message, status=status_of(error))
    except (EngineUnavailable, OutcomeUnknown):
        text = _("The memory did not answer. If undoing had begun, it will finish by itself. Look again in a minute.")
        return _not_undone(request, pk, text, status=503)
    panel = None if undone.is_decided else _back(undone)
    if request.htmx and request.POST.get("row"):
        shown = rows_of([undone], looking=True)[0] if panel else None
        return _row(request, "inbox/row_undone.html", undone, row=shown, others=beside(request, undone), is_undone=True)
    if request.htmx:
        return proposal_page(request, undone, just_decided=True, panel=panel)
    if panel:
        said = f"{_('%(what)s is back in Your turn.')} {panel.message}".strip()
    elif undone.auto_applied:
        said = _("Reverted: the memory is as it was before.")
    else:
        said = _("Undone: %(what)s. The memory is as it was before.")
    messages.success(request, said % {"what": undone.target_title})
    back = request.POST.get("next", "") or request.POST.get("row", "")
    return redirect(local_path(request, back, url_of("proposal", request, undone)))


def _back(undone: Proposal) -> Panel:
    """Return what is said of a proposal that waits again."""
    last, said = undone.events.filter(what__in=services.UNDONE).last(), []
    if last and last.what == Event.What.REVERTED:
        said.append(_("The memory is as it was before."))
        closed = undone.answered_by.filter(status=Status.REJECTED, decided_by=None, decided_at__gt=last.at)
        said += [_("Proposal %(number)d, the rest of it, is closed.") % {"number": each.pk} for each in closed]
    return Panel(_("Back in Your turn."), " ".join(said))


def _undo_page(
    request: Request,
    proposal: Proposal,
    form: UndoForm,
    *,
    status: int = 200,
    panel: Panel | None = None,
    list_query: str = "",
) -> HttpResponse:
    context = about_proposal(request, proposal, list_query) | {
        "undoing": undoing(proposal, viewer_of(request)),
        "form": form,
        "panel": panel,
        "comment": form["comment"].value() or "",
        "page_url": _with_list(reverse("undo", args=[proposal.pk]), listing_of(request, list_query)),
        "is_source": (request.GET.get("view") or chosen(request, "view", [*DiffMode])) == DiffMode.SOURCE,
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
        except DecisionRefused as error:
            messages.error(request, error.message)
        else:
            messages.success(request, _("The texts of the proposal are removed."))
    elif ReviewAction.REDACT in available_actions(user, found):
        was_taken = found.events.filter(what=Event.What.REVERTED).exists()
        urls = {"conversations_url": reverse("conversations", args=[found.owner])}
        context = {"proposal": found, "was_taken": was_taken, **urls}
        return render(request, "proposal/redact.html", context)
    return redirect("proposal", pk=pk)


@verb(page_of)
def comment(request: Request, pk: int) -> HttpResponse:
    """Save a comment, and answer with the thread or the page: with what was typed, where it is refused."""
    viewer, form, status = viewer_of(request), CommentForm(request.POST), 422
    found = proposal_or_404(pk, viewer)
    if form.is_valid():
        typed = form.cleaned_data
        try:
            services.comment(
                actor=viewer, proposal_id=pk, text=typed["said"], change=typed["change"], operation=typed["nonce"]
            )
        except ForbiddenCharacter as error:
            form.add_error("said", in_words(error))
        except Refusal as error:
            form.add_error("said", error.message)
            found, status = proposal_or_404(pk, viewer), error.status
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
