"""Approve some of a proposal's changes: of a block change by change, of an import note by note."""

from __future__ import annotations

import uuid
from collections.abc import Collection
from dataclasses import replace
from enum import StrEnum
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Approval, Event, Kind, Proposal, RejectReason, Revision, Status, User
from approvals.permissions import ReviewAction
from approvals.review.mergeability import assess
from approvals.review.note_changes import NoteChange, said_beside, sha256_of, text_of, title_of
from approvals.review.summary import summarise
from approvals.review.targets import BlockState, NotesState, agents_revision
from approvals.review.whole_blocks import is_of_whole_block
from approvals.risks import flags
from approvals.services import events
from approvals.services.decide.approve import approve, claim, naming_who_was_first
from approvals.services.decide.checks import (
    Seen,
    proposal_for,
    require_branch,
    require_fit,
    require_target_as_seen,
)
from approvals.services.errors import ChangesDiffer, NoLongerFits, NotesOutdated, NothingChosen
from approvals.services.notes.agents import name_notes
from approvals.services.preparing import finish_once, insert_prepared, lease_of, write_revision_branch
from memory_app import reads
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.reads import Block
from memory_app.text import edits, worddiff

#: Reasons for leaving a part out. What is too private is rejected as a whole, which removes its texts.
REASONS = tuple(reason for reason in RejectReason if reason != RejectReason.TOO_PRIVATE)


class Rest(StrEnum):
    """What becomes of the changes that are not accepted."""

    REJECT = "reject"
    AGENT = "agent"


def approve_some(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    accepted: Collection[str],
    rest: Rest,
    reason: str = "",
    comment: str = "",
) -> Proposal:
    """Approve some changes of what was seen; with all of them accepted, approve it as it is.

    Args:
        revision, seen_sha256: as for `approve`.
        accepted: ids of hunks (`worddiff.hunks` of today's text and the result); of an import, ids of notes.
        rest: whether the others are rejected, or go back to the agent as a proposal of their own.
        reason: one of `REASONS`, why the others are not accepted; may be empty where they go back.
        comment: for the agent and the history; may be empty.

    Returns:
        The approved proposal. What went back to the agent is in its `answered_by`.

    Raises:
        NothingChosen: no change is accepted.
        ChangesDiffer: an id is none of this revision's.
        NotesOutdated: accepted notes are no longer as the agent saw them.
        ProposalNotFound, DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
        ValueError: an unknown reason; forms only offer known ones.
    """
    if reason not in REASONS and (reason or rest is Rest.REJECT):
        raise ValueError(f"unknown reason {reason!r}")
    proposal = proposal_for(ReviewAction.APPROVE_SOME, actor, proposal_id, revision)
    with naming_who_was_first(proposal, revision):
        seen = require_target_as_seen(proposal, seen_sha256)
        if not accepted:
            raise NothingChosen(proposal, _("Nothing is ticked. Tick what is right, or reject the whole proposal."))
        texts = (
            _some_of_block(proposal, seen, accepted)
            if isinstance(seen.target, BlockState)
            else _some_of_notes(proposal, seen, accepted)
        )
        if texts is not None:
            seen = _narrowed(proposal, seen, texts)
    if texts is None:
        return approve(
            actor=actor, proposal_id=proposal_id, revision=revision, seen_sha256=seen_sha256, comment=comment
        )
    return claim(
        proposal,
        Approval.PART,
        actor=actor,
        seen=seen,
        comment=comment,
        reason=reason,
        texts=texts,
        hands_rest_back=rest is Rest.AGENT,
    )


def _some_of_block(proposal: Proposal, seen: Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted changes; None if these are all."""
    if is_of_whole_block(proposal.current_revision):
        raise _changes_differ(proposal)
    require_fit(proposal, seen.assessment)
    require_branch(proposal, proposal.current_revision)
    block, whole = _block(seen), seen.assessment.result_text or ""
    try:
        text = worddiff.apply_some(block.body, whole, accepted)
    except worddiff.UnknownHunk as error:
        raise _changes_differ(proposal) from error
    if text == whole:
        return None
    if len(text) > block.limit:
        over = f"{len(text) - block.limit:,}"
        message = _("With only these changes, the text would be %(over)s characters over the block’s limit.")
        raise NoLongerFits(proposal, message % {"over": over})
    return {
        "base_sha256": block.sha256,
        "base_text": block.body,
        # Which changes these were cannot be told for certain from the texts alone.
        "edits": [{**edits.to_json([edits.Rewrite(text)])[0], "accepted": sorted(accepted)}],
        "result_text": text,
    }


def _some_of_notes(proposal: Proposal, seen: Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted notes; None if these are all, and all fit."""
    shown = proposal.current_revision
    chosen = set(accepted)
    kept = [change for change in shown.note_changes if change["id"] in chosen]
    if len(kept) != len(chosen):
        raise _changes_differ(proposal)
    if len(kept) == len(shown.note_changes) and seen.assessment.can_be_approved:
        return None
    assert isinstance(seen.target, NotesState)
    now = seen.target.notes
    outdated = [change["id"] for change in kept if now.get(change["id"], "") != _sha256(change["before"])]
    if outdated:
        raise NotesOutdated(proposal, outdated)
    changes = tuple(map(NoteChange.from_json, kept))
    return {
        "base_sha256": "",
        "base_text": text_of([change.before for change in changes]),
        "edits": [],
        "result_text": text_of([change.after for change in changes]),
        "note_changes": kept,
        "risk_report": shown.risk_report,
    }


def _narrowed(proposal: Proposal, seen: Seen, texts: dict[str, Any]) -> Seen:
    """Return the state of the part alone, which the merge compares again, and how the part stands to it."""
    part = Revision(proposal=proposal, **texts)
    target = seen.target.of(part)
    assessment = target.assess(part)
    require_fit(proposal, assessment)
    return replace(seen, target=target, assessment=assessment)


def _block(seen: Seen) -> Block:
    block = seen.target.block if isinstance(seen.target, BlockState) else None
    assert block is not None, "a change that fits has a block"
    return block


def _sha256(note: dict[str, Any] | None) -> str:
    return note["sha256"] if note else ""


def _changes_differ(proposal: Proposal) -> ChangesDiffer:
    return ChangesDiffer(proposal, _("What is ticked are not the changes of this proposal as it is now."))


# -- What was not accepted of a proposal goes back to its agent: a proposal of its own, with changes requested.

log = structlog.get_logger(__name__)


def ask(proposal: Proposal, actor: User) -> None:
    """Record, in the transaction of the decision, that what it leaves goes back to the agent."""
    events.record(
        proposal,
        Event.What.CHANGES_REQUESTED,
        actor=actor,
        text=proposal.decision_comment,
        reason=proposal.decision_reason,
        of_rest=True,
    )


def forget(proposal: Proposal) -> None:
    """Remove what `ask` recorded: the decision was undone before it took effect."""
    _asked(proposal).delete()


def hands_back(proposal: Proposal) -> bool:
    """Whether the other part of an approval in part goes back to the agent."""
    return bool(_asked(proposal).exists())


def prepare_rest(proposal: Proposal) -> None:
    """Insert what goes back to the agent, if anything is left, in the transaction that approves the other part."""
    texts = _rest_of_block(proposal) if proposal.target_kind == TargetKind.BLOCK else _rest_of_notes(proposal)
    if texts is None:  # somebody made the same change since
        return
    now = timezone.now()
    is_import = proposal.kind == Kind.IMPORT
    operation = uuid.uuid5(uuid.UUID(proposal.merge_operation), "rest").hex
    ids = [change["id"] for change in texts.get("note_changes", ())]
    rest = Proposal(
        owner=proposal.owner,
        target_kind=proposal.target_kind,
        target=f"import-{operation[:12]}" if is_import else proposal.target,
        target_title=texts.pop("title"),
        kind=proposal.kind,
        agent_id=proposal.agent_id,
        reasoning=proposal.reasoning,
        confidence=proposal.confidence,
        session_id=proposal.session_id,
        evidence=proposal.evidence,
        review_reason=proposal.review_reason,
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(len(ids)),
        answers=proposal,
        handed_back_at=now,
    )
    insert_prepared(rest, base_commit=proposal.merge_commit, **texts)
    if is_import:
        name_notes(rest, ids)


def finish_rest(proposal: Proposal) -> None:
    """Hand over what `prepare_rest` inserted. The approval stands: what fails here is left to `recover`."""
    for rest in proposal.answered_by.filter(status=Status.PREPARING).select_related("agent"):
        try:
            finish_once(rest, finish, is_mine=True)
        except (DoltError, DatabaseError):
            log.exception("rest_not_handed_back", proposal=proposal.pk, rest=rest.pk)


def is_rest(proposal: Proposal) -> bool:
    """Whether a PREPARING proposal was made by `prepare_rest`."""
    return proposal.handed_back_at is not None and proposal.current_revision_number == 1


def finish(rest: Proposal) -> Proposal:
    """Write the branch of a rest and hand it to its agent. Idempotent."""
    revision = rest.current_revision
    answered = rest.answers
    head = write_revision_branch(rest, revision)
    summary = summarise(
        revision.base_text,
        revision.result_text,
        beside=said_beside(revision.note_changes),
        said=flags.said_with(rest.reasoning, rest.evidence),
    )
    handed = {
        "status": Status.CHANGES_REQUESTED,
        "lease_expires_at": None,
        "updated_at": timezone.now(),
        "search_words": summary.search_words(rest.reasoning, rest.target, rest.target_title),
        "result_sha256": edits.sha256_of(revision.result_text),
        **summary.fields,
    }
    with transaction.atomic(durable=True):
        Revision.objects.filter(pk=revision.pk).update(head_commit=head)
        if Proposal.objects.filter(pk=rest.pk, status=Status.PREPARING).update(**handed):
            events.record(
                rest,
                Event.What.CHANGES_REQUESTED,
                actor=answered.decided_by if answered else None,
                text=answered.decision_comment if answered else "",
                reason=answered.decision_reason if answered else "",
                answers=answered.pk if answered else None,
            )
    rest.refresh_from_db()
    log.info("rest_handed_back", proposal=rest.pk, user_id=rest.owner, answers=answered.pk if answered else None)
    return rest


# -- what is left ---------------------------------------------------------------------------------


def _asked(proposal: Proposal) -> Any:
    return proposal.events.filter(what=Event.What.CHANGES_REQUESTED, data__of_rest=True)


def _rest_of_block(proposal: Proposal) -> dict[str, Any] | None:
    """Return the fields of the revision that makes the other changes too, on the block as it was approved."""
    approved = proposal.current_revision
    then = reads.block_at(proposal.owner, proposal.target, approved.base_commit)
    wanted = assess(agents_revision(proposal), then).result_text
    now = reads.block_at(proposal.owner, proposal.target, proposal.merge_commit)
    if wanted is None or wanted == now.body:
        log.error("rest_lost", proposal=proposal.pk)
        return None
    return _on_block(proposal, now, wanted)


def _on_block(proposal: Proposal, now: reads.Block, wanted: str) -> dict[str, Any]:
    return {
        "title": proposal.target_title,
        "base_sha256": now.sha256,
        "base_text": now.body,
        "edits": edits.to_json(_as_edits(now.body, wanted)),
        "result_text": wanted,
    }


def whole_of(proposal: Proposal, commit: str) -> dict[str, Any] | None:
    """Return the fields of a revision with all the agent asked for, on the memory at `commit`.

    None where nothing of it is left to do, or it no longer fits.
    """
    if proposal.target_kind != TargetKind.BLOCK:
        return _notes_asked_for(proposal, commit, taken=set())
    now = reads.block_at(proposal.owner, proposal.target, commit)
    wanted = assess(agents_revision(proposal), now).result_text
    return None if wanted is None or wanted == now.body else _on_block(proposal, now, wanted)


def _as_edits(before: str, after: str) -> tuple[edits.Edit, ...]:
    """Return the changes as one replacement each, which fit a text that changes elsewhere; else one rewrite."""
    replacements = [edits.Replace(hunk.before, hunk.after) for hunk in worddiff.hunks(before, after)]
    try:
        made = edits.apply(before, tuple(replacements))
    except edits.EditError:
        return (edits.Rewrite(after),)
    return made.edits if made.text == after else (edits.Rewrite(after),)


def _rest_of_notes(proposal: Proposal) -> dict[str, Any] | None:
    """Return the fields of the revision with the other notes, each on what it is now."""
    taken = {change["id"] for change in proposal.current_revision.note_changes}
    return _notes_asked_for(proposal, proposal.merge_commit, taken=taken)


def _notes_asked_for(proposal: Proposal, commit: str, *, taken: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the notes that were asked for, on what they are at `commit`."""
    asked = agents_revision(proposal)
    left = [change for change in asked.note_changes if change["id"] not in taken]
    found = reads.find_notes(proposal.owner, [change["id"] for change in left], commit)
    changes = tuple(
        NoteChange(change.id, found.get(change.id), change.after)
        for change in map(NoteChange.from_json, left)
        if sha256_of(change.after) != sha256_of(found.get(change.id))
    )
    if not changes:
        return None
    return {
        "title": title_of(changes),
        "base_sha256": "",
        "base_text": text_of([change.before for change in changes]),
        "edits": [],
        "result_text": text_of([change.after for change in changes]),
        "note_changes": [change.as_json() for change in changes],
        "risk_report": asked.risk_report,
    }
