"""Approve a text of the reviewer's own instead of the agent's: reworded, or written to resolve a conflict."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Approval, Mergeability, Proposal, Revision, User
from approvals.permissions import ReviewAction
from approvals.review.note_changes import NoteChange, stamped, text_of
from approvals.review.targets import BlockState
from approvals.review.whole_blocks import NewBlock, is_deletion, new_block_of
from approvals.services.decide.approve import claim, naming_who_was_first
from approvals.services.decide.checks import Seen, proposal_for, require_branch, require_fit, require_target_as_seen
from approvals.services.errors import NoLongerFits, NotEditable, NoText, OverLimit, SameAsNow
from approvals.services.notes.values import require_valid
from memory_app import reads
from memory_app.text import edits


def approve_edited(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    text: str,
    title: str | None = None,
    comment: str = "",
) -> Proposal:
    """Approve a proposal in the reviewer's words, in one commit with both authorships.

    Args:
        revision, seen_sha256, comment: as for `approve`.
        text: the whole block, or the content of the note, as it is to be. The text as proposed is a plain approval.
        title: of a new block, as it is to be; as proposed by default. Of no meaning for other proposals.

    Raises:
        SameAsNow: it is today's text.
        NoText: it is blank.
        AlreadyApplied: the memory says already what was proposed.
        NotEditable: the proposal deletes, or is about several notes.
        OverLimit, NoteInvalid, ForbiddenCharacter: as for a person's own edit.
        ProposalNotFound, DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
    """
    return _approve_text(
        ReviewAction.EDIT,
        Approval.EDITED,
        actor=actor,
        proposal_id=proposal_id,
        revision=revision,
        seen_sha256=seen_sha256,
        text=text,
        comment=comment,
        title=title,
    )


def resolve(
    *, actor: User, proposal_id: int, revision: int, seen_sha256: str, text: str, comment: str = ""
) -> Proposal:
    """Approve a proposal that conflicts with what its target has become, as a text that settles both.

    Args:
        text: the whole block, or the content of the note, with every conflict settled.

    Raises:
        As for `approve_edited`.
    """
    return _approve_text(
        ReviewAction.RESOLVE,
        Approval.RESOLVED,
        actor=actor,
        proposal_id=proposal_id,
        revision=revision,
        seen_sha256=seen_sha256,
        text=text,
        comment=comment,
    )


def _approve_text(
    action: ReviewAction,
    approval: Approval,
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    text: str,
    comment: str,
    title: str | None = None,
) -> Proposal:
    proposal = proposal_for(action, actor, proposal_id, revision)
    edits.check_text(text, field="text")
    new = new_block_of(proposal.current_revision)
    if new and title is not None:
        edits.check_text(title, field="title")
        new = replace(new, title=title)
    with naming_who_was_first(proposal, revision):
        seen = require_target_as_seen(proposal, seen_sha256)
        is_same = text == _proposed(proposal, seen) and new == new_block_of(proposal.current_revision)
        is_as_proposed = seen.assessment.can_be_approved and is_same
        if not is_as_proposed and new is None:
            _require_text(proposal, seen, text)
        if is_as_proposed:
            require_branch(proposal, proposal.current_revision)
        else:
            texts = _texts(proposal, seen, text, new)
            reworded = Revision(proposal=proposal, **texts)
            target = seen.target.of(reworded)
            seen = replace(seen, target=target, assessment=target.assess(reworded))
            require_fit(proposal, seen.assessment)
    if is_as_proposed:
        return claim(proposal, Approval.AS_PROPOSED, actor=actor, seen=seen, comment=comment)
    return claim(proposal, approval, actor=actor, seen=seen, comment=comment, texts=texts)


def _require_text(proposal: Proposal, seen: Seen, text: str) -> None:
    """Raise AlreadyApplied where there is no change to reword, and NoText unless there is a text."""
    if seen.assessment.state == Mergeability.ALREADY_APPLIED:
        require_fit(proposal, seen.assessment)
    if not text.strip() and isinstance(seen.target, BlockState):  # of a note, its rules say so
        raise NoText(proposal, _("The text is empty. To delete it, reject this proposal and delete it on its page."))


def _proposed(proposal: Proposal, seen: Seen) -> str:
    if isinstance(seen.target, BlockState):
        return seen.assessment.result_text or ""
    return proposal.current_revision.result_text


def _texts(proposal: Proposal, seen: Seen, text: str, new: NewBlock | None) -> dict[str, Any]:
    if new is not None:
        return _texts_of_new_block(text, new)
    if isinstance(seen.target, BlockState):
        return _texts_of_block(proposal, seen.target, text)
    return _texts_of_note(proposal, text)


def _texts_of_block(proposal: Proposal, target: BlockState, text: str) -> dict[str, Any]:
    block = target.block
    if is_deletion(proposal.current_revision):
        raise NotEditable(proposal, _("This proposal deletes the block: there is no text to reword."))
    if block is None:
        raise NoLongerFits(proposal, _("The block was deleted; there is nothing to change."))
    if text == block.body:
        raise SameAsNow(
            proposal, _("This is the block’s text as it is now. Reject the proposal if nothing should change.")
        )
    if len(text) > block.limit:
        raise OverLimit(used=len(text), limit=block.limit)
    return {
        "base_sha256": block.sha256,
        "base_text": block.body,
        "edits": edits.to_json([edits.Rewrite(text)]),
        "result_text": text,
    }


def _texts_of_new_block(text: str, new: NewBlock) -> dict[str, Any]:
    """Return the fields of a revision that makes the block with this text."""
    if len(text) > new.limit:
        raise OverLimit(used=len(text), limit=new.limit)
    return {
        "base_sha256": "",
        "base_text": "",
        "edits": new.as_edits(),
        "result_text": text,
    }


def _texts_of_note(proposal: Proposal, text: str) -> dict[str, Any]:
    """Return the change of the note with this content. What else the agent changes is made on the note as it is now."""
    (stored,) = _one(proposal)
    asked = NoteChange.from_json(stored)
    now = reads.find_notes(proposal.owner, [asked.id]).get(asked.id)
    if asked.after is None or asked.after.is_superseded:
        raise NotEditable(proposal, _("This proposal has no text to reword."))
    if now is None and asked.before is not None:
        raise NoLongerFits(proposal, _("The note was deleted; there is nothing to change."))
    if now is not None and now.content == text:
        raise SameAsNow(
            proposal, _("This is the note’s text as it is now. Reject the proposal if nothing should change.")
        )
    after = stamped(replace(_with_other_changes(asked, now), content=text), timezone.now())
    require_valid(after)
    change = NoteChange(asked.id, now, after)
    return {
        "base_sha256": "",
        "base_text": text_of([change.before]),
        "edits": [],
        "result_text": text_of([change.after]),
        "note_changes": [change.as_json()],
    }


def _with_other_changes(asked: NoteChange, now: reads.Note | None) -> reads.Note:
    """Return the note with the fields that the agent changes, and the others as they are now."""
    assert asked.after is not None
    if asked.before is None or now is None:
        return asked.after
    changed = {name: value for name, value in vars(asked.after).items() if value != getattr(asked.before, name)}
    return replace(now, **changed)


def _one(proposal: Proposal) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = proposal.current_revision.note_changes
    if len(changes) != 1:
        raise NotEditable(proposal, _("A proposal of several notes is approved note by note."))
    return changes
