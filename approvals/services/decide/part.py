"""Approve some of a proposal's changes: of a block change by change, of an import note by note."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext as _

from approvals.models import Approval, Proposal, RejectReason, Revision, User
from approvals.permissions import ReviewAction
from approvals.review.note_changes import NoteChange, text_of
from approvals.review.targets import BlockState, NotesState
from approvals.review.whole_blocks import is_of_whole_block
from approvals.services.decide.approve import claim, naming_who_was_first
from approvals.services.decide.checks import (
    Seen,
    proposal_for,
    require_branch,
    require_fit,
    require_target_as_seen,
)
from approvals.services.errors import ChangesDiffer, NoLongerFits, NotesOutdated, NothingChosen
from memory_app.reads import Block
from memory_app.text import edits, worddiff

#: Reasons for leaving a part out. What is too private is rejected as a whole, which removes its texts.
REASONS = tuple(reason for reason in RejectReason if reason != RejectReason.TOO_PRIVATE)


class Rest(StrEnum):
    """What becomes of the changes that are not accepted."""

    REJECT = "reject"
    AGENT = "agent"


def approve_some(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    accepted: Collection[str],
    rest: Rest,
    reason: str = "",
    comment: str = "",
) -> Proposal:
    """Approve some changes of what was seen; with all of them accepted, approve it as it is.

    Args:
        revision, seen_sha256: as for `approve`.
        accepted: ids of hunks (`worddiff.hunks` of today's text and the result); of an import, ids of notes.
        rest: whether the others are rejected, or the agent is asked to propose them again, changed. It is told either
            with the decision, and may read them in the proposal.
        reason: one of `REASONS`, why the others are not accepted; may be empty where they go back.
        comment: for the agent and the history; may be empty.

    Returns:
        The approved proposal.

    Raises:
        NothingChosen: no change is accepted.
        ChangesDiffer: an id is none of this revision's.
        NotesOutdated: accepted notes are no longer as the agent saw them.
        ProposalNotFound, DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
        ValueError: an unknown reason; forms only offer known ones.
    """
    if reason not in REASONS and (reason or rest is Rest.REJECT):
        raise ValueError(f"unknown reason {reason!r}")
    proposal = proposal_for(ReviewAction.APPROVE_SOME, actor, proposal_id, revision)
    with naming_who_was_first(proposal, revision):
        seen = require_target_as_seen(proposal, seen_sha256)
        if not accepted:
            raise NothingChosen(proposal, _("Nothing is ticked. Tick what is right, or reject the whole proposal."))
        texts = (
            _some_of_block(proposal, seen, accepted)
            if isinstance(seen.target, BlockState)
            else _some_of_notes(proposal, seen, accepted)
        )
        if texts is not None:
            seen = _narrowed(proposal, seen, texts)
    if texts is None:
        return claim(proposal, Approval.AS_PROPOSED, actor=actor, seen=seen, comment=comment)
    return claim(
        proposal,
        Approval.PART,
        actor=actor,
        seen=seen,
        comment=comment,
        reason=reason,
        texts=texts,
        hands_rest_back=rest is Rest.AGENT,
    )


def _some_of_block(proposal: Proposal, seen: Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted changes; None if these are all."""
    if is_of_whole_block(proposal.current_revision):
        raise _changes_differ(proposal)
    require_fit(proposal, seen.assessment)
    require_branch(proposal, proposal.current_revision)
    block, whole = _block(seen), seen.assessment.result_text or ""
    try:
        text = worddiff.apply_some(block.body, whole, accepted)
    except worddiff.UnknownHunk as error:
        raise _changes_differ(proposal) from error
    if text == whole:
        return None
    if len(text) > block.limit:
        over = f"{len(text) - block.limit:,}"
        message = _("With only these changes, the text would be %(over)s characters over the block’s limit.")
        raise NoLongerFits(proposal, message % {"over": over})
    return {
        "base_sha256": block.sha256,
        "base_text": block.body,
        # Which changes these were cannot be told for certain from the texts alone.
        "edits": [{**edits.to_json([edits.Rewrite(text)])[0], "accepted": sorted(accepted)}],
        "result_text": text,
    }


def _some_of_notes(proposal: Proposal, seen: Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted notes; None if these are all, and all fit."""
    shown = proposal.current_revision
    chosen = set(accepted)
    kept = [change for change in shown.note_changes if change["id"] in chosen]
    if len(kept) != len(chosen):
        raise _changes_differ(proposal)
    if len(kept) == len(shown.note_changes) and seen.assessment.can_be_approved:
        require_branch(proposal, shown)
        return None
    assert isinstance(seen.target, NotesState)
    now = seen.target.notes
    outdated = [change["id"] for change in kept if now.get(change["id"], "") != _sha256(change["before"])]
    if outdated:
        raise NotesOutdated(proposal, outdated)
    changes = tuple(map(NoteChange.from_json, kept))
    return {
        "base_sha256": "",
        "base_text": text_of([change.before for change in changes]),
        "edits": [],
        "result_text": text_of([change.after for change in changes]),
        "note_changes": kept,
        "risk_report": shown.risk_report,
    }


def _narrowed(proposal: Proposal, seen: Seen, texts: dict[str, Any]) -> Seen:
    """Return the state of the part alone, which the merge compares again, and how the part stands to it."""
    part = Revision(proposal=proposal, **texts)
    target = seen.target.of(part)
    assessment = target.assess(part)
    require_fit(proposal, assessment)
    return replace(seen, target=target, assessment=assessment)


def _block(seen: Seen) -> Block:
    block = seen.target.block if isinstance(seen.target, BlockState) else None
    assert block is not None, "a change that fits has a block"
    return block


def _sha256(note: dict[str, Any] | None) -> str:
    return note["sha256"] if note else ""


def _changes_differ(proposal: Proposal) -> ChangesDiffer:
    return ChangesDiffer(proposal, _("What is ticked are not the changes of this proposal as it is now."))
