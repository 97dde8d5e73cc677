"""The changes of a proposal that can be approved one by one."""

from __future__ import annotations

from approvals.models import Proposal
from approvals.review.targets import BlockState, current_state
from memory_app.models import TargetKind
from memory_app.text import worddiff


def ids_of_changes(proposal: Proposal) -> tuple[str, ...]:
    """Return the ids of an open proposal's changes as they are now: of notes, or of hunks against today's text."""
    revision = proposal.current_revision
    if proposal.target_kind != TargetKind.BLOCK:
        return tuple(change["id"] for change in revision.note_changes)
    target = current_state(proposal, revision)
    assessment = target.assess(revision)
    if not isinstance(target, BlockState) or target.block is None or assessment.result_text is None:
        return ()
    return tuple(hunk.id for hunk in worddiff.hunks(target.block.body, assessment.result_text))
