"""What is wrong with a new block: its label is none, is taken or waits. And the agent's own that waits for a person."""

from __future__ import annotations

import re

from agent_tools.answers import representations
from agent_tools.answers.subject import Subject
from agent_tools.auth import grants
from agent_tools.errors import ApiError, ErrorCode
from approvals.models import Kind, Proposal
from approvals.services.errors import LabelInvalid
from approvals.services.whole_blocks.refusals import BlockExists, BlockWaits, FieldInvalid
from memory_app.models import LABEL

_RULES = "lower-case letters, digits, dash and underscore, at most 64, beginning with a letter or a digit"


def label_invalid(error: LabelInvalid, subject: Subject) -> ApiError:
    """Return the rules of labels, with the nearest one that keeps to them."""
    nearest = _nearest_label(subject.label) if subject.call.may_read else None
    return ApiError(
        ErrorCode.LABEL_INVALID,
        f"label '{subject.label[:100]}' is not a label: it has to be {_RULES}.",
        help=[f"'{nearest}' would be one."] if nearest else [],
        details={"fields": {"label": f"has to be {_RULES}"}, "nearest": nearest},
    )


def block_exists(error: BlockExists, subject: Subject) -> ApiError:
    """Return which block is there, and which tools change it."""
    label = subject.label
    if not subject.call.may_read:
        return ApiError(
            ErrorCode.LABEL_TAKEN, f"There is a memory block '{label}' already.", details={"block_label": label}
        )
    block = error.block
    help = "Read it with read_memory_block, then change it with propose_memory_edit; or choose another label."
    if block.read_only:
        help = "It is read-only for agents: choose another label."
    return ApiError(
        ErrorCode.LABEL_TAKEN,
        f"There is a memory block '{label}' already: \"{block.display_title}\".",
        help=[help],
        details={"block_label": label, "block": representations.block(block)},
    )


def block_waits(error: BlockWaits, subject: Subject) -> ApiError:
    proposal = error.proposal
    return ApiError(
        ErrorCode.BLOCK_WAITS,
        f"You have proposed block '{proposal.target}' already, with other words: proposal {proposal.pk} waits.",
        help=[waits(proposal)],
        details={
            "block_label": proposal.target,
            "proposal": representations.proposal(proposal, may_read=subject.call.may_read),
        },
    )


def field_invalid(error: FieldInvalid, subject: Subject) -> ApiError:
    message = f"Invalid arguments for {subject.call.called}: {error.field} {error.reason}."
    return ApiError(ErrorCode.INVALID_ARGUMENTS, message, details={"fields": {error.field: error.reason}})


def own_waiting(subject: Subject) -> Proposal | None:
    """Return the caller's own undecided proposal of the block that was asked for, which is not in the memory yet."""
    if subject.as_of is not None or not subject.call.owner:
        return None
    waiting = grants.visible_proposals(subject.call.caller.token, subject.call.owner).decidable()
    return waiting.filter(kind=Kind.CREATE_BLOCK, target=subject.label).order_by("-pk").first()


def waits(proposal: Proposal) -> str:
    """Return that a new block waits, and how its agent changes it until then."""
    return (
        f"Your proposal {proposal.pk} for this new block waits for the user ({proposal.status}): it cannot be read or "
        "edited until it is approved. To change what it proposes, call propose_memory_block with "
        f"proposal_id={proposal.pk}."
    )


_NOT_IN_LABELS = re.compile(r"[^a-z0-9_-]+")


def _nearest_label(text: str) -> str | None:
    """Return the label that a text comes nearest to, as `My Goals` to `my_goals`; None where nothing is left of it."""
    cleaned = _NOT_IN_LABELS.sub("_", text.strip().lower()).lstrip("_-").rstrip("_-")[:64]
    return cleaned if LABEL.fullmatch(cleaned) else None
