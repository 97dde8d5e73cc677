"""What a person is told of what went wrong: pages of their own for errors, a panel where part of a page was asked for,
and notices about a decision that could not be carried out, with what changed."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import structlog
from django.core.exceptions import RequestDataTooBig
from django.http import HttpRequest, HttpResponse, UnreadablePostError
from django.shortcuts import render
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from approvals.models import Kind, Proposal, Revision, Status, User
from approvals.review.diff_mode import Redline, redline
from approvals.review.targets import assess, replacement_ids
from approvals.services.errors import AlreadyDecided, BeingDecided, DecisionRefused, TargetChanged, WithAgent
from memory_app import reads
from memory_app.configuration.logs import route_of
from memory_app.dolt.errors import DoltError, MemoryMoving
from memory_app.models import Change, TargetKind
from memory_app.runtime.unavailable import is_away
from memory_app.text import worddiff

log = structlog.get_logger(__name__)


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    # Django reports a body over its limit as a bad request, and a timeout away from the form it belongs to.
    return _answer(request, 413 if isinstance(exception, RequestDataTooBig) else 400)


def permission_denied(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, 403)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return _answer(request, 404)


def not_allowed(request: HttpRequest, allowed: str) -> HttpResponse:
    """Return a page for an address that only forms are sent to: Django would answer with nothing at all.

    Args:
        allowed: the methods it takes, as the header names them.
    """
    response = _answer(request, 405)
    response["Allow"] = allowed
    return response


def server_error(request: HttpRequest) -> HttpResponse:
    # Django's own middleware loads and saves sessions outside of what any middleware of ours could catch.
    error = sys.exc_info()[1]
    if is_away(error):
        return away(request, error)
    # Without the request: what broke may well be what its context needs.
    return render(None, "500.html", status=500)


def away(request: HttpRequest, error: BaseException | None) -> HttpResponse:
    """Log what did not answer, and say so."""
    log.error("database_away", error=type(error).__name__, route=route_of(request), exc_info=error)
    return unavailable(request, is_moving=isinstance(error, MemoryMoving))


def unavailable(request: HttpRequest, *, is_moving: bool = False) -> HttpResponse:
    """Return the page for a database that does not answer, without the request, whose context reads one of them."""
    name = "components/error_part.html" if getattr(request, "htmx", False) else "503.html"
    response = render(None, name, {"error": "503", "is_moving": is_moving}, status=503)
    response["Retry-After"] = "10"
    return response


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a form whose secret did not match, mostly after signing out in another tab. It shows what was
    typed, to be copied."""
    try:
        typed = [value for name in ("comment", "said", "body") if (value := request.POST.get(name, "").strip())]
    except UnreadablePostError:  # the form never arrived in full
        typed = []
    return _answer(request, 403, "403_csrf", typed=typed)


def _answer(request: HttpRequest, status: int, name: str = "", **context: object) -> HttpResponse:
    name = name or str(status)
    template = "components/error_part.html" if getattr(request, "htmx", False) else f"{name}.html"
    try:
        return render(request, template, {"error": name, **context}, status=status)
    except Exception as error:
        if not is_away(error):
            raise
        return away(request, error)


#: Changes a person made themselves that are recognised as theirs; each costs a read of the block as it was.
MOST_OWN = 5


@dataclass(frozen=True)
class Panel:
    """A notice above the page.

    Args:
        since: how the target's text differs from the one the decision named; None when that is not known
            or it does not.
        changed_by: the ledger's row of the target's last change.
    """

    title: str
    message: str
    since: Redline | None = None
    changed_by: Change | None = None


#: The title of the notice about a refusal, by its code, and the message where it is not the refusal's own.
_NOTICES: dict[str, tuple[Any, Any]] = {
    "already_applied": (_("This is already in the memory."), _("There is nothing left to approve.")),
    "not_allowed": (_("You can’t decide this one."), _("You don’t have permission to decide about this memory.")),
    "new_revision": (_("There is a newer revision."), None),
    "conflict": (_("The change no longer fits."), None),
    "branch_missing": (_("The proposed text cannot be merged."), None),
    "has_warnings": (_("Nothing was approved yet."), None),
    "nothing_approved": (_("Nothing was approved."), None),
}


def panel_for(error: DecisionRefused | DoltError, decision: Mapping[str, Any], viewer: User) -> Panel:
    """Return the notice for `error`.

    Args:
        decision: the cleaned fields of the form; the state it was made against is compared with today's.
        viewer: who decided; what they changed themselves is not reported as another's change.
    """
    match error:
        case TargetChanged():
            return _target_changed(error, decision.get("seen_sha256", ""), viewer)
        case AlreadyDecided():
            return _already_decided(error, viewer)
        case BeingDecided(proposal=proposal):
            title = gettext("Somebody is deciding right now.")
            if proposal.is_being_amended:
                title = gettext("%(agent)s is changing this proposal right now.") % {"agent": proposal.agent.name}
            return Panel(title, gettext("This proposal is being processed. Look at it again in a few seconds."))
        case WithAgent():
            return Panel(error.message, gettext("Your decision was not saved. Decide again if you still want to."))
        case DecisionRefused():
            title, message = _NOTICES.get(error.code, (_("Your decision was not saved."), None))
            return Panel(str(title), str(message or error))
    message = _("If your decision had begun, it will finish by itself once the memory is back. Look again in a minute.")
    return Panel(gettext("The memory did not answer."), str(message))


def _already_decided(error: AlreadyDecided, viewer: User) -> Panel:
    decided = error.proposal
    if decided.decided_by_id == viewer.pk:
        own = {
            Status.APPROVED: gettext("You approved this already, in another window."),
            Status.REJECTED: gettext("You rejected this already, in another window."),
        }
        title = own.get(Status(decided.status), gettext("You decided this already, in another window."))
        return Panel(title, gettext("Nothing more was saved."))
    if decided.was_already_applied and not decided.decided_by:
        return Panel(gettext("Already decided."), gettext("It was already in the memory, so it has been closed."))
    outcomes = {
        Status.APPROVED: gettext("%(who)s approved this."),
        Status.REJECTED: gettext("%(who)s rejected this."),
        Status.WITHDRAWN: gettext("%(who)s withdrew this."),
    }
    said = outcomes.get(Status(decided.status))
    who = decided.decided_by.display_name if decided.decided_by else decided.agent.name
    return Panel(gettext("Already decided."), said % {"who": who} if said else error.message)


def _target_changed(error: TargetChanged, seen_sha256: str, viewer: User) -> Panel:
    proposal, block = error.proposal, error.block
    last = reads.history(proposal.owner, proposal.target_kind, proposal.target, limit=MOST_OWN + 1)
    changed_by, since = last[0] if last else None, None
    message = gettext("Your decision was not saved. Below is the proposal against the current text.")
    if proposal.target_kind != TargetKind.BLOCK:
        title = gettext("The note changed since you opened this page.")
        if replacement_ids(proposal.current_revision):
            title = gettext("The note, or the one in its place, changed since you opened this page.")
            # Which of them it was is not known here; the last change would be named for the wrong one.
            changed_by = None
        message = gettext("Your decision was not saved. Below is the proposal as it is now.")
    elif proposal.kind == Kind.DELETE_BLOCK and block is None:
        title, message = gettext("The block was deleted already."), gettext("Nothing is left to delete.")
    elif proposal.kind == Kind.CREATE_BLOCK and block is not None:
        title = gettext("A block with this label was created since you opened this page.")
        message = gettext("Your decision was not saved, and that block is as it was.")
    elif proposal.kind == Kind.CREATE_BLOCK:
        title = gettext("The block with this label was deleted since you opened this page.")
        message = gettext("Your decision was not saved. The proposal can be approved now.")
    elif block is None:
        title = gettext("The block was deleted.")
        message = gettext("Your decision was not saved. The proposal can only be rejected now.")
    elif _is_own(last, viewer, seen_sha256):
        return _own_change(proposal, block, last[0])
    else:
        title = gettext("The block changed since you opened this page.")
        seen = Revision.objects.filter(proposal=proposal, base_sha256=seen_sha256).first()
        if seen and seen.base_text == block.body:
            message = gettext("Only its title or settings changed. Decide again if that’s fine.")
        elif seen:
            since = redline(worddiff.diff(seen.base_text, block.body))
    return Panel(title, message, since, changed_by)


def _is_own(changes: Sequence[Change], viewer: User, seen_sha256: str) -> bool:
    """Whether only this person changed a block since it was seen, by the last rows of the ledger.

    Then an unbroken run of their changes leads from the block as it was seen to the block as it is now.
    """
    for change, before in pairwise(changes):
        if change.actor != viewer.username:
            return False
        try:
            if reads.block_at(change.owner, change.target, before.commit).sha256 == seen_sha256:
                return True
        except (reads.BlockNotFound, reads.RevisionNotFound):
            return False
    return False


def _own_change(proposal: Proposal, block: reads.Block, change: Change) -> Panel:
    fits, approved = assess(proposal.current_revision, block).can_be_approved, change.action == Change.Action.APPROVED
    titles = {
        (True, True): gettext("You approved another change to this block a moment ago; this one still fits."),
        (True, False): gettext("You approved another change to this block a moment ago; this one no longer fits."),
        (False, True): gettext("You changed this block a moment ago; the proposal still fits."),
        (False, False): gettext("You changed this block a moment ago; the proposal no longer fits."),
    }
    message = gettext("Your decision was not saved.")
    if fits:
        message = gettext("It is shown against the current text. Decide again.")
    return Panel(titles[approved, fits], message)
