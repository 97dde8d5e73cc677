"""Merge an approved revision, and finish what a dead process began.

A state machine across two databases: `approve` moves OPEN → MERGING by compare-and-swap and stores what the merge
needs; here the reviewed hash is merged, the row moves to APPROVED, and the branches are dropped. A process that dies
leaves a lease behind; once it has expired, `recover` calls `finish_merging`, which continues from any step. Merging a
hash twice is harmless. See docs/architecture.md for the diagram.
"""

from functools import partial
from typing import Any

import structlog
from django.db import transaction

from approvals.models import Approval, Event, Mergeability, Proposal, ReviewReason, Revision, Status
from approvals.review import targets
from approvals.services import events, repeating
from approvals.services.checks import UNDECIDED, Seen, block_of, raise_not_open, require_branch, require_fit
from approvals.services.errors import DecisionRefused, TargetChanged
from approvals.services.hand_back import hand_back_others
from approvals.services.preparing import branch_name, drop_branches, write_revision_branch
from approvals.services.recheck import after_change
from approvals.services.writing import entry_of, write_main
from memory_app import reads
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.dolt.errors import AlreadyMerged, MergeConflict
from memory_app.dolt.placement import database_of
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.writing import commits, ledger, rows

log = structlog.get_logger(__name__)


def finish_merging(proposal: Proposal, *, seen: Seen | None = None) -> Proposal:
    """Finish a MERGING proposal from any step, to APPROVED; used by `approve` and `recover`.

    Args:
        seen: the target as `approve` has just checked it. The operation is new then, so the log is not searched for it.

    Raises:
        DecisionRefused: the memory changed, so that what was seen cannot be merged. The proposal is OPEN again; the
            memory is unchanged.
    """
    done = None if seen else dolt(proposal.owner).find_operation(proposal.merge_operation, proposal.main_before)
    try:
        merged = done.hash if done else _merge(proposal, seen)  # and closed
    except _AlreadyMerged as error:
        done, merged = error.commit, error.commit.hash
    except _LeaseLost:
        if proposal.status == Status.APPROVED:
            return proposal
        raise_not_open(proposal, proposal.current_revision_number)
    if done:
        database = database_of(proposal.owner)
        ledger.record_found(database, done, _entry(proposal), on_record=partial(_close_approved, proposal))
    if not targets.matches(proposal, proposal.current_revision, merged):
        # Cannot happen while rows conflict as wholes; logged as an error in case it does.
        log.error("merge_result_differs", proposal=proposal.pk, commit=merged)

    if proposal.status != Status.APPROVED:  # another process closed it
        proposal.refresh_from_db()
    log.info(
        "proposal_approved",
        proposal=proposal.pk,
        user_id=proposal.owner,
        target=proposal.target,
        reviewer=proposal.decided_by.username if proposal.decided_by else "",
        commit=merged,
    )
    after_approval(proposal)
    return proposal


def after_approval(proposal: Proposal) -> None:
    """Take the steps that follow on an approval; taking them again is harmless."""
    drop_branches(proposal)
    after_change(proposal.owner, targets.targets_of(proposal, proposal.current_revision))
    if proposal.kind in targets.WHOLE_KINDS:
        hand_back_others(proposal)


def _close_approved(proposal: Proposal, commit: str) -> None:
    """Set APPROVED, in the transaction that records the commit in the ledger."""
    values = {
        "status": Status.APPROVED,
        "merge_commit": commit,
        "mergeability": Mergeability.CLEAN,
        "lease_expires_at": None,
    }
    said: dict[str, Any] = {"text": proposal.decision_comment, "expected": {"status": Status.MERGING}}
    said |= {"commit": commit, "approval": proposal.approval, "reason": proposal.decision_reason}
    if not events.move(proposal, values, Event.What.APPROVED, actor=proposal.decided_by, **said):
        return
    if proposal.review_reason == ReviewReason.REPEATED and proposal.answers_id:
        repeating.forget(proposal.answers_id)
    if proposal.approval == Approval.PART and not proposal.rest_went_back:
        repeating.remember(proposal)


# -- steps ----------------------------------------------------------------------------------------


def _merge(proposal: Proposal, seen: Seen | None) -> str:
    """Merge the revision; when the target changed since its base, reapply it on the head of main first.

    What is refused is open again; see `_reopen` for what else that raises.
    """
    try:
        return _merge_as_seen(proposal, seen)
    except DecisionRefused:
        _reopen(proposal)
        raise


def _merge_as_seen(proposal: Proposal, seen: Seen | None) -> str:
    revision = proposal.current_revision
    target: targets.TargetState
    if seen is None or proposal.target_kind != TargetKind.BLOCK:
        target = targets.current_state(proposal, revision)
        if target.sha256 != proposal.seen_sha256:
            raise TargetChanged(proposal, block_of(target))
        assessment = target.assess(revision)
        require_fit(proposal, assessment)
    else:
        # A later change of the block makes the merge conflict: its row differs from the revision's base.
        target, assessment = seen.target, seen.assessment
    # What the agent proposed has no branch after its base left the history; what this decision made has none yet.
    if assessment.is_stale or (not revision.head_commit and revision.origin == Revision.Origin.AGENT):
        revision = _reapply_on_main(proposal, target, assessment)
    if not revision.head_commit:
        _write_branch(proposal, revision)
    if seen is None or assessment.is_stale:  # otherwise checked before; the content of a hash never changes
        require_branch(proposal, revision)
    try:
        return _write(proposal, revision)
    except (MergeConflict, AlreadyMerged) as error:
        _require_not_done(proposal)
        now = targets.current_state(proposal, revision)
        is_at_head = isinstance(error, MergeConflict) and revision.base_commit == head_of_main(proposal.owner)
        if now.sha256 != proposal.seen_sha256 or is_at_head:
            raise TargetChanged(proposal, block_of(now)) from None
    # The text is as seen, but its row was written since the base: changed and changed back, or approved and undone. The
    # engine compares rows and commits, so the same text is written to a new branch from the head of main.
    revision = _reapply_on_main(proposal, now, assessment)
    _write_branch(proposal, revision)
    try:
        return _write(proposal, revision)
    except MergeConflict:
        raise TargetChanged(proposal, block_of(targets.current_state(proposal, revision))) from None


def _write(proposal: Proposal, revision: Revision) -> str:
    reviewer = proposal.decided_by
    assert reviewer is not None, "MERGING is entered with a reviewer"

    return write_main(
        revision.head_commit,
        entry=_entry(proposal),
        by=reviewer,
        subject=f"Approve proposal {proposal.pk}: {proposal.target} of {proposal.owner}",
        since=proposal.main_before,
        on_record=partial(_close_approved, proposal),
    ).commit


def _reapply_on_main(proposal: Proposal, target: targets.TargetState, assessment: targets.Assessment) -> Revision:
    """Return a new revision based on the head of main, with exactly the text the reviewer was shown."""
    shown = proposal.current_revision
    assert assessment.result_text is not None
    block = block_of(target)
    number = proposal.next_revision_number
    with transaction.atomic(durable=True):
        revision = Revision.objects.create(
            proposal=proposal,
            number=number,
            origin=Revision.Origin.REVIEWER if shown.made_by_id else Revision.Origin.REAPPLIED,
            made_by_id=shown.made_by_id,
            branch=branch_name(proposal.pk, number),
            base_commit=head_of_main(proposal.owner),
            base_sha256=block.sha256 if block else "",
            base_text=block.body if block else shown.base_text,
            edits=shown.edits,
            result_text=assessment.result_text,
            note_changes=shown.note_changes,
            risk_report=shown.risk_report,
        )
        Proposal.objects.filter(pk=proposal.pk).update(current_revision_number=number)
        proposal.current_revision_number = number
        events.record(proposal, Event.What.REAPPLIED, actor=None)
    return revision


def _write_branch(proposal: Proposal, revision: Revision) -> None:
    """Write the branch of a revision that this decision made.

    Raises:
        TargetChanged: another decision or edit was committed between the check of the target and the head of main.
    """
    try:
        revision.head_commit = write_revision_branch(proposal, revision)
    except (rows.TargetMoved, reads.BlockNotFound):
        raise TargetChanged(proposal, block_of(targets.current_state(proposal, revision))) from None
    revision.save(update_fields=["head_commit"])


def _reopen(proposal: Proposal) -> None:
    """Move back to OPEN after a real conflict, and remove the revisions made for this decision only.

    Raises:
        _AlreadyMerged: the only conflict is with this merge itself.
        _LeaseLost: the row is no longer MERGING; the process that finished it decides.
    """
    _require_not_done(proposal)
    made_here = proposal.revisions.exclude(origin=Revision.Origin.AGENT).filter(created_at__gte=proposal.decided_at)
    branches = list(made_here.values_list("branch", flat=True))
    number = targets.agents_revision(proposal).number
    with transaction.atomic(durable=True):
        values = {**UNDECIDED, "current_revision_number": number, "decision_batch": ""}
        as_read = {"status": Status.MERGING}
        if reopened := events.move(proposal, values, Event.What.REOPENED, actor=None, expected=as_read):
            made_here.delete()
    proposal.refresh_from_db()
    if not reopened:
        raise _LeaseLost
    for branch in branches:
        commits.drop_branch(proposal.owner, branch)
    after_change(proposal.owner, targets.targets_of(proposal, proposal.current_revision))


def _require_not_done(proposal: Proposal) -> None:
    """Raise _AlreadyMerged if this decision is on main."""
    if done := dolt(proposal.owner).find_operation(proposal.merge_operation, proposal.main_before):
        raise _AlreadyMerged(done)


class _AlreadyMerged(Exception):
    """Another process finished the same decision, or the server merged and its answer was lost."""

    def __init__(self, commit: Commit) -> None:
        self.commit = commit
        super().__init__(commit.hash)


class _LeaseLost(Exception):
    """This process outlived its lease, and another one finished the decision first."""


def _entry(proposal: Proposal) -> ledger.LedgerEntry:
    operation, comment = proposal.merge_operation, proposal.decision_comment
    return entry_of(proposal, Change.Action.APPROVED, operation, actor=proposal.decided_by, comment=comment)
