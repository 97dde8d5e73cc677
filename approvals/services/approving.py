"""Approve a proposal: exactly what the reviewer was shown, some of it, or what the reviewer wrote instead; or nothing.

Each is bound to the revision and the state of the target that were seen (`checks`). Here OPEN becomes MERGING; what
follows is in `merge`.
"""

import uuid
from collections.abc import Collection, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from enum import StrEnum
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from approvals.language import grouped
from approvals.models import Approval, Mergeability, Proposal, RejectReason, Revision, Status, User
from approvals.permissions import ReviewAction
from approvals.review.note_changes import NoteChange, stamped, text_of
from approvals.review.presentation import warnings_of
from approvals.review.targets import BlockState, NotesState, is_deletion, is_of_whole_block, new_block_of
from approvals.services import checks
from approvals.services.errors import DecisionRefused, HasWarnings, NoChange, Refusal, require_within
from approvals.services.merge import finish_merging
from approvals.services.notes import require_valid
from approvals.services.preparing import branch_name
from memory_app import reads
from memory_app.databases import clock
from memory_app.databases.prepared import update
from memory_app.dolt.placement import database_for
from memory_app.text import edits, worddiff


def approve(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    comment: str = "",
    batch: str = "",
    is_with_agent: bool = False,
    despite_warnings: bool = True,
) -> Proposal:
    """Approve what was seen: one revision, against one state of its target.

    Args:
        revision: the revision the reviewer was shown.
        seen_sha256: `Block.sha256` of the block the change was shown against; empty for a missing one.
        comment: for the agent and the history; may be empty.
        batch: of a decision about several, see `decide_several`.
        is_with_agent: the reviewer knows that its agent is asked for changes, and approves it as it is.
        despite_warnings: the reviewer approves it whatever its checks found. Pages ask for that with a second press.

    Returns:
        The approved proposal, with its merge commit.

    Raises:
        HasWarnings: its checks found something, and the reviewer has not said `despite_warnings`.
        ProposalNotFound: there is none, or this person may not see it.
        DecisionRefused: one of its subclasses; nothing was changed.
        EngineUnavailable, OutcomeUnknown: the merge could not be finished now; `recover` finishes it.
    """
    proposal = checks.proposal_for(ReviewAction.APPROVE, actor, proposal_id, revision, is_with_agent=is_with_agent)
    with naming_who_was_first(proposal, revision):
        seen = checks.require_as_seen(proposal, seen_sha256)
    said: dict[str, Any] = {"comment": comment, "batch": batch, "despite_warnings": despite_warnings}
    return claim(proposal, Approval.AS_PROPOSED, actor=actor, seen=seen, **said)


@contextmanager
def naming_who_was_first(proposal: Proposal, revision: int) -> Iterator[None]:
    """Name the person who decided at the same time, instead of what follows from their decision.

    A concurrent decision changes the target and drops the branch.
    """
    try:
        yield
    except DecisionRefused:
        was = proposal.status
        proposal.refresh_from_db()
        if proposal.status != was or proposal.current_revision_number != revision:
            checks.raise_not_open(proposal, revision)
        raise


def claim(
    proposal: Proposal,
    approval: Approval,
    *,
    actor: User,
    seen: checks.Seen,
    comment: str,
    reason: str = "",
    texts: dict[str, Any] | None = None,
    hands_rest_back: bool = False,
    batch: str = "",
    despite_warnings: bool,
) -> Proposal:
    """Move the proposal from OPEN to MERGING, and finish its merge. Return it approved; raise what `approve` raises.

    Args:
        seen: the target as it was checked; with `texts`, how it stands to these.
        texts: the fields of a revision in the reviewer's words, which is merged instead of the agent's.
        reason, hands_rest_back: of the part that is not accepted; see `approve_some`. That it goes back to the agent
            is kept as `handed_back_at`.
        batch, despite_warnings: see `approve`.
    """
    database_for(proposal.owner)  # before anything is claimed: its memory may be moving to another server
    now, revision = timezone.now(), proposal.current_revision
    shown = number = proposal.current_revision_number
    if texts is not None:
        number = proposal.next_revision_number
        of = {"branch": branch_name(proposal.pk, number), "base_commit": seen.commit, "made_by": actor}
        revision = Revision(proposal=proposal, number=number, origin=Revision.Origin.REVIEWER, **of, **texts)
    if not despite_warnings:
        _require_no_warnings(proposal, revision, seen)
    values = {
        "status": Status.MERGING,
        "current_revision_number": number,
        "decided_by_id": actor.pk,
        "decided_at": now,
        "approval": approval,
        "decision_comment": comment.strip(),
        "decision_reason": reason,
        "decision_batch": batch,
        "seen_sha256": seen.target.sha256,
        "merge_operation": uuid.uuid4().hex,
        "main_before": seen.commit,
        "lease_expires_at": clock.now() + settings.LEASE,
        "updated_at": now,
        "handed_back_at": now if hands_rest_back else proposal.handed_back_at,
    }
    as_read = {"id": proposal.pk, "status": proposal.status, "current_revision_number": shown}
    with nullcontext() if texts is None else transaction.atomic(durable=True):
        claimed = update(Proposal, values, where=as_read)
        if claimed and texts is not None:
            revision.save()
            proposal.hold_current_revision(revision)
    if claimed:
        proposal.set_written(values)
    else:
        proposal.refresh_from_db()
        checks.raise_not_open(proposal, shown)
    proposal.decided_by = actor
    return finish_merging(proposal, seen=seen)


def _require_no_warnings(proposal: Proposal, revision: Revision, seen: checks.Seen) -> None:
    """Raise HasWarnings if the checks find something in what would be merged."""
    if risks := warnings_of(proposal, revision, seen.target, seen.assessment):
        message = ngettext(
            "It has %(n)d warning. Read it, then press the button again.",
            "It has %(n)d warnings. Read them, then press the button again.",
            len(risks),
        )
        raise HasWarnings(proposal, message % {"n": len(risks)}, risks=risks)


# -- Some of a proposal's changes: of a block change by change, of an import note by note.

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
    despite_warnings: bool = True,
) -> Proposal:
    """Approve some changes of what was seen; with all of them accepted, approve it as it is.

    Args:
        revision, seen_sha256, despite_warnings: as for `approve`.
        accepted: ids of hunks (`worddiff.hunks` of today's text and the result); of an import, ids of notes.
        rest: whether the others are rejected, or the agent is asked to propose them again, changed. It is told either
            with the decision, and may read them in the proposal.
        reason: one of `REASONS`, why the others are not accepted; may be empty where they go back.
        comment: for the agent and the history; may be empty.

    Returns:
        The approved proposal.

    Raises:
        DecisionRefused (`nothing_approved`): no change is accepted, an id is none of this revision's, or accepted notes
            are no longer as the agent saw them.
        ProposalNotFound, DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
        ValueError: an unknown reason; forms only offer known ones.
    """
    if reason not in REASONS and (reason or rest is Rest.REJECT):
        raise ValueError(f"unknown reason {reason!r}")
    proposal = checks.proposal_for(ReviewAction.APPROVE_SOME, actor, proposal_id, revision)
    with naming_who_was_first(proposal, revision):
        seen = checks.require_target_as_seen(proposal, seen_sha256)
        if not accepted:
            raise _nothing(proposal, _("Nothing is ticked. Tick what is right, or reject the whole proposal."))
        texts = (
            _some_of_block(proposal, seen, accepted)
            if isinstance(seen.target, BlockState)
            else _some_of_notes(proposal, seen, accepted)
        )
        if texts is not None:
            seen = _narrowed(proposal, seen, texts)
    said: dict[str, Any] = {"comment": comment, "despite_warnings": despite_warnings}
    if texts is None:
        return claim(proposal, Approval.AS_PROPOSED, actor=actor, seen=seen, **said)
    said |= {"texts": texts, "reason": reason, "hands_rest_back": rest is Rest.AGENT}
    return claim(proposal, Approval.PART, actor=actor, seen=seen, **said)


def _some_of_block(proposal: Proposal, seen: checks.Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted changes; None if these are all."""
    if is_of_whole_block(proposal.current_revision):
        raise _changes_differ(proposal)
    checks.require_fit(proposal, seen.assessment)
    checks.require_branch(proposal, proposal.current_revision)
    block, whole = checks.block_of(seen.target), seen.assessment.result_text or ""
    assert block is not None, "a change that fits has a block"
    try:
        text = worddiff.apply_some(block.body, whole, accepted)
    except worddiff.UnknownHunk as error:
        raise _changes_differ(proposal) from error
    if text == whole:
        return None
    if len(text) > block.limit:
        over = grouped(len(text) - block.limit)
        message = _("With only these changes, the text would be %(over)s characters over the block’s limit.")
        raise DecisionRefused(proposal, message % {"over": over}, code="conflict")
    # Which changes these were cannot be told for certain from the texts alone.
    (rewrite,) = edits.to_json([edits.Rewrite(text)])
    return _texts_of_block(block, text, [rewrite | {"accepted": sorted(accepted)}])


def _some_of_notes(proposal: Proposal, seen: checks.Seen, accepted: Collection[str]) -> dict[str, Any] | None:
    """Return the fields of a revision with the accepted notes; None if these are all, and all fit."""
    shown = proposal.current_revision
    chosen = set(accepted)
    kept = [change for change in shown.note_changes if change["id"] in chosen]
    if len(kept) != len(chosen):
        raise _changes_differ(proposal)
    if len(kept) == len(shown.note_changes) and seen.assessment.can_be_approved:
        checks.require_branch(proposal, shown)
        return None
    assert isinstance(seen.target, NotesState)
    if seen.target.changed(kept):
        raise _nothing(proposal, _("Some of the ticked notes have changed since they were proposed. Untick them."))
    return _texts_of_notes(kept) | {"risk_report": shown.risk_report}


def _texts_of_block(block: reads.Block | None, text: str, asked: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of a revision that makes this text of the block; None for a new one."""
    base = (block.sha256, block.body) if block else ("", "")
    return {"base_sha256": base[0], "base_text": base[1], "edits": asked, "result_text": text}


def _texts_of_notes(stored: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the fields of a revision that makes these changes."""
    changes = list(map(NoteChange.from_json, stored))
    before, after = [change.before for change in changes], [change.after for change in changes]
    return {
        "base_sha256": "",
        "base_text": text_of(before),
        "edits": [],
        "result_text": text_of(after),
        "note_changes": stored,
    }


def _narrowed(proposal: Proposal, seen: checks.Seen, texts: dict[str, Any]) -> checks.Seen:
    """Return the state of the part alone, which the merge compares again, and how the part stands to it."""
    part = Revision(proposal=proposal, **texts)
    target = seen.target.of(part)
    assessment = target.assess(part)
    checks.require_fit(proposal, assessment)
    return replace(seen, target=target, assessment=assessment)


def _changes_differ(proposal: Proposal) -> DecisionRefused:
    return _nothing(proposal, _("What is ticked are not the changes of this proposal as it is now."))


def _nothing(proposal: Proposal, message: str) -> DecisionRefused:
    return DecisionRefused(proposal, message, code="nothing_approved")


# -- A text of the reviewer's own instead of the agent's: reworded, or written to resolve a conflict.


def approve_edited(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    text: str,
    title: str | None = None,
    comment: str = "",
    resolves: bool = False,
    despite_warnings: bool = True,
) -> Proposal:
    """Approve a proposal in the reviewer's words, in one commit with both authorships.

    Args:
        revision, seen_sha256, comment, despite_warnings: as for `approve`.
        text: the whole block, or the content of the note, as it is to be. The text as proposed is a plain approval.
        title: of a new block, as it is to be; as proposed by default. Of no meaning for other proposals.
        resolves: the proposal conflicts with what its target has become, and the text settles every conflict.

    Raises:
        NoChange: it is today's text.
        Refusal: it is blank.
        `already_applied`: the memory says already what was proposed.
        DecisionRefused: the proposal deletes, or is about several notes.
        `over_limit`, `note_invalid`, ForbiddenCharacter: as for a person's own edit.
        ProposalNotFound, DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
    """
    action, approval = (ReviewAction.RESOLVE, Approval.RESOLVED) if resolves else (ReviewAction.EDIT, Approval.EDITED)
    proposal = checks.proposal_for(action, actor, proposal_id, revision)
    edits.check_text(text, field="text")
    shown = proposal.current_revision
    proposed = new_block_of(shown)
    new = proposed
    if new and title is not None:
        edits.check_text(title, field="title")
        new = replace(new, title=title)
    with naming_who_was_first(proposal, revision):
        seen = checks.require_target_as_seen(proposal, seen_sha256)
        target = seen.target
        as_proposed = (seen.assessment.result_text or "") if isinstance(target, BlockState) else shown.result_text
        if seen.assessment.can_be_approved and text == as_proposed and new == proposed:
            checks.require_branch(proposal, shown)
            texts, approval = None, Approval.AS_PROPOSED
        else:
            if new is None and seen.assessment.state == Mergeability.ALREADY_APPLIED:
                checks.require_fit(proposal, seen.assessment)  # there is no change to reword
            if new is not None:
                require_within(text, new.limit)
                texts = _texts_of_block(None, text, new.as_edits())
            elif isinstance(target, BlockState):
                texts = _reworded_block(proposal, target.block, text)
            else:
                texts = _reworded_note(proposal, text)
            seen = _narrowed(proposal, seen, texts)
    said: dict[str, Any] = {"comment": comment, "texts": texts, "despite_warnings": despite_warnings}
    return claim(proposal, approval, actor=actor, seen=seen, **said)


def _reworded_block(proposal: Proposal, block: reads.Block | None, text: str) -> dict[str, Any]:
    if not text.strip():
        raise Refusal(_("The text is empty. To delete it, reject this proposal and delete it on its page."))
    if is_deletion(proposal.current_revision):
        raise DecisionRefused(proposal, _("This proposal deletes the block: there is no text to reword."))
    if block is None:
        raise DecisionRefused(proposal, _("The block was deleted; there is nothing to change."), code="conflict")
    if text == block.body:
        raise NoChange(_("This is the block’s text as it is now. Reject the proposal if nothing should change."))
    require_within(text, block.limit)
    return _texts_of_block(block, text, edits.to_json([edits.Rewrite(text)]))


def _reworded_note(proposal: Proposal, text: str) -> dict[str, Any]:
    """Return the change of the note with this content. What else the agent changes is made on the note as it is now."""
    changes = proposal.current_revision.note_changes
    if len(changes) != 1:
        raise DecisionRefused(proposal, _("A proposal of several notes is approved note by note."))
    asked = NoteChange.from_json(changes[0])
    now = reads.find_note(proposal.owner, asked.id)
    if asked.after is None or asked.after.is_superseded:
        raise DecisionRefused(proposal, _("This proposal has no text to reword."))
    if now is None and asked.before is not None:
        raise DecisionRefused(proposal, _("The note was deleted; there is nothing to change."), code="conflict")
    if now is not None and now.content == text:
        raise NoChange(_("This is the note’s text as it is now. Reject the proposal if nothing should change."))
    after = stamped(replace(_with_other_changes(asked, now), content=text), timezone.now())
    require_valid(after)
    return _texts_of_notes([NoteChange(asked.id, now, after).as_json()])


def _with_other_changes(asked: NoteChange, now: reads.Note | None) -> reads.Note:
    """Return the note with the fields that the agent changes, and the others as they are now."""
    assert asked.after is not None
    if asked.before is None or now is None:
        return asked.after
    changed = {name: value for name, value in vars(asked.after).items() if value != getattr(asked.before, name)}
    return replace(now, **changed)
