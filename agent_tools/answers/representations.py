"""How blocks, proposals and changes look to a machine: plain data, stable names.

Each function's keys are part of the contract; `fields` says what they mean.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import takewhile
from typing import Any

from django.conf import settings

from agent_tools import auth
from agent_tools.answers import asked as asking
from agent_tools.answers import fields
from agent_tools.calls.arguments import ChangeArguments, given
from agent_tools.calls.registry import TOOLS, Call, for_list
from approvals.models import DECIDABLE, Approval, Event, Kind, Proposal, ReviewReason, Revision, Status
from approvals.review import turn
from approvals.review.reworded import ChangedApproval, taken_of
from approvals.review.targets import agents_revision
from approvals.review.turn import BLOCK_DELETED, BLOCK_EXISTS, ChangeRequest
from memory_app.models import Change, NoteAccess, TargetKind
from memory_app.reads import Block, Note
from memory_app.text import edits
from memory_app.text.lines import first_words
from memory_app.text.worddiff import Hunk

_CONFLICT = "The text has changed and your change no longer fits. Propose it again on the text as it is now."

#: What is asked of agents where Assent handed a proposal back, by `ChangeRequest.automatic`.
_ASKED = {
    BLOCK_DELETED: "The block was deleted since, so there is nothing left to change. Withdraw the proposal.",
    BLOCK_EXISTS: "There is a block with this label now. Read it, and amend this proposal with an edit of it where "
    "something is missing; otherwise withdraw it.",
}


def named(ids: Sequence[str], most: int = 20) -> str:
    """Return ids for a text, where `data` has all of them."""
    return ", ".join(ids[:most]) + (" …" if len(ids) > most else "")


def said_too(ids: Sequence[str]) -> str:
    """Return what is said behind a note that others say too; empty without any."""
    return f" (said too by {named(ids)})" if ids else ""


def wanted(comment: str, automatic: str) -> str:
    """Return what an agent is asked for: a person's comment, or where Assent asks the same words in every language."""
    return _ASKED.get(automatic, _CONFLICT) if automatic else comment


_REDACTED = "Its texts were removed: what you proposed, and why, is kept no more. Do not propose it again."

_WHOLE_BLOCKS: dict[str, str] = {Kind.CREATE_BLOCK: "new block", Kind.DELETE_BLOCK: "the deletion of block"}

#: Characters of a reviewer's comment in a list.
_WORDS_LISTED = 300
#: Places of an approval that is not as proposed, in the text of one proposal.
_PLACES = 10


def block(block: Block) -> dict[str, Any]:
    """Return a block without its text."""
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
    """Return one entry of a block's history.

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


def about(proposal: Proposal) -> dict[str, str | None]:
    """Return what a proposal is about."""
    return {
        "target_kind": proposal.target_kind,
        "block_label": proposal.target if proposal.target_kind == TargetKind.BLOCK else None,
        "note_id": proposal.target if proposal.target_kind == TargetKind.NOTE else None,
    }


def proposal(proposal: Proposal, *, is_gone: bool = False, asked: ChangeRequest | None = None) -> dict[str, Any]:
    """Return a proposal without its texts: what a list shows.

    Args:
        is_gone: whether its target was deleted since, and the caller may not read what was deleted.
        asked: what its agent is asked to change.
    """
    thread = turn.thread_summary(proposal)
    return {
        "proposal_id": proposal.pk,
        "user_id": proposal.owner,
        **about(proposal),
        "title": None if is_gone else proposal.target_title,
        "kind": proposal.kind,
        "status": proposal.status,
        # How an undecided proposal stands to the block as it is now.
        "mergeability": None if proposal.is_decided else proposal.mergeability,
        "revision": proposal.current_revision_number,
        "reasoning": proposal.reasoning,
        "confidence": proposal.confidence,
        "session_id": proposal.session_id,
        "created_at": time(proposal.created_at),
        "expires_at": time(proposal.expires_at) if proposal.status in DECIDABLE else None,
        "redacted": proposal.is_redacted,
        "decision": decision(proposal) if proposal.is_decided else None,
        "reverted": bool(proposal.reverted_by_commit),
        "approval": proposal.approval or None,
        "changes_requested": _asked(asked) if asked else None,
        "answers": proposal.answers_id,
        "review_url": review_url(proposal),
        "comment_count": thread.comments,
        "asks_you": thread.asks_agent,
    }


def proposal_in_full(subject: Proposal, gone: Collection[str], *, asked: ChangeRequest | None) -> dict[str, Any]:
    """Return a proposal with what its branch has.

    Args:
        gone: labels and ids of what was deleted since, where the caller may not read what was deleted.
    """
    revision, wanted = subject.current_revision, agents_revision(subject)
    return proposal(subject, is_gone=bool(gone), asked=asked) | {
        "branch": branch(subject, revision),
        "base_commit": revision.base_commit,
        "head_commit": revision.head_commit,
        "merge_commit": subject.merge_commit or None,
        "edits": wanted.edits,
        "notes": _notes(wanted.note_changes, gone),
        "note_count": len(wanted.note_changes),
        "undone": _undone(subject),
        "result": None if gone else (wanted if revision.made_by_id else revision).result_text,
        **approved_otherwise(subject, taken_of(subject), gone),
    }


def open_proposals(proposals: Iterable[Proposal]) -> list[dict[str, Any]]:
    """Return the agent's own waiting proposals, in short."""
    return [
        {
            "proposal_id": waiting.pk,
            "block_label": waiting.target if waiting.target_kind == TargetKind.BLOCK else None,
            "note_id": waiting.target if waiting.target_kind == TargetKind.NOTE else None,
            "status": waiting.status,
            "mergeability": waiting.mergeability,
            "reasoning": waiting.reasoning,
            "created_at": time(waiting.created_at),
            "review_url": review_url(waiting),
        }
        for waiting in proposals
    ]


def note(note: Note, recalled: NoteAccess | None) -> dict[str, Any]:
    values = {name: value for name, value in note.as_json().items() if name in fields.NOTE}
    return values | {
        "superseded_at": time(note.superseded_at) if note.superseded_at else None,
        "access_count": recalled.count if recalled else 0,
        "last_access": time(recalled.last_at) if recalled else None,
        "created_at": time(note.created_at),
        "updated_at": time(note.updated_at),
    }


def target(proposal: Proposal, *, of_owner: bool = False) -> str:
    """Return what a proposal is about, for a sentence.

    Args:
        of_owner: say whose memory it is, where an answer is about several people.
    """
    of = f" of {proposal.owner}" if of_owner else ""
    if proposal.target_kind == TargetKind.IMPORT:
        return f"an import of memories{of}"
    what = _WHOLE_BLOCKS.get(proposal.kind) or ("block" if proposal.target_kind == TargetKind.BLOCK else "note")
    return f"{what} '{proposal.target}'{of}"


def of_several(call: Call) -> bool:
    """Whether what the call is answered may be about several people."""
    return not call.owner and auth.sole_owner(call.caller.token) is None


def told(proposal: Proposal, asked: ChangeRequest | None = None, *, of_owner: bool = False) -> str:
    """Return what became of a proposal, in one sentence and the reviewer's words.

    Args:
        asked: what its agent is asked to change.
        of_owner: see `target`.
    """
    what = f"Proposal {proposal.pk} for {target(proposal, of_owner=of_owner)}"
    if asked:
        by = f" by {asked.by}" if asked.by else " by Assent, not by a person"
        why = f" ({asked.reason})" if asked.reason else ""
        words = wanted(asked.comment, asked.automatic)
        return f"{what}: changes are requested{by}{why}: {words}\n{how_to_amend(proposal)}"
    told = f"{what} is {outcome(proposal)}"
    if proposal.is_decided and proposal.decided_by is not None:
        told += f", by {proposal.decided_by.username}"
    if proposal.decision_reason:
        told += f" ({proposal.decision_reason})"
    if not proposal.is_decided:
        return f"{told}: {asking.STANDS[proposal.mergeability]}.\n{how_to_amend(proposal)}"
    if proposal.reverted_by_commit:
        told += ", and was undone since"
    told = f"{told}: {proposal.decision_comment}" if proposal.decision_comment else f"{told}."
    return f"{told}\n{_REDACTED}" if proposal.is_redacted else told


#: Which call amends a proposal, by its kind.
_AMENDED_BY: dict[str, str] = {
    Kind.CREATE_BLOCK: "call propose_memory_block again, or another tool for blocks to change the text it proposes,",
    Kind.DELETE_BLOCK: "call propose_memory_edit, or another tool for blocks,",
    Kind.IMPORT: "import the corrected file",
    Kind.SAVE: "save the note again (memory_save), or update it,",
}
_AMENDED = {
    TargetKind.BLOCK: "read the block and call propose_memory_edit, or another tool for blocks, on the text there is,",
    TargetKind.NOTE: "make the change of the note again (memory_update, or as before), as it should be,",
}


def how_to_amend(proposal: Proposal) -> str:
    """Return how an undecided proposal is changed or taken back, in a sentence."""
    how = _AMENDED_BY.get(proposal.kind) or _AMENDED[TargetKind(proposal.target_kind)]
    back = for_list(" Or take it back with withdraw_proposal.")
    amends = f"To amend it, {how} with proposal_id={proposal.pk}: that takes the place of all it asks for.{back}"
    return for_list(amends, or_nearest=True) or for_list("withdraw_proposal takes it back.")


def how_to_follow() -> str:
    """Return which tool tells what becomes of a proposal, or "" where the caller sees none."""
    return for_list("get_proposal tells what became of it.", or_nearest=True)


def listed(proposal: Proposal, asked: ChangeRequest | None, *, is_gone: bool, of_owner: bool) -> str:
    """Return in short what became of a proposal, with the reviewer's comment, and what it asks for below.

    Args:
        asked: what its agent is asked to change.
        is_gone, of_owner: see `proposal` and `target`.
    """
    line = f"- {proposal.pk}: {target(proposal, of_owner=of_owner)}, {outcome(proposal)}"
    if turn.thread_summary(proposal).asks_agent:
        line += " (a person commented)"
    if proposal.is_decided and proposal.decision_reason:
        line += f" ({proposal.decision_reason})"
    if proposal.reverted_by_commit:
        line += ", undone since"
    if asked and asked.reason:
        line += f" ({asked.reason})"
    if asked or proposal.is_decided:
        said = wanted(asked.comment, asked.automatic) if asked else proposal.decision_comment
        words = first_words(said, _WORDS_LISTED)
        line += f": {words}" if words else ""
    else:
        line += f"; {asking.STANDS[proposal.mergeability]}"
    below = [asking.in_short(proposal, is_gone=is_gone), how_to_amend(proposal) if asked else ""]
    if proposal.rest_went_back:
        below.append(f"A part came back to you. {asking.AGAIN.format(proposal.pk)}")
    return line + "".join(f"\n  {each}" for each in below if each)


def in_full(proposal: Proposal) -> str:
    """Return which call has all of a proposal, or "" where the caller sees none."""
    return for_list(f"get_proposal with proposal_id={proposal.pk} has all of it.", or_nearest=True)


def outcome(proposal: Proposal) -> str:
    """Return the status, and of an approval how it was approved: "approved in part"."""
    how = HOW.get(proposal.approval, "") if proposal.status == Status.APPROVED else ""
    return f"{proposal.status}{how}"


def review_url(proposal: Proposal) -> str:
    return f"{settings.PUBLIC_URL}{proposal.get_absolute_url()}"


def time(at: datetime) -> str:
    """Return ISO 8601 in UTC, as `2026-03-01T12:00:00Z`."""
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def branch(proposal: Proposal, revision: Revision) -> str | None:
    """Return the branch that holds a revision; None once it is gone."""
    return None if proposal.is_decided else revision.branch or None


def _undone(proposal: Proposal) -> dict[str, Any] | None:
    """Return who undid the last decision, when and why; None when nobody did."""
    happened = [Event.What.REVERTED] if proposal.is_decided else [Event.What.REVERTED, Event.What.REOPENED]
    by_people = proposal.events.filter(what__in=happened, actor_kind=Event.ActorKind.PERSON)
    last = by_people.order_by("at", "id").last()
    if last is None:
        return None
    return {
        "what": last.what,
        "by": last.actor,
        "at": time(last.at),
        "comment": last.text,
        "commit": last.data.get("commit"),
    }


def _asked(asked: ChangeRequest) -> dict[str, Any]:
    return {
        "by": asked.by or None,
        "at": time(asked.at),
        "reason": asked.reason or asked.automatic or None,
        "comment": wanted(asked.comment, asked.automatic),
        "revision": asked.revision,
    }


def decision(proposal: Proposal) -> dict[str, Any]:
    """Return who decided about a proposal, when and why."""
    return {
        "by": proposal.decided_by.username if proposal.decided_by else None,
        "at": time(proposal.decided_at) if proposal.decided_at else None,
        "reason": proposal.decision_reason or None,
        "comment": proposal.decision_comment,
    }


def comments(proposal: Proposal) -> list[dict[str, Any]]:
    """Return the thread of a proposal, newest first."""
    return [comment(event) for event in reversed(turn.thread_of(proposal))]


def comment(event: Event) -> dict[str, Any]:
    """Return a comment on a proposal."""
    return {
        "by": event.actor,
        "by_kind": event.actor_kind,
        "text": event.text,
        "change": event.data.get("change"),
        "revision": event.revision,
        "at": time(event.at),
    }


def thread(comments: list[dict[str, Any]]) -> str:
    """Return the comments as lines of text, those whole that people wrote since the agent last did.

    Args:
        comments: those of `comment`, newest first.
    """
    since = len(list(takewhile(lambda each: each["by_kind"] != Event.ActorKind.AGENT, comments)))
    lines = [how_to_answer()] if since else []
    for place, each in enumerate(comments[: since + _PLACES]):
        who = "You" if each["by_kind"] == Event.ActorKind.AGENT else each["by"]
        about = f" on change {each['change']}" if each["change"] else ""
        said = each["text"] if place < since else first_words(each["text"], _WORDS_LISTED)
        lines.append(f"{who} commented{about}: {said}")
    return "".join(f"\n{line}" for line in reversed(lines))


def how_to_answer() -> str:
    """Return how a person's comment is answered with the tools that the caller sees."""
    return for_list("Answer with comment_on_proposal.") or "Answer by amending it, with evidence that says so."


#: Why a change waits although others like it do not, for the agent.
_WHY_IT_WAITS: dict[str, str] = {
    ReviewReason.SECRETS: (
        "It reads like a key, token, password or card number, so a person has to see it first. "
        "That counts for reasoning and evidence too. Do not keep secrets in the memory: say where they are kept "
        "instead."
    ),
    ReviewReason.FLAGGED: (
        "A check found something in it that a person has to see first: unseen characters, text that its page would "
        "not show, or text that reads like orders to a model. There is nothing for you to do; do not send it again "
        "in other words."
    ),
    ReviewReason.LARGE: "A rule of the user applies small changes at once; this one is larger, so it waits.",
    ReviewReason.REPEATED: "A person rejected or undid the same before, so a person decides about it again.",
    ReviewReason.RULE: "A rule of the user asks for a person here.",
}


def why_it_waits(proposal: Proposal | None) -> str:
    """Return a line for an agent whose change waits although a policy or a rule may apply others; empty for others."""
    if proposal is None or proposal.is_decided or not proposal.review_reason:
        return ""
    told = _WHY_IT_WAITS.get(proposal.review_reason)
    return f"\n{told}" if told else ""


#: What the sentence about a proposal says of each way to approve it.
HOW: dict[str, str] = {
    Approval.PART: " in part",
    Approval.EDITED: " with changes",
    Approval.RESOLVED: " after a conflict was resolved",
}


def approved_otherwise(proposal: Proposal, taken: ChangedApproval | None, gone: Collection[str] = ()) -> dict[str, Any]:
    """Return the fields `final_text`, `difference`, `not_accepted` and `propose_again`.

    Args:
        taken: how what was approved differs; None for what is approved as proposed, or not at all.
        gone: labels and ids of what was deleted since, where the caller may not read what was deleted.
    """
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
    told["not_accepted"] = _changes_left(taken, gone)
    if not gone:
        places = () if proposal.approval == Approval.PART else taken.differences
        told["difference"] = [{"proposed": each.before, "approved": each.after, **_moved(each)} for each in places]
        told |= {"final_text": taken.approved.result_text, "final_title": taken.new_title}
    return told


def on_approval(proposal: Proposal, data: dict[str, Any]) -> str:
    """Return a line about what was changed, for the model; empty for an approval as proposed.

    Args:
        data: what `approved_otherwise` returned, with the number of the proposal.
    """
    taken = taken_of(proposal)
    if taken is None:
        return ""
    how = asking.otherwise(data, places=_PLACES, most=_WORDS_LISTED)
    if proposal.approval != Approval.PART:
        title = f" Its title is {data['final_title']!r}." if data["final_title"] else ""
        return f"\n{how or 'The memory has other words than yours.'}{title}"
    what = f"{taken.left} of {taken.asked_for} {'notes' if taken.notes_left else 'changes'}"
    if data["propose_again"]:
        return f"\n{what} came back to you. {how}"
    return f"\n{what} were not accepted. Do not propose them again as they were. {how}"


def _changes_left(taken: ChangedApproval, gone: Collection[str]) -> list[dict[str, Any]]:
    """Return what was asked for and not accepted, of an approval in part."""
    if taken.notes_left:
        return _notes(taken.notes_left, gone)
    return [{"before": change.before, "after": change.after, **_moved(change)} for change in taken.changes_left]


def _notes(changes: Sequence[dict[str, Any]], gone: Collection[str]) -> list[dict[str, Any]]:
    """Return what becomes of the first notes, without the texts of what is gone."""
    shown = changes[: fields.NOTES_SHOWN]
    return [{"id": each["id"], "before": None, "after": None} if each["id"] in gone else each for each in shown]


def _moved(change: Hunk) -> dict[str, int]:
    """Return from which line to which it was moved; nothing for what stands where it was."""
    return {"moved_from_line": change.before_line, "moved_to_line": change.after_line} if change.is_moved else {}


#: Not part of a corrected call: the key has its answer already, and the right old_string occurs once.
_OF_THE_FAILED_CALL = {"idempotency_key", "expected_replacements"}


@dataclass(frozen=True)
class Subject:
    """What a call asked for, as far as the words of a refusal depend on it.

    Args:
        label: of the block, where it is about one.
        edits: what was proposed; empty for a call that reads, or proposes a whole block.
        is_of_whole_block: it proposes a new block, or the deletion of one.
        arguments: of a call that makes a proposal, or amends one.
        as_of: the commit or time asked for.
        proposal_id: of the proposal it is about.
        amends: that proposal was to get another revision.
    """

    call: Call
    label: str = ""
    edits: Sequence[edits.Edit] = ()
    arguments: ChangeArguments | None = None
    as_of: str | None = None
    proposal_id: int = 0
    amends: bool = False
    is_of_whole_block: bool = False

    @classmethod
    def of_write(cls, call: Call, arguments: ChangeArguments, **more: Any) -> Subject:
        """Return what a call asked for that makes a proposal, or amends the one it names."""
        number = arguments.proposal_id
        return cls(call, arguments=arguments, proposal_id=number or 0, amends=number is not None, **more)

    def argument(self, field: str) -> str:
        """Return what the tool calls a field of a note."""
        return "memory_id" if field == "note_id" and hasattr(self.arguments, "memory_id") else field

    def corrected(self, index: int, changed: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call that would work.

        Args:
            index: of the edit that fails.
            changed: those of its arguments that are other than in this call.
        """
        if self.arguments is None:
            return changed
        without = _OF_THE_FAILED_CALL if self.call.name in TOOLS else _OF_THE_FAILED_CALL | {"block_label"}
        again = given(self.arguments, without=without)
        if "edits" not in again:
            return again | changed
        again["edits"][index] |= changed
        again["edits"][index].pop("expected_replacements", None)
        return again

    @property
    def proposes(self) -> bool:
        """Whether it proposes a change of a block; the contract words refusals of reading differently."""
        return bool(self.edits) or self.is_of_whole_block
