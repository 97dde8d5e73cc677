"""What an agent is told of an approval that is not as it proposed: in part, reworded, or after a conflict."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from agent_tools.answers import fields
from approvals.models import Approval, Proposal
from approvals.review.reworded.taken import ChangedApproval, rest_of, taken_of
from memory_app.text.worddiff import Hunk

#: What the sentence about a proposal says of each way to approve it.
HOW = {
    Approval.PART: " in part",
    Approval.EDITED: " with changes",
    Approval.RESOLVED: " after a conflict was resolved",
}


def data_of(proposal: Proposal, gone: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields `final_text`, `difference`, `not_accepted` and `follow_up_proposal_id`.

    Args:
        gone: labels and ids of what was deleted since, where the caller may not read what was deleted.
    """
    taken, rest = taken_of(proposal), rest_of(proposal)
    told: dict[str, Any] = {
        "approval": proposal.approval or None,
        "final_text": None,
        "final_title": None,
        "difference": [],
        "not_accepted": [],
        "follow_up_proposal_id": rest.pk if rest else None,
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
    if rest := data["follow_up_proposal_id"]:
        return f"\n{what} came back to you as proposal {rest}: amend it as the reviewer asks, or withdraw it."
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
