"""Whether an edit that does not fit was made already, by an approval or by the owner.

That new_string is in the block proves nothing: an edit that shortens a passage always finds it there. The proof is an
earlier version which the edit turns into today's text at that place. Versions of a deleted block of the same label do
not count.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from agent_tools.answers import fields
from approvals.models import Approval, Proposal
from approvals.review.reworded import ChangedApproval, taken_of
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound, RevisionNotFound
from memory_app.text import edits
from memory_app.text.worddiff import Hunk

# -- What an agent is told of an approval that is not as it proposed: in part, reworded, or after a conflict.

#: What the sentence about a proposal says of each way to approve it.
HOW = {
    Approval.PART: " in part",
    Approval.EDITED: " with changes",
    Approval.RESOLVED: " after a conflict was resolved",
}


def data_of(proposal: Proposal, gone: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields `final_text`, `difference`, `not_accepted` and `propose_again`.

    Args:
        gone: labels and ids of what was deleted since, where the caller may not read what was deleted.
    """
    taken = taken_of(proposal)
    told: dict[str, Any] = {
        "approval": proposal.approval or None,
        "final_text": None,
        "final_title": None,
        "difference": [],
        "not_accepted": [],
        "propose_again": proposal.rest_went_back,
    }
    if taken is None or proposal.target in gone:
        return told
    if proposal.approval != Approval.PART:
        told["difference"] = [] if gone else difference(taken)
    return told | {
        "final_text": None if gone else taken.final_text,
        "final_title": None if gone else taken.new_title,
        "not_accepted": changes_left(taken, gone),
    }


def difference(taken: ChangedApproval) -> list[dict[str, Any]]:
    """Return the places where the approved text is not the one asked for."""
    return [{"proposed": place.before, "approved": place.after, **_moved(place)} for place in taken.differences]


def sentence(proposal: Proposal, data: dict[str, Any]) -> str:
    """Return a line about what was changed, for the model; empty for an approval as proposed.

    Args:
        data: what `data_of` returned.
    """
    taken = taken_of(proposal)
    if taken is None:
        return ""
    if proposal.approval != Approval.PART:
        return "\nThe memory has the reviewer's wording (final_text). difference says where it is not yours."
    what = f"{taken.left} of {taken.asked_for} {'notes' if taken.notes_left else 'changes'}"
    if data["propose_again"]:
        how = f"change them as the reviewer asks, and propose them again, with proposal_id={proposal.pk}"
        return f"\n{what} came back to you (not_accepted): {how}."
    return f"\n{what} were not accepted (not_accepted). Do not propose them again as they were."


def changes_left(taken: ChangedApproval, gone: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return what was asked for and not accepted, of an approval in part."""
    if taken.notes_left:
        return [
            {"id": change["id"], "before": None, "after": None} if change["id"] in gone else change
            for change in taken.notes_left[: fields.NOTES_SHOWN]
        ]
    return [{"before": change.before, "after": change.after, **_moved(change)} for change in taken.changes_left]


def _moved(change: Hunk) -> dict[str, int]:
    """Return from which line to which it was moved; nothing for what stands where it was."""
    return {"moved_from_line": change.before_line, "moved_to_line": change.after_line} if change.is_moved else {}


#: Changes of the block that are looked at, newest first: each version is one read.
VERSIONS = 20
#: Characters of context on each side of a place to compare; the text further away may have changed.
_AROUND = 16


def line_of(block: Block, asked: Sequence[edits.Edit], index: int, text: str) -> int | None:
    """Return the line on which `text` has what edit `index` makes of an earlier version; None when none shows it.

    Args:
        asked: all edits of the call.
        text: the block's text with the edits before that one.
    """
    edit = asked[index]
    if not isinstance(edit, edits.Replace) or not edit.new_string:
        return None
    for earlier in _earlier(block):
        before = applied(earlier, asked[:index])
        if edit.old_string in before and (place := _made_at(edit, before, text)) is not None:
            return text.count("\n", 0, place) + 1
    return None


def applied(body: str, earlier: Sequence[edits.Edit]) -> str:
    """Return `body` with the edits made, or unchanged where they do not fit."""
    try:
        return edits.apply(body, earlier).text
    except edits.EditError:
        return body


def _earlier(block: Block) -> Iterator[str]:
    for change in reads.history(block.owner, TargetKind.BLOCK, block.label, limit=VERSIONS):
        try:
            version = reads.block_at(block.owner, block.label, change.commit)
        except (BlockNotFound, RevisionNotFound):  # deleted then, or cleared from the history
            return
        if version.created_at != block.created_at:
            return
        yield version.body


def _made_at(edit: edits.Replace, before: str, text: str) -> int | None:
    """Return where `text` has the first of the places that the edit makes in `before`, if it has them all."""
    try:
        edits.apply(before, [edit])
    except edits.EditError:
        return None
    # The ends of a text count as ends of lines, or "Alice" at the end would be found in "Alice Marlowe".
    before, text = f"\n{before}\n", f"\n{text}\n"
    first, at = None, before.find(edit.old_string)
    while at >= 0:
        end = at + len(edit.old_string)
        head = before[max(at - _AROUND, 0) : at]
        place = text.find(head + edit.new_string + before[end : end + _AROUND])
        if place < 0:
            return None
        # Of the text without the end of line that was put before it.
        first = place + len(head) - 1 if first is None else first
        at = before.find(edit.old_string, end)
    return first
