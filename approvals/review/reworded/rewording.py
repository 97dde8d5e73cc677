"""The texts that a person rewords an open proposal from: as they are now, as proposed, and what both began with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from approvals.models import Kind, Mergeability, Proposal, Revision
from approvals.review.targets import BlockState, current_state
from approvals.review.whole_blocks import NewBlock, is_deletion, new_block_of
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.text import notes, worddiff
from memory_app.text.merge import Conflict, Conflicted, merge


class NothingToReword(Exception):
    """The target is gone, or the proposal has no text of its own."""


@dataclass(frozen=True)
class Rewording:
    """One text to reword.

    Args:
        seen_sha256: of the target, as a decision names it.
        base: the text that the agent made its change on.
        now: the text as it is; empty for a new note.
        proposed: what the agent's change makes of it now; where it does not fit, the text as it was proposed.
        limit: characters the text may have.
        is_conflict: the change does not fit the text as it is now.
        over_limit: characters by which the proposed text would be too long, for a conflict.
        new_block: what a new block has beside its text; None for every other text.
    """

    proposal: Proposal
    revision: Revision
    seen_sha256: str
    base: str
    now: str
    proposed: str
    limit: int
    is_conflict: bool
    over_limit: int = 0
    new_block: NewBlock | None = None

    @cached_property
    def merged(self) -> str | Conflicted:
        """Return the text as it is now with the agent's change, as far as the two do not contradict each other."""
        return merge(self.base, self.now, self.revision.result_text)

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        """Return the places that both changed."""
        return self.merged.conflicts if self.is_conflict and isinstance(self.merged, Conflicted) else ()

    def settled(self, chosen: Sequence[str]) -> str:
        """Return the text with one chosen text for each conflict."""
        return self.merged.resolved(chosen) if isinstance(self.merged, Conflicted) else self.merged

    @property
    def is_of_note(self) -> bool:
        return self.proposal.target_kind != TargetKind.BLOCK

    def segments(self, text: str) -> tuple[worddiff.Segment, ...]:
        """Return what `text` changes in the text as it is now."""
        return worddiff.diff(self.now, text)

    def own_segments(self, text: str) -> tuple[worddiff.Segment, ...]:
        """Return what `text` changes in the agent's."""
        return worddiff.diff(self.proposed, text)


def rewording_of(proposal: Proposal) -> Rewording:
    """Return the texts of an open proposal.

    Raises:
        NothingToReword.
        DoltError: the memory does not answer.
    """
    revision = proposal.current_revision
    target = current_state(proposal, revision)
    assessment = target.assess(revision)
    if assessment.state == Mergeability.ALREADY_APPLIED:
        raise NothingToReword
    is_conflict = not assessment.can_be_approved
    if isinstance(target, BlockState):
        if new := new_block_of(revision):
            return _of_new_block(revision, new, is_conflict=is_conflict)
        if target.block is None or is_deletion(revision):
            raise NothingToReword
        return Rewording(
            proposal,
            revision,
            target.sha256,
            base=revision.base_text,
            now=target.block.body,
            proposed=assessment.result_text or revision.result_text,
            limit=target.block.limit,
            is_conflict=is_conflict,
            over_limit=assessment.over_limit,
        )
    if len(revision.note_changes) != 1 or proposal.kind not in (Kind.SAVE, Kind.UPDATE):
        raise NothingToReword
    (change,) = revision.note_changes
    now = reads.find_notes(proposal.owner, [change["id"]]).get(change["id"])
    if now is None and change["before"]:
        raise NothingToReword
    return Rewording(
        proposal,
        revision,
        target.sha256,
        base=revision.base_text,
        now=now.content if now else "",
        proposed=revision.result_text,
        limit=notes.MAX_CONTENT,
        is_conflict=is_conflict,
    )


def _of_new_block(revision: Revision, new: NewBlock, *, is_conflict: bool) -> Rewording:
    if is_conflict:  # there is a block with its label: the agent edits that one, or proposes another label
        raise NothingToReword
    return Rewording(
        revision.proposal,
        revision,
        "",
        base="",
        now="",
        proposed=revision.result_text,
        limit=new.limit,
        is_conflict=False,
        new_block=new,
    )
