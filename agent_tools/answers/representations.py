"""How blocks, proposals and changes look to a machine: plain data, stable names.

Each function's keys are part of the contract. The tables beside them say what they mean; the reference
page is made from those, and a test compares them with what is really answered.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any

from django.conf import settings

from approvals.models import Proposal, ReviewReason, Revision, Status
from approvals.services import Proposed
from approvals.services.notes import NoteChangeOutcome
from memory_app.models import Change, TargetKind
from memory_app.reads import Block, Note
from memory_app.reads.recall_counts import Access
from memory_app.text.notes import TYPES

Fields = dict[str, str]

_REDACTED = "Its texts were removed: what you proposed, and why, is kept no more. Do not propose it again."

#: Characters of a reviewer's comment in a list.
_WORDS_LISTED = 300

#: Notes of a proposal in an answer; an import may have thousands.
_NOTES_SHOWN = 50

BLOCK: Fields = {
    "label": "the block's name in every call",
    "title": "for people; made from the label where the owner gave none",
    "description": "what the block is for",
    "length": "characters of the text",
    "limit": "characters the text may have",
    "read_only": "agents may not change it",
    "sha256": "of the text, for `expected_sha256`",
    "created_at": "ISO 8601, UTC",
    "updated_at": "ISO 8601, UTC",
}

CHANGE: Fields = {
    "commit": "hash of the commit, for `as_of`",
    "action": "approved, edited, created, superseded, reinstated, deleted, applied, imported, reverted or recovered",
    "actor": "username of the person, or null",
    "agent": "name of the agent that proposed it, or null",
    "proposal_id": "the proposal it came from, or null",
    "reasoning": "why the agent proposed it, or null",
    "comment": "what the person wrote with it",
    "at": "ISO 8601, UTC",
}

PROPOSAL: Fields = {
    "proposal_id": "its number in every call",
    "user_id": "whose memory",
    "target_kind": "block, note or import (many notes as a whole)",
    "block_label": "which block; null for notes",
    "note_id": "which note; null for blocks and imports",
    "title": "the block's title, or the beginning of the note, when it was proposed; null without memory:read, and "
    "when the block or note was deleted since; once redacted, its label or id",
    "kind": "edit or rewrite; of notes: save, update, delete, forget or import",
    "status": "preparing, open, merging, approved, rejected, withdrawn, superseded, expired or applied",
    "mergeability": (
        "how an undecided one stands to the block as it is now: clean, rebasable (the block changed, the edit "
        "still fits), conflict, already_applied or unknown; null once decided, and without memory:read"
    ),
    "revision": "number of the revision that counts",
    "reasoning": "yours",
    "confidence": "yours: low, medium or high",
    "session_id": "yours, or empty",
    "created_at": "ISO 8601, UTC",
    "expires_at": "when it closes by itself; null once decided",
    "redacted": "true once its texts were removed, as too private or for its owner: they are empty then",
    "decision": "null, or `by` (username or null), `at`, `reason` (of a rejection: wrong, outdated, too_private, "
    "duplicate, badly_worded or other; else null) and `comment`, the reviewer's words",
    "review_url": "where people look at it",
}

PROPOSAL_IN_FULL: Fields = PROPOSAL | {
    "branch": "the branch that holds it; null once it is decided, since the branch is gone then",
    "base_commit": "the commit it was made on",
    "head_commit": "the commit with the change",
    "merge_commit": "the commit that brought it into the memory, or null",
    "edits": "what was asked for, each with `op` and `occurrences`; empty for notes",
    "notes": "what becomes of each note: `id`, `before`, `after` (both null when the note was deleted since); "
    f"the first {_NOTES_SHOWN}",
    "note_count": "how many notes it changes; 0 for a block",
    "result": "the block's text, or the notes' contents, with the change; null when the block, or one of the notes, "
    "was deleted since",
}

PROPOSED: Fields = {
    "proposal_id": "its number",
    "status": "open",
    "branch": "the branch that holds it; null once it is decided",
    "base_commit": "the commit it was made on; null without memory:read",
    "head_commit": "the commit with the change",
    "revision": "1 for a new proposal",
    "occurrences_replaced": "how many places the edits replace; 0 for a whole text; null without memory:read",
    "content_sha256": "of the block's text as it is now, without the change; null without memory:read",
    "review_url": "where people look at it",
    "created": "false when an equal proposal of yours was waiting already and is returned instead",
    "length": "characters the text will have; null without memory:read",
    "limit": "characters the text may have",
    "warnings": "sentences, also in the text; none without memory:read",
}

OPEN_PROPOSAL: Fields = {
    name: PROPOSAL[name]
    for name in (
        "proposal_id",
        "block_label",
        "note_id",
        "status",
        "mergeability",
        "reasoning",
        "created_at",
        "review_url",
    )
}


NOTE: Fields = {
    "id": "the note's name in every call",
    "content": "what it says",
    "type": ", ".join(TYPES),
    "tags": "a list of words",
    "category": "one word more, or null",
    "confidence": "0 to 1",
    "rationale": "why it was worth remembering, or null",
    "importance": "0 to 1",
    "source": "agent, user or import",
    "session_id": "the conversation it came from, or null",
    "superseded_by": "the note that took its place, or null",
    "superseded_reason": "why it was superseded, or null",
    "superseded_at": "when it was superseded, or null while it holds",
    "sha256": "of everything it says",
    "access_count": "how often agents recalled it",
    "last_access": "when they did last (ISO 8601, UTC), or null",
    "created_at": "ISO 8601, UTC",
    "updated_at": "ISO 8601, UTC",
}

WRITTEN: Fields = {
    "status": "applied, open while it waits for a person, or withdrawn: a note of yours that waited and was deleted",
    "waits_because": "policy (the user wants to be asked), scope (the token may only propose), secrets (it, its "
    "reasoning or its evidence reads like a key, token, password or card number, which a person sees first) or null "
    "once it waits no more",
    "commit": "the commit that holds it, or null while it waits",
    "proposal_id": "its number, applied or not: people see what was applied, and can put it back",
    "branch": "the branch that holds it while it waits; null once it is applied or decided",
    "base_commit": "the commit it was made on; null without memory:read",
    "head_commit": "the commit with the change",
    "revision": "1 for a new proposal; 2 and more once a note that waits was updated",
    "content_sha256": "of the note as it is now (its canonical JSON); null when there is none, and without memory:read",
    "review_url": "where people look at it",
    "created": "false when an equal proposal of yours was waiting already and is returned instead",
}


def paged(item: Fields) -> Fields:
    """The fields of a list's `data`."""
    return {f"items[].{name}": meaning for name, meaning in item.items()} | {
        "next": "the `cursor` of the next page, or null"
    }


def block(block: Block) -> dict[str, Any]:
    """A block without its text."""
    return {
        "label": block.label,
        "title": block.display_title,
        "description": block.description,
        "length": block.used,
        "limit": block.limit,
        "read_only": block.read_only,
        "sha256": block.body_sha256,
        "created_at": time(block.created_at),
        "updated_at": time(block.updated_at),
    }


def change(change: Change, reasons: dict[int, str]) -> dict[str, Any]:
    """One entry of a block's history.

    Args:
        reasons: proposal id → why its agent proposed it.
    """
    return {
        "commit": change.commit,
        "action": change.action,
        "actor": change.actor or None,
        "agent": change.agent or None,
        "proposal_id": change.proposal_id,
        "reasoning": reasons.get(change.proposal_id) if change.proposal_id else None,
        "comment": change.comment,
        "at": time(change.at),
    }


def proposal(proposal: Proposal, *, may_read: bool = True, is_gone: bool = False) -> dict[str, Any]:
    """A proposal without its texts: what a list shows.

    Args:
        may_read: whether the caller may read the memory.
        is_gone: what it is about was deleted since, and the caller may not read such things.
    """
    decided = proposal.decided_at is not None or proposal.is_decided
    return {
        "proposal_id": proposal.pk,
        "user_id": proposal.owner,
        "target_kind": proposal.target_kind,
        "block_label": proposal.target if proposal.target_kind == TargetKind.BLOCK else None,
        "note_id": proposal.target if proposal.target_kind == TargetKind.NOTE else None,
        "title": proposal.target_title if may_read and not is_gone else None,
        "kind": proposal.kind,
        "status": proposal.status,
        # How an undecided proposal stands to the block as it is now.
        "mergeability": None if proposal.is_decided or not may_read else proposal.mergeability,
        "revision": proposal.current_revision_number,
        "reasoning": proposal.reasoning,
        "confidence": proposal.confidence,
        "session_id": proposal.session_id,
        "created_at": time(proposal.created_at),
        "expires_at": time(proposal.expires_at) if proposal.status == Status.OPEN else None,
        "redacted": proposal.is_redacted,
        "decision": _decision(proposal) if decided and proposal.is_decided else None,
        "review_url": review_url(proposal),
    }


def proposal_in_full(subject: Proposal, revision: Revision, gone: Collection[str] = ()) -> dict[str, Any]:
    """A proposal with what its branch holds.

    Args:
        gone: labels and ids of what was deleted since, where the caller may not read such things.
    """
    notes = [
        {"id": change["id"], "before": None, "after": None} if change["id"] in gone else change
        for change in revision.note_changes[:_NOTES_SHOWN]
    ]
    return proposal(subject, is_gone=bool(gone)) | {
        "branch": _branch(subject, revision),
        "base_commit": revision.base_commit,
        "head_commit": revision.head_commit,
        "merge_commit": subject.merge_commit or None,
        "edits": revision.edits,
        "notes": notes,
        "note_count": len(revision.note_changes),
        "result": None if gone else revision.result_text,
    }


def proposed(outcome: Proposed, *, may_read: bool) -> dict[str, Any]:
    """The data of an answer to a proposing call (tools.md), without what depends on a text that may not be read."""
    data = {
        "proposal_id": outcome.proposal.pk,
        "status": outcome.proposal.status,
        "branch": _branch(outcome.proposal, outcome.revision),
        "base_commit": outcome.revision.base_commit,
        "head_commit": outcome.revision.head_commit,
        "revision": outcome.revision.number,
        "occurrences_replaced": outcome.occurrences,
        "content_sha256": outcome.content_sha256,
        "review_url": review_url(outcome.proposal),
        "created": outcome.created,
        "length": outcome.used,
        "limit": outcome.limit,
        "warnings": list(outcome.warnings),
    }
    return data if may_read else data | _UNREAD


#: What a proposing call tells of a text that the caller may not read.
_UNREAD: dict[str, Any] = {
    "base_commit": None,
    "occurrences_replaced": None,
    "content_sha256": None,
    "length": None,
    "warnings": [],
}


def open_proposals(proposals: Iterable[Proposal], *, may_read: bool) -> list[dict[str, Any]]:
    """The agent's own waiting proposals, in short."""
    return [
        {
            "proposal_id": waiting.pk,
            "block_label": waiting.target if waiting.target_kind == TargetKind.BLOCK else None,
            "note_id": waiting.target if waiting.target_kind == TargetKind.NOTE else None,
            "status": waiting.status,
            "mergeability": waiting.mergeability if may_read else None,
            "reasoning": waiting.reasoning,
            "created_at": time(waiting.created_at),
            "review_url": review_url(waiting),
        }
        for waiting in proposals
    ]


def note(note: Note, recalled: Access | None) -> dict[str, Any]:
    values = {name: value for name, value in note.as_json().items() if name in NOTE}
    return values | {
        "superseded_at": time(note.superseded_at) if note.superseded_at else None,
        "access_count": recalled.count if recalled else 0,
        "last_access": time(recalled.last_at) if recalled else None,
        "created_at": time(note.created_at),
        "updated_at": time(note.updated_at),
    }


def written(outcome: NoteChangeOutcome, *, may_read: bool) -> dict[str, Any]:
    """The data of an answer to a call that changes notes (tools.md)."""
    proposal = outcome.proposal
    if proposal is None:  # agents always get one
        raise TypeError("a person's own change is no answer to an agent")
    now = outcome.changes[0].after if outcome.is_applied else outcome.changes[0].before
    if outcome.is_withdrawn:
        now = None
    revision = proposal.current_revision
    return {
        "status": proposal.status,
        "waits_because": None if outcome.is_withdrawn else proposal.review_reason or None,
        "commit": outcome.commit or None,
        "proposal_id": proposal.pk,
        "branch": _branch(proposal, revision),
        "base_commit": revision.base_commit if may_read else None,
        "head_commit": outcome.commit or revision.head_commit,
        "revision": revision.number,
        "content_sha256": now.sha256 if now and may_read else None,
        "review_url": review_url(proposal),
        "created": outcome.created,
    }


def why_it_waits(outcome: NoteChangeOutcome) -> str:
    """A line for an agent whose change waits although it need not ask; empty for others."""
    if outcome.proposal and not outcome.is_applied and outcome.proposal.review_reason == ReviewReason.SECRETS:
        return (
            "\nIt reads like a key, token, password or card number, so a person has to see it first. "
            "That counts for reasoning and evidence too. Do not keep secrets in the memory: say where they are kept "
            "instead."
        )
    return ""


def target(proposal: Proposal) -> str:
    """What a proposal is about, in a sentence."""
    if proposal.target_kind == TargetKind.IMPORT:
        return "an import of memories"
    return f"{'block' if proposal.target_kind == 'block' else 'note'} '{proposal.target}'"


def told(proposal: Proposal) -> str:
    """What became of a proposal, in one sentence and the reviewer's words."""
    told = f"Proposal {proposal.pk} for {target(proposal)} is {proposal.status}"
    if proposal.is_decided and proposal.decided_by is not None:
        told += f", by {proposal.decided_by.username}"
    if proposal.decision_reason:
        told += f" ({proposal.decision_reason})"
    if not proposal.is_decided:
        told += f" ({proposal.mergeability})"
    told = f"{told}: {proposal.decision_comment}" if proposal.decision_comment else f"{told}."
    return f"{told}\n{_REDACTED}" if proposal.is_redacted else told


def listed(proposal: Proposal) -> str:
    """A line of a list: what became of a proposal, and what the reviewer said, whatever lines that had."""
    line = f"- {proposal.pk}: {target(proposal)}, {proposal.status}"
    if proposal.is_decided and proposal.decision_reason:
        line += f" ({proposal.decision_reason})"
    words = " ".join(proposal.decision_comment.split()) if proposal.is_decided else ""
    if len(words) > _WORDS_LISTED:
        words = f"{words[:_WORDS_LISTED].rstrip()}… (get_proposal has all of it)"
    return f"{line}: {words}" if words else line


def review_url(proposal: Proposal) -> str:
    return f"{settings.PUBLIC_URL}{proposal.get_absolute_url()}"


def time(at: datetime) -> str:
    """ISO 8601 in UTC, as `2026-03-01T12:00:00Z`."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _branch(proposal: Proposal, revision: Revision) -> str | None:
    return None if proposal.is_decided else revision.branch or None


def _decision(proposal: Proposal) -> dict[str, Any]:
    return {
        "by": proposal.decided_by.username if proposal.decided_by else None,
        "at": time(proposal.decided_at) if proposal.decided_at else None,
        "reason": proposal.decision_reason or None,
        "comment": proposal.decision_comment,
    }
