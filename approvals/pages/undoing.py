"""The page that says what undoing would do, before it is done."""

from typing import Any

import structlog

from approvals.models import TAKEN, Proposal, User
from approvals.pages.blocks import history_entries
from approvals.permissions import may_edit
from approvals.review.diff_mode import Redline, laid_out
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services.undo import why_not
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import worddiff

log = structlog.get_logger(__name__)

#: Notes of an import that the page lists; the others are counted.
MOST_NOTES = 50


def undoing(proposal: Proposal, viewer: User) -> dict[str, Any]:
    """Return what the page shows of undoing the decision about `proposal` now.

    Of a rejection or an expiry only that it `is_reopening`: no memory changes. Where the memory did not answer, only
    that: it is not `is_readable`. Else the `plan`, `why_not` in a sentence if it cannot be done, the first of its
    `notes` word by word, and what changed the target since.
    """
    if proposal.status not in TAKEN:
        return {"is_reopening": True, "is_readable": True}
    try:
        plan = plan_undo(proposal)
    except DoltError:
        log.exception("undo_not_planned", proposal=proposal.pk)
        return {"is_readable": False}
    later = history_entries(plan.later)
    return {
        "is_readable": True,
        "plan": plan,
        "why_not": "" if plan.can_be_done else why_not(plan),
        "change": _change(plan),
        "notes": _notes(plan),
        "more_notes": max(0, len(plan.notes) - MOST_NOTES),
        "left": plan.left[:MOST_NOTES],
        "more_left": max(0, len(plan.left) - MOST_NOTES),
        "later": later,
        "blocked_by": next((entry for entry in later if entry.change is plan.blocked_by), None),
        "may_edit": may_edit(viewer, proposal.owner) and proposal.target_kind != TargetKind.IMPORT,
    }


def can_be_undone_at_once(proposal: Proposal) -> bool:
    """Whether undoing needs no look at what changed since, because nothing did."""
    if proposal.status not in TAKEN:
        return True
    try:
        return plan_undo(proposal).is_exact
    except DoltError:
        return False  # the page says what is wrong


def _change(plan: UndoPlan) -> Redline | None:
    """Return the change of the block's text; where it cannot be made, what the decision had changed."""
    if plan.proposal.target_kind != TargetKind.BLOCK:
        return None
    if plan.can_be_done:
        return laid_out(plan.before_text, plan.after_text)
    revision = plan.proposal.current_revision
    return laid_out(revision.base_text, revision.result_text)


def _notes(plan: UndoPlan) -> list[tuple[worddiff.Segment, ...]]:
    """Return the first notes as they are and as they would be, word by word."""
    first = plan.notes[:MOST_NOTES]
    now = reads.find_notes(plan.proposal.owner, [id_ for id_, _back in first])
    return [worddiff.diff(now[id_].content if id_ in now else "", back.content if back else "") for id_, back in first]
