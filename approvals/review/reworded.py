"""The texts a proposal is reworded from, its changes that are approved one by one, and what of them was taken."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from approvals.models import Approval, Kind, Mergeability, Proposal, Revision, Status
from approvals.review import targets
from assent_client.text import notes
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.text import worddiff
from memory_app.text.merge import Conflict, Conflicted, merge


def ids_of_changes(proposal: Proposal) -> tuple[str, ...]:
    """Return the ids of an open proposal's changes as they are now: of notes, or of hunks against today's text."""
    revision = proposal.current_revision
    if proposal.target_kind != TargetKind.BLOCK:
        return tuple(change["id"] for change in revision.note_changes)
    target = targets.current_state(proposal, revision)
    assessment = target.assess(revision)
    if not isinstance(target, targets.BlockState) or target.block is None or assessment.result_text is None:
        return ()
    return tuple(hunk.id for hunk in worddiff.hunks(target.block.body, assessment.result_text))


# -- The texts that a person rewords an open proposal from: as they are now, as proposed, and what both began with.


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
    new_block: targets.NewBlock | None = None

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


def has_text(revision: Revision, target: targets.TargetState) -> bool:
    """Whether there is one text to reword: a block, or a note that the proposal makes or changes."""
    if isinstance(target, targets.BlockState):
        has_new = targets.new_block_of(revision) is not None
        return has_new or (target.block is not None and not targets.is_deletion(revision))
    changes = revision.note_changes
    if len(changes) != 1 or revision.proposal.kind not in (Kind.SAVE, Kind.UPDATE):
        return False
    return changes[0]["before"] is None or bool(target.sha256)


def rewording_of(proposal: Proposal) -> Rewording:
    """Return the texts of an open proposal.

    Raises:
        NothingToReword.
        DoltError: the memory does not answer.
    """
    revision = proposal.current_revision
    target = targets.current_state(proposal, revision)
    assessment = target.assess(revision)
    is_conflict, new = not assessment.can_be_approved, targets.new_block_of(revision)
    # With a conflict there is a block with the new one's label: the agent edits that, or takes another label.
    if assessment.state == Mergeability.ALREADY_APPLIED or (new and is_conflict) or not has_text(revision, target):
        raise NothingToReword
    if isinstance(target, targets.BlockState):
        limited = target.block or new
        now, limit = target.block.body if target.block else "", limited.limit if limited else 0
    else:
        note = reads.find_note(proposal.owner, revision.note_changes[0]["id"])
        now, limit = note.content if note else "", notes.MAX_CONTENT
    return Rewording(
        proposal,
        revision,
        target.sha256,
        base=revision.base_text,
        now=now,
        proposed=assessment.result_text or revision.result_text,
        limit=limit,
        is_conflict=is_conflict,
        over_limit=assessment.over_limit,
        new_block=new,
    )


# -- What of an agent's change was taken, where a person approved something else than it asked for.


@dataclass(frozen=True)
class ChangedApproval:
    """An approval with changes.

    Args:
        asked: the revision by the agent; `approved` the one in the reviewer's words.
        asked_text: what the agent's change would have made of the text that was decided on.
        changes: of an approval in part, every change of a block that was asked for.
        accepted: the ids of those that were taken.
        notes_left: of an import in part, the changes of notes that were not taken, as a revision keeps them.
    """

    asked: Revision
    approved: Revision
    asked_text: str
    changes: tuple[worddiff.Hunk, ...] = ()
    accepted: frozenset[str] = frozenset()
    notes_left: tuple[dict[str, Any], ...] = ()

    @property
    def new_title(self) -> str | None:
        """Return the title that a new block got instead of the one asked for; None where it is the same."""
        asked, approved = targets.new_block_of(self.asked), targets.new_block_of(self.approved)
        label = self.approved.proposal.target
        if asked is None or approved is None or asked.title == approved.title:
            return None
        return approved.display_title(label)

    @property
    def differences(self) -> tuple[worddiff.Hunk, ...]:
        """Return the places where the approved text differs from the one asked for."""
        return worddiff.hunks(self.asked_text, self.approved.result_text)

    @property
    def changes_left(self) -> tuple[worddiff.Hunk, ...]:
        return tuple(change for change in self.changes if change.id not in self.accepted)

    @property
    def left(self) -> int:
        """How many changes, or notes, were not taken."""
        return len(self.changes_left) or len(self.notes_left)

    @property
    def asked_for(self) -> int:
        """How many changes, or notes, were asked for."""
        return len(self.changes) or len(self.asked.note_changes)


def taken_of(proposal: Proposal, *, asked: Revision | None = None) -> ChangedApproval | None:
    """Return how an approval differs from what was proposed.

    None for one as proposed, for undecided proposals, and where it is not known any more.

    Args:
        asked: the last revision by the agent, where the caller has read it.
    """
    if proposal.status != Status.APPROVED or proposal.approval in ("", Approval.AS_PROPOSED):
        return None
    asked, approved = asked or targets.agents_revision(proposal), proposal.current_revision
    if not asked.edits and not asked.note_changes:
        return None  # its texts were removed, with what was left out
    if proposal.target_kind != TargetKind.BLOCK:
        kept = {change["id"] for change in approved.note_changes}
        left = tuple(change for change in asked.note_changes if change["id"] not in kept)
        return ChangedApproval(asked, approved, asked.result_text, notes_left=left)
    text = _asked_text(proposal, asked, approved)
    if proposal.approval != Approval.PART:
        return ChangedApproval(asked, approved, text)
    accepted = frozenset(approved.edits[0].get("accepted", ())) if approved.edits else frozenset[str]()
    return ChangedApproval(asked, approved, text, worddiff.hunks(approved.base_text, text), accepted)


def _asked_text(proposal: Proposal, asked: Revision, approved: Revision) -> str:
    """Return the asked-for text on what was decided on; as it was proposed where it conflicts with that."""
    if asked.base_sha256 == approved.base_sha256:
        return asked.result_text
    then = reads.block_at(proposal.owner, proposal.target, approved.base_commit)
    return targets.assess(asked, then).result_text or asked.result_text
