"""What of an agent's change was taken, where a person approved something else than it asked for.

Both texts are compared on the text that the decision was made on. For pages, and for the agent as data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from approvals.models import Approval, Proposal, Revision, Status
from approvals.review.mergeability import assess
from approvals.review.targets import agents_revision
from approvals.review.whole_blocks import new_block_of
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.text import worddiff


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
        asked, approved = new_block_of(self.asked), new_block_of(self.approved)
        label = self.approved.proposal.target
        if asked is None or approved is None or asked.title == approved.title:
            return None
        return approved.display_title(label)

    @property
    def final_text(self) -> str:
        return self.approved.result_text

    @property
    def differences(self) -> tuple[worddiff.Hunk, ...]:
        """Return the places where the approved text differs from the one asked for."""
        return worddiff.hunks(self.asked_text, self.final_text)

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
    asked, approved = asked or agents_revision(proposal), proposal.current_revision
    if not asked.edits and not asked.note_changes:
        return None  # what was asked for was removed with the rest of it
    if proposal.target_kind != TargetKind.BLOCK:
        kept = {change["id"] for change in approved.note_changes}
        left = tuple(change for change in asked.note_changes if change["id"] not in kept)
        return ChangedApproval(asked, approved, asked.result_text, notes_left=left)
    text = _asked_text(proposal, asked, approved)
    if proposal.approval != Approval.PART:
        return ChangedApproval(asked, approved, text)
    accepted = frozenset(approved.edits[0].get("accepted", ())) if approved.edits else frozenset[str]()
    return ChangedApproval(asked, approved, text, worddiff.hunks(approved.base_text, text), accepted)


def rest_of(proposal: Proposal) -> Proposal | None:
    """Return the proposal by which the agent got back what was not taken."""
    if proposal.approval != Approval.PART:
        return None
    return proposal.answered_by.exclude(status=Status.PREPARING).order_by("pk").first()


def _asked_text(proposal: Proposal, asked: Revision, approved: Revision) -> str:
    """Return the asked-for text on what was decided on; as it was proposed where it conflicts with that."""
    if asked.base_sha256 == approved.base_sha256:
        return asked.result_text
    then = reads.block_at(proposal.owner, proposal.target, approved.base_commit)
    return assess(asked, then).result_text or asked.result_text
