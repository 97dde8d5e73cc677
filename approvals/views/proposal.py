"""The page of one proposal."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

import structlog
from django.db import DatabaseError
from django.http import Http404, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals import audit, services
from approvals.accounts.sign_in import display_names, kept_fields, viewer_of
from approvals.forms.proposal import ApproveForm, ApproveSomeForm, CommentForm, RejectForm, RequestChangesForm, Ticks
from approvals.markdown.rendering import on_one_line
from approvals.models import Event, Proposal, Revision, User
from approvals.pages import inbox
from approvals.pages.blocks import can_be_undone_at_once, url_of_target
from approvals.pages.inbox_filters import Listing, Tab
from approvals.permissions import ReviewAction, deciders_of, is_open_for_talk, may_decide, readable_people
from approvals.review.diff_mode import DiffMode, change_map, change_shown
from approvals.review.presentation import Review, hunks_of, review_of
from approvals.review.summary import risk_title
from approvals.review.turn import answering, change_request, compare_revisions
from approvals.risks import flags
from approvals.services.errors import ProposalNotFound
from approvals.views.panels import Panel
from approvals.views.request import Request, chosen, is_read, keep, reading_page, whole_number
from memory_app.models import TargetKind
from memory_app.text.lines import first_words

log = structlog.get_logger(__name__)

#: For so long a decision is undone in one press.
JUST_DECIDED = timedelta(hours=1)


@reading_page
def proposal(request: Request, pk: int) -> HttpResponse:
    """Show the page; for the switch between views of the change, only the change."""
    found = proposal_or_404(pk, viewer_of(request))
    kept = kept_fields(request)
    if kept:
        response = _page_with_form_kept(request, found, kept)
    else:
        response = proposal_page(request, found, seen_before=_seen_before(request, found))
    if request.GET.get("view") in set(DiffMode):
        keep(response, "view", request.GET["view"])
    return response


def _page_with_form_kept(request: Request, found: Proposal, kept: dict[str, str]) -> HttpResponse:
    """Return the page with a form that was sent while signed out, as typed; not checked yet, so without errors."""
    typed: dict[str, Any]
    if {"said", "to"} & kept.keys():
        text = _("Nothing was saved while you were signed out. What you typed is still here.")
        typed = {"comment_form": CommentForm(initial=kept)}
    else:
        text = _("Nothing was decided while you were signed out. Your text is still here.")
        initial = {name: kept.get(name, "") for name in ("comment", "reason", "rest", "rest_reason")}
        is_rejection = "reason" in kept or not kept.get("seen_sha256")
        form = ApproveForm if "back" in kept else RejectForm if is_rejection else ApproveSomeForm
        form = RequestChangesForm if "asks" in kept else form
        typed = {"form": form(initial=initial), "ticks": Ticks.of(kept)}
    panel = Panel(_("Welcome back."), text)
    return proposal_page(request, found, panel=panel, list_query=kept.get("list", ""), **typed)


def proposal_or_404(pk: int, viewer: User) -> Proposal:
    """Return a proposal this person may see.

    Raises:
        Http404: there is none for them.
    """
    try:
        found = services.find_proposal(pk, viewer)
    except (ProposalNotFound, OverflowError):
        raise Http404 from None
    audit.opened(found.owner, "proposals")
    return found


def listing_of(request: Request, kept: str = "") -> Listing:
    """Return the list a proposal was opened from: in the form, in the address, or kept while signed out."""
    return Listing.parse(request.POST.get("list") or request.GET.get("list") or kept)


def proposal_page(
    request: Request,
    found: Proposal,
    *,
    status: int = 200,
    panel: Panel | None = None,
    form: ApproveForm | None = None,
    just_decided: bool = False,
    list_query: str = "",
    seen_before: int = 0,
    ticks: Ticks | None = None,
    comment_form: CommentForm | None = None,
    warnings: Sequence[flags.Risk] = (),
    **shown: Any,
) -> HttpResponse:
    """Render the page, its body, or its change: what the request asked for.

    Args:
        comment_form: the form of the thread as it was refused, or sent while signed out.
        form: what was typed into the form of one decision.
        ticks: which changes are ticked; as they were sent by default.
        shown: what the templates show beside: `own`, a text of the reviewer's own in the place of the change (see
            `views.approving`); `typed`, one that has no form any more, to copy.
        list_query: the list it was opened from, where neither form nor address has it.
        seen_before: the newest revision the viewer had seen before this one; 0 for none.
        warnings: what the next press approves despite; a part may have others than the whole.
    """
    listing = listing_of(request, list_query)
    review = _review(request, found, warnings)
    context = _context_of_change(request, review, listing, ticks or Ticks.sent(request.POST))
    if request.htmx and request.htmx.target == "change":
        if found.is_redacted and not found.is_approved_in_part:
            # Since the page was loaded: there is no change to show in another view.
            return HttpResponse(status=204, headers={"HX-Refresh": "true"})
        template = "proposal/notes.html" if review.note_count else "proposal/change.html"
        return render(request, template, context | {"is_part": True}, status=status)
    context |= {
        **_neighbours(request, review, listing),
        **_forms(request, found, form),
        **talk_context(review, comment_form),
        "conflicts": [each.other.pk for each in review.collisions if each.is_conflict],
        "listing": listing,
        "list_query": listing.query,
        "title": _title(review),
        "target_url": url_of_target(found),
        "panel": panel,
        "is_confirming": bool(warnings),
        "asked": change_request(found),
        "since": _since(request, review, seen_before),
        "is_since_seen": bool(seen_before),
        "answering": answering(found, review.revision),
        "just_decided": just_decided,
        "undone": next((each for each in review.events if each.data.get("commit") == found.reverted_by_commit), None),
        "undo_at_once": ReviewAction.UNDO in review.actions and (just_decided or _may_undo_at_once(found)),
    }
    template = "proposal/body.html" if request.htmx else "proposal/proposal.html"
    return render(request, template, context | shown, status=status)


def _forms(request: Request, found: Proposal, form: ApproveForm | None) -> dict[str, Any]:
    """Return the form that was sent by the name of its decision, and what the forms offer: also to whom the viewer may
    assign the proposal."""
    may_care = not found.is_decided and may_decide(viewer_of(request), found.owner)
    return {
        "may_care": may_care,
        "deciders": deciders_of(found.owner) if may_care else [],
        "reject_form": form if isinstance(form, RejectForm) else None,
        "request_form": form if isinstance(form, RequestChangesForm) else None,
        "approve_form": None if isinstance(form, RejectForm | RequestChangesForm) else form,
        "rest_reasons": [(reason.value, reason.label) for reason in services.REASONS_FOR_REST],
        "typed_comment": request.POST.get("comment", "").strip(),
    }


def _review(request: Request, found: Proposal, warnings: Sequence[flags.Risk]) -> Review:
    revision, page = request.GET.get("revision", ""), request.GET.get("page", "")
    try:
        of = review_of(found, viewer_of(request), revision=whole_number(revision), note_page=whole_number(page) or 1)
        return replace(of, report=replace(of.report, risks=tuple(warnings) or of.report.risks))
    except (Revision.DoesNotExist, OverflowError):
        raise Http404 from None


def _seen_before(request: Request, found: Proposal) -> int:
    """Note that the viewer looks at the current revision. Return the newest one they had seen, if it is an earlier one.

    Not for what browsers load ahead, for a part of the page and for an older revision. Reading never fails by it.
    """
    is_whole = not request.htmx and not {"revision", "since"} & set(request.GET)
    if not is_whole or not is_read(request) or found.is_decided:
        return 0
    try:
        before = services.mark_seen(actor=viewer_of(request), proposal=found)
    except DatabaseError:
        log.exception("not_marked_as_seen", proposal=found.pk)
        return 0
    return before if before < found.current_revision_number else 0


def _since(request: Request, review: Review, seen_before: int) -> dict[str, Any] | None:
    """Return what changed since the revision that is asked for, or that the viewer had seen."""
    asked = request.GET.get("since", "")
    number = whole_number(asked) if asked else seen_before
    if not number or number == review.revision.number or review.proposal.is_redacted:
        return None
    try:
        return compare_revisions(review.proposal, number, review.revision)
    except (Revision.DoesNotExist, OverflowError):
        raise Http404 from None


def _context_of_change(request: Request, review: Review, listing: Listing, ticks: Ticks) -> dict[str, Any]:
    """Return what the change alone needs. A decision answers with the page, wherever its form was sent from: links
    lead to the page's own address, with the list."""
    page_query = request.GET.copy()
    if listing.query:
        page_query["list"] = listing.query
    # Notes are drawn one by one.
    view = DiffMode.INLINE if review.deletes_block and view_of(request) is DiffMode.RESULT else view_of(request)
    change = None if review.note_count else change_shown(review, view, unfolded="unfolded" in request.GET)
    return {
        "boxes": _boxes(request, review, ticks),
        "review": review,
        "proposal": review.proposal,
        "change": change,
        "marks": change_map(change["redline"].passages) if change and "redline" in change else (),
        "page_url": reverse("proposal", args=[review.proposal.pk]),
        "page_query": page_query,
    }


def _boxes(request: Request, review: Review, ticks: Ticks) -> dict[str, Any] | None:
    """Return the boxes to tick the changes one by one, of which the `outdated` cannot be ticked; None where that cannot
    be done."""
    if ReviewAction.APPROVE_SOME not in review.actions:
        return None
    ticks = ticks.moved(request.POST.getlist("shown"), review.ids).without(review.outdated)
    total, count = len(review.ids), sum(map(ticks.is_on, review.ids))
    boxes = {"ids": review.ids, "outdated": review.outdated, "ticks": ticks}
    return boxes | {"total": total, "count": count, "left": total - count}


def _neighbours(request: Request, review: Review, listing: Listing) -> dict[str, Any]:
    """Return the place in the list, the next proposal, and what the people on the page are called."""
    user, found = viewer_of(request), review.proposal
    following = None
    if found.is_decided or found.is_with_agent:
        request.waiting = inbox.waiting_for(user)  # for the navigation
        following = inbox.next_for(user, found, listing) if request.waiting else None
    has_place = not found.is_decided or listing.tab is Tab.DECIDED
    people = {found.owner, *(event.actor for event in review.events if event.actor_kind == Event.ActorKind.PERSON)}
    people |= {event.data.get("to", "") for event in review.events if event.what == Event.What.ASSIGNED}
    people |= {following.owner} if following else set()
    known = {user.username: user.display_name} | (readable_people(user) or {})
    names = known | display_names(people - known.keys())
    return {
        "place": inbox.place_of(user, found, listing) if has_place else None,
        "next_proposal": following,
        "names": names,
        "owner_name": names.get(found.owner, found.owner),
        "is_own": found.owner == user.username,
    }


def _may_undo_at_once(found: Proposal) -> bool:
    """Whether one press undoes: what was decided a while ago is looked at first, and a reason can be given."""
    is_young = found.decided_at is not None and timezone.now() - found.decided_at < JUST_DECIDED
    return is_young and can_be_undone_at_once(found)


def _title(review: Review) -> str:
    """Return what a proposal is about: of a single note its text, or what the text of a new one would be, in full."""
    if review.proposal.target_kind == TargetKind.NOTE and review.notes:
        note = review.notes[0].before or review.notes[0].after
        if note:
            return note.content
    return review.proposal.target_title


def view_of(request: Request) -> DiffMode:
    """Return how the change is shown: as asked for, else as it was last asked for in this browser."""
    wanted = request.GET.get("view", "")
    return DiffMode((wanted if wanted in set(DiffMode) else chosen(request, "view", set(DiffMode))) or DiffMode.INLINE)


#: Changes offered to comment on one by one; with more, a comment says which it means.
MOST_CHANGES = 60
#: Flags of an agent's comment that people are told: it may be written to lead them or a model astray.
_FLAGS = ("hidden_characters", "mixed_scripts", "reads_like_instructions")


def talk_context(review: Review, form: CommentForm | None = None) -> dict[str, Any]:
    """Return what the thread's template needs.

    Args:
        form: the form of the thread as it was refused, or sent while signed out.
    """
    options = _options(review)
    by_id = {option["id"]: option for option in options}
    comments = [each for each in review.events if each.what == Event.What.COMMENTED and each.text]
    names = display_names(each.actor for each in comments if each.actor_kind == Event.ActorKind.PERSON)
    shown = [_shown(each, names, by_id) for each in comments]
    return {
        "review": review,
        "proposal": review.proposal,
        "comments": shown,
        "comments_at": dict(Counter(each["about"]["number"] for each in shown if each["about"])),
        "change_ids": {option["number"]: option["id"] for option in options},
        "talk_changes": options if len(options) > 1 else [],
        "talk_open": is_open_for_talk(review.proposal),
        "talk_form": form or CommentForm(),
    }


def _shown(event: Event, names: Mapping[str, str], options: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a comment as the page draws it: by whom, about which change if that is still there, and warnings."""
    change = event.data.get("change", "")
    by_agent = event.actor_kind == Event.ActorKind.AGENT
    found = {risk.key for risk in flags.report("", event.text).risks} if by_agent else set()
    return {
        "event": event,
        "who": names.get(event.actor, event.actor),
        "about": options.get(change),
        "about_gone": bool(change) and change not in options,
        "warnings": [risk_title(key) for key in _FLAGS if key in found],
    }


def _options(review: Review) -> list[dict[str, Any]]:
    """Return the changes one can comment on: the id of each, its number on the page, and its words."""
    if review.proposal.target_kind == TargetKind.BLOCK:
        hunks = hunks_of(review.segments)[:MOST_CHANGES]
        starts = [(hunk.id, (hunk.after or hunk.before)[:1_000]) for hunk in hunks]
        # Without the marks of Markdown, unless it consists of marks.
        found = [(id_, on_one_line(start) or start) for id_, start in starts]
    else:
        notes = [(note.id, note.after or note.before) for note in review.notes[:MOST_CHANGES]]
        found = [(id_, note.content if note else "") for id_, note in notes]
    numbered = enumerate(found, start=review.page.start_index() if review.notes else 1)
    return [{"id": id_, "number": number, "words": first_words(text, 60)} for number, (id_, text) in numbered]
