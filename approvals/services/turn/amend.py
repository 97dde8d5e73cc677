"""An agent amends its undecided proposal about a block: the edits, on today's text, become the next revision."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from approvals.models import Agent, Kind, Proposal, Revision
from approvals.review.summary import summarise
from approvals.review.whole_blocks import is_of_whole_block
from approvals.risks import flags
from approvals.services.errors import BlockReadOnly
from approvals.services.preparing import finish_once, finish_preparing
from approvals.services.propose import Proposed, apply_edits, as_asked, outcome_of
from approvals.services.turn import next_revision
from approvals.services.turn.refusals import NothingAmended
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.text import edits as text_edits


def amend(
    *,
    agent: Agent,
    owner: str,
    proposal_id: int,
    label: str,
    edits: Sequence[text_edits.Edit],
    kind: Kind,
    reasoning: str,
    confidence: str = "medium",
    session_id: str = "",
    evidence: Sequence[dict[str, Any]] = (),
    expected_sha256: str | None = None,
    operation: str | None = None,
    may_read: bool = True,
) -> Proposed:
    """Ask for something else in an undecided proposal: its next revision. It does not count against the caps.

    Args:
        proposal_id: the proposal, of this agent, for this owner and this block.
        edits: on the block's text as it is now, not on that of the revision before.
        session_id, evidence: empty leaves the proposal's as they are.
        operation: 32 hexadecimal digits; a call with the same one returns the same revision.
        may_read: whether the agent may read the block. If not, revisions with the same edits are equal.

    Raises:
        ProposalNotFound: there is none, or it is another agent's or owner's.
        AlreadyDecided, BeingDecided, BeingMade: it was decided, or is being decided, prepared or amended.
        OtherTarget, TooManyRevisions: see `errors`.
        NothingAmended: it asks for exactly this already, on the current text, and no other evidence is given.
        BlockNotFound, EditError, BlockReadOnly, PreconditionFailed, NoChange, OverLimit: as for `propose`.
    """
    proposal = next_revision.own_proposal(agent, owner, proposal_id)
    if done := next_revision.made_before(proposal, operation, partial(_finished, is_resumed=True)):
        return outcome_of(done, created=True, amended=True)
    proposal = next_revision.require_amendable(proposal, _finished)
    next_revision.require_target(proposal, TargetKind.BLOCK, label)
    base = reads.snapshot(owner, label)
    if base.block.read_only:
        raise BlockReadOnly(f"Block '{label}' is read-only.")
    applied = apply_edits(base.block, edits, expected_sha256)
    former = proposal.current_revision
    is_same = _is_same(former, base.block, applied, edits, may_read=may_read)
    if is_same and list(evidence) in ([], proposal.evidence):
        raise NothingAmended(proposal)
    said = {"reasoning": reasoning, "confidence": confidence, "session_id": session_id, "evidence": list(evidence)}
    _begin(proposal, base, applied, kind, said, operation)
    proposal = finish_once(proposal, partial(finish_preparing, base=base.block), is_mine=True)
    next_revision.drop_former_branch(proposal, former)
    return outcome_of(proposal, created=True, amended=True, block=base.block)


def _begin(
    proposal: Proposal,
    base: reads.Snapshot,
    applied: text_edits.Applied,
    kind: Kind,
    said: dict[str, Any],
    operation: str | None,
) -> None:
    block = base.block
    spoken = flags.said_with(said["reasoning"], said["evidence"] or proposal.evidence)
    summary = summarise(block.body, applied.text, said=spoken)
    next_revision.begin(
        proposal,
        operation=operation,
        said=said,
        values={
            "kind": kind,
            "target_title": block.display_title,
            "search_words": summary.search_words(said["reasoning"], block.label, block.display_title),
            "result_sha256": text_edits.sha256_of(applied.text),
            **summary.fields,
        },
        base_commit=base.commit,
        base_sha256=block.sha256,
        base_text=block.body,
        edits=text_edits.to_json(applied.edits),
        result_text=applied.text,
    )


def _is_same(
    former: Revision,
    block: reads.Block,
    applied: text_edits.Applied,
    edits: Sequence[text_edits.Edit],
    *,
    may_read: bool,
) -> bool:
    """Whether a revision asks for this already, on the block as it is now."""
    if former.base_sha256 != block.sha256 or is_of_whole_block(former):
        return False
    if may_read:
        return former.result_text == applied.text
    # Another edit with the same result would reveal that it fits.
    return _asked(text_edits.from_json(former.edits)) == _asked(edits)


def _finished(proposal: Proposal, *, is_resumed: bool = False) -> Proposal:
    return finish_once(proposal, finish_preparing, is_mine=False, is_resumed=is_resumed)


def _asked(edits: Sequence[text_edits.Edit]) -> list[dict[str, Any]]:
    return text_edits.to_json(map(as_asked, edits))
