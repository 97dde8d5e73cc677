"""The page that says what undoing would do, before it is done."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import structlog

from approvals.models import TAKEN, Proposal, User
from approvals.pages.blocks import HistoryEntry, history_entries
from approvals.permissions import may_edit
from approvals.review.diff_mode import Redline, laid_out
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services.undo import why_not
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import worddiff
from memory_app.text.worddiff import Segment

log = structlog.get_logger(__name__)

#: Notes of an import that the page lists; the others are counted.
MOST_NOTES = 50


@dataclass(frozen=True)
class UndonePassage:
    """A note as it is and as it would be, word by word."""

    id: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class Undoing:
    """What the page needs.

    Args:
        is_reopening: it was rejected or expired: no memory changes.
        is_readable: false when the memory did not answer, so that nothing is known.
        why_not: why it cannot be undone, in a sentence; empty when it can.
        change: of a block, what would change in its text.
        notes: of notes, the first of those that would change; `more_notes` counts the others.
        later: what changed the target since, the newest first.
        left: ids of the notes that changed since and stay; at most `MOST_NOTES`, `left_count` counts them all.
        blocked_by: the later change that touches the same text.
        may_edit: this viewer may change the block or the note by hand.
        deletes_changed: it deletes a block that was made by the decision and changed since.
    """

    is_reopening: bool
    is_readable: bool = True
    is_exact: bool = False
    seen_sha256: str = ""
    why_not: str = ""
    change: Redline | None = None
    notes: tuple[UndonePassage, ...] = ()
    note_count: int = 0
    later: tuple[HistoryEntry, ...] = ()
    left: tuple[str, ...] = ()
    left_count: int = 0
    blocked_by: HistoryEntry | None = None
    may_edit: bool = False
    deletes_changed: bool = False

    @property
    def more_notes(self) -> int:
        return self.note_count - len(self.notes)

    @property
    def more_left(self) -> int:
        return self.left_count - len(self.left)


def undoing(proposal: Proposal, viewer: User) -> Undoing:
    """Return what undoing the decision about `proposal` would do now."""
    if proposal.status not in TAKEN:
        return Undoing(is_reopening=True)
    try:
        plan = plan_undo(proposal)
    except DoltError:
        log.exception("undo_not_planned", proposal=proposal.pk)
        return Undoing(is_reopening=False, is_readable=False)
    entries = history_entries(plan.later)
    blocked = next((entry for entry in entries if entry.change is plan.blocked_by), None)
    return Undoing(
        is_reopening=False,
        is_exact=plan.is_exact,
        deletes_changed=plan.deletes_changed,
        seen_sha256=plan.seen_sha256,
        why_not="" if plan.can_be_done else why_not(plan),
        change=_change(plan),
        notes=_passages(proposal, plan.notes[:MOST_NOTES]),
        note_count=len(plan.notes),
        later=entries,
        left=plan.left[:MOST_NOTES],
        left_count=len(plan.left),
        blocked_by=blocked,
        may_edit=may_edit(viewer, proposal.owner) and proposal.target_kind != TargetKind.IMPORT,
    )


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
    revision = plan.proposal.current_revision
    before, after = (
        (plan.before_text, plan.after_text) if plan.can_be_done else (revision.base_text, revision.result_text)
    )
    return laid_out(before, after)


def _passages(proposal: Proposal, notes: Sequence[tuple[str, reads.Note | None]]) -> tuple[UndonePassage, ...]:
    now = reads.find_notes(proposal.owner, [id_ for id_, _back in notes])
    passages = []
    for id_, back in notes:
        texts = now[id_].content if id_ in now else "", back.content if back else ""
        passages.append(UndonePassage(id_, tuple(worddiff.diff(*texts))))
    return tuple(passages)
