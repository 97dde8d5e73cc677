"""What an agent is asked for when a proposal is its turn, in words for the model."""

from __future__ import annotations

from approvals.review.turn.change_requests import BLOCK_DELETED, BLOCK_EXISTS

_CONFLICT = "The text has changed and your change no longer fits. Propose it again on the text as it is now."

#: What is asked of agents where Assent handed a proposal back, by `ChangeRequest.automatic`.
_ASKED = {
    BLOCK_DELETED: "The block was deleted since, so there is nothing left to change. Withdraw the proposal.",
    BLOCK_EXISTS: "There is a block with this label now. Read it, and amend this proposal with an edit of it where "
    "something is missing; otherwise withdraw it.",
}


def wanted(comment: str, automatic: str) -> str:
    """Return what an agent is asked for: a person's comment, or where Assent asks the same words in every language."""
    return _ASKED.get(automatic, _CONFLICT) if automatic else comment
