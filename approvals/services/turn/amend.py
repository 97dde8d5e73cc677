"""An agent amends its undecided proposal about a block: the edits, on today's text, become the next revision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import DECIDABLE, Agent, Event, Kind, Mergeability, Proposal, Revision, Status
from approvals.review.summary import summarise
from approvals.review.whole_blocks import is_of_whole_block
from approvals.risks import flags
from approvals.services import events
from approvals.services.decide.checks import raise_not_open
from approvals.services.errors import (
    BeingDecided,
    BlockReadOnly,
    NothingAmended,
    OtherTarget,
    ProposalNotFound,
    TooManyRevisions,
)
from approvals.services.preparing import branch_name, finish_once, finish_preparing, lease_of
from approvals.services.propose import Proposed, apply_edits, outcome_of
from approvals.services.texts import require_texts
from memory_app import reads
from memory_app.databases.prepared import insert
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.text import edits as text_edits
from memory_app.writing import commits

# -- The next revision of an undecided proposal, by its agent: what amending blocks and notes has in common.

log = structlog.get_logger(__name__)

#: An agent and a reviewer who do not agree by then start anew.
MOST_REVISIONS = 100

Finish = Callable[[Proposal], Proposal]


def own_proposal(agent: Agent, owner: str, proposal_id: int) -> Proposal:
    """Return an agent's proposal for this owner.

    Raises:
        ProposalNotFound: this agent has no proposal with this number for this owner.
    """
    found = Proposal.objects.by_agent(agent).of_owner(owner).select_related("agent", "decided_by")
    proposal = found.filter(pk=proposal_id).first()
    if proposal is None or (proposal.status == Status.PREPARING and proposal.auto_applied):
        raise ProposalNotFound
    return proposal


def made_before(proposal: Proposal, operation: str | None, finish: Finish) -> Proposal | None:
    """Return the proposal as an earlier call with this operation amended it; None when there was none.

    Raises:
        AlreadyDecided: its texts were removed since.
    """
    if not operation:
        return None
    if not proposal.events.filter(what=Event.What.AMENDED, data__operation=operation).exists():
        # Removing the texts removes the operation too; what became of the proposal is the answer then.
        return None
    require_texts(proposal)
    return finish(proposal) if proposal.status == Status.PREPARING else proposal


def require_amendable(proposal: Proposal, finish: Finish) -> Proposal:
    """Return the proposal, which is undecided, has nothing under way and may get another revision.

    Raises:
        AlreadyDecided, BeingDecided, BeingMade, TooManyRevisions.
    """
    if proposal.status == Status.PREPARING:
        proposal = finish(proposal)
    if proposal.status not in DECIDABLE:
        raise_not_open(proposal, proposal.current_revision_number)
    if proposal.current_revision_number >= MOST_REVISIONS:
        raise TooManyRevisions(proposal, MOST_REVISIONS)
    return proposal


def require_target(proposal: Proposal, kind: str, target: str) -> None:
    """Raise OtherTarget unless the proposal is about this block or note."""
    if (proposal.target_kind, proposal.target) != (kind, target):
        raise OtherTarget(proposal)


def begin(
    proposal: Proposal,
    *,
    operation: str | None,
    said: dict[str, Any],
    values: dict[str, Any],
    also: Callable[[], None] | None = None,
    **texts: Any,
) -> Proposal:
    """Move the proposal to PREPARING with its next revision; the caller finishes it and drops the former branch.

    Args:
        proposal: as `require_amendable` returned it.
        said: what the agent says with the call; empty values leave the proposal's as they are.
        values: the fields of the proposal that follow from the change.
        also: called in the same transaction.
        texts: the fields of the revision.

    Raises:
        AlreadyDecided, BeingDecided: a person, or another call, was faster.
    """
    number, now = proposal.current_revision_number + 1, timezone.now()
    fields = {
        **values,
        **{name: value for name, value in said.items() if value},
        "status": Status.PREPARING,
        "mergeability": Mergeability.CLEAN,
        "current_revision_number": number,
        "lease_expires_at": now + lease_of(len(texts.get("note_changes", ()))),
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "handed_back_at": None,
        "reminded_at": None,
        "owner_reminded_at": None,
        "updated_at": now,
    }
    as_read = Proposal.objects.filter(pk=proposal.pk, current_revision_number=proposal.current_revision_number)
    with transaction.atomic(durable=True):
        # A person may ask for changes, or take that back, at the same time: the answer is the same.
        moved = as_read.filter(status__in=DECIDABLE).update(**fields)
        if moved:
            branch = branch_name(proposal.pk, number)
            revision = insert(Revision(proposal=proposal, number=number, branch=branch, created_at=now, **texts))
            proposal.set_written(fields)
            proposal.hold_current_revision(revision)
            made_by = {"operation": operation} if operation else {}
            events.record(
                proposal, Event.What.AMENDED, actor=proposal.agent, text=proposal.reasoning, at=now, **made_by
            )
            if also:
                also()
    if not moved:
        _raise_not_moved(proposal)
    return proposal


def drop_former_branch(proposal: Proposal, revision: Revision) -> None:
    """Drop the branch of the revision before. A failure only costs space: `recover` drops it later."""
    try:
        commits.drop_branch(proposal.owner, revision.branch)
    except (DoltError, DatabaseError):
        log.exception("branch_not_dropped", proposal=proposal.pk, branch=revision.branch)


def _raise_not_moved(proposal: Proposal) -> None:
    proposal.refresh_from_db()
    if proposal.status in DECIDABLE:
        raise BeingDecided(proposal, _("Another call has just amended this proposal."))
    raise_not_open(proposal, proposal.current_revision_number)


def amend(
    *,
    agent: Agent,
    owner: str,
    proposal_id: int,
    label: str,
    edits: Sequence[text_edits.Edit],
    kind: Kind,
    reasoning: str,
    confidence: str = "medium",
    session_id: str = "",
    evidence: Sequence[dict[str, Any]] = (),
    expected_sha256: str | None = None,
    operation: str | None = None,
) -> Proposed:
    """Ask for something else in an undecided proposal: its next revision. It does not count against the caps.

    Args:
        proposal_id: the proposal, of this agent, for this owner and this block.
        edits: on the block's text as it is now, not on that of the revision before.
        session_id, evidence: empty leaves the proposal's as they are.
        operation: 32 hexadecimal digits; a call with the same one returns the same revision.

    Raises:
        ProposalNotFound: there is none, or it is another agent's or owner's.
        AlreadyDecided, BeingDecided, BeingMade: it was decided, or is being decided, prepared or amended.
        OtherTarget, TooManyRevisions: see `errors`.
        NothingAmended: it asks for exactly this already, on the current text, and no other evidence is given.
        BlockNotFound, EditError, BlockReadOnly, PreconditionFailed, NoChange, OverLimit: as for `propose`.
    """
    proposal = own_proposal(agent, owner, proposal_id)
    if done := made_before(proposal, operation, partial(_finished, is_resumed=True)):
        return outcome_of(done, created=True, amended=True)
    proposal = require_amendable(proposal, _finished)
    require_target(proposal, TargetKind.BLOCK, label)
    base = reads.snapshot(owner, label)
    if base.block.read_only:
        raise BlockReadOnly(f"Block '{label}' is read-only.")
    applied = apply_edits(base.block, edits, expected_sha256)
    former = proposal.current_revision
    is_same = _is_same(former, base.block, applied)
    if is_same and list(evidence) in ([], proposal.evidence):
        raise NothingAmended(proposal)
    said = {"reasoning": reasoning, "confidence": confidence, "session_id": session_id, "evidence": list(evidence)}
    _begin(proposal, base, applied, kind, said, operation)
    proposal = finish_once(proposal, partial(finish_preparing, base=base.block), is_mine=True)
    drop_former_branch(proposal, former)
    return outcome_of(proposal, created=True, amended=True, block=base.block)


def _begin(
    proposal: Proposal,
    base: reads.Snapshot,
    applied: text_edits.Applied,
    kind: Kind,
    said: dict[str, Any],
    operation: str | None,
) -> None:
    block = base.block
    spoken = flags.said_with(said["reasoning"], said["evidence"] or proposal.evidence)
    summary = summarise(block.body, applied.text, said=spoken)
    begin(
        proposal,
        operation=operation,
        said=said,
        values={
            "kind": kind,
            "target_title": block.display_title,
            "search_words": summary.search_words(said["reasoning"], block.label, block.display_title),
            "result_sha256": text_edits.sha256_of(applied.text),
            **summary.fields,
        },
        base_commit=base.commit,
        base_sha256=block.sha256,
        base_text=block.body,
        edits=text_edits.to_json(applied.edits),
        result_text=applied.text,
    )


def _is_same(former: Revision, block: reads.Block, applied: text_edits.Applied) -> bool:
    """Whether a revision asks for this already, on the block as it is now."""
    if former.base_sha256 != block.sha256 or is_of_whole_block(former):
        return False
    return former.result_text == applied.text


def _finished(proposal: Proposal, *, is_resumed: bool = False) -> Proposal:
    return finish_once(proposal, finish_preparing, is_mine=False, is_resumed=is_resumed)
