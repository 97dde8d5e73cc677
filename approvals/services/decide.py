"""A person decides about a proposal, or its agent takes it back.

A small state machine across two databases (design.md §3 rule 7): compare-and-swap OPEN → MERGING with
everything the merge needs, merge the reviewed hash, compare-and-swap to APPROVED, tidy up. Whoever dies
in between leaves a lease behind, and `finish_merging` goes on from wherever that was; merging a hash
twice is harmless.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Mergeability, Proposal, RejectReason, Revision, Status, User
from approvals.permissions import ReviewAction, available_actions, may_decide, may_read
from approvals.recovery.ledger import retry_after_committing_stray_rows
from approvals.review.mergeability import Assessment
from approvals.review.targets import (
    BlockState,
    TargetState,
    current_state,
    matches,
    state_at_head,
    targets_of,
)
from approvals.services import events, texts
from approvals.services.errors import (
    AlreadyDecided,
    AlreadyInMemory,
    BeingDecided,
    BranchMissing,
    DecisionRefused,
    NewRevision,
    NoLongerFits,
    NotAllowed,
    ProposalNotFound,
    TargetChanged,
)
from approvals.services.propose import branch_name, write_revision_branch
from approvals.services.recheck import after_change
from memory_app import reads
from memory_app.databases.prepared import Prepared, update
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.dolt.errors import AlreadyMerged, MergeConflict, RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.writing import commits

log = structlog.get_logger(__name__)


def approve(*, actor: User, proposal_id: int, revision: int, seen_sha256: str, comment: str = "") -> Proposal:
    """Approve what was seen: one revision, against one state of its target.

    Args:
        revision: the revision the reviewer was shown.
        seen_sha256: `Block.sha256` of the block the change was shown against; empty for a missing one.
        comment: for the agent and the history; may be empty.

    Returns:
        The approved proposal, with its merge commit.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        DecisionRefused: by one of its subclasses; nothing was changed, the proposal is as it was.
        EngineUnavailable, OutcomeUnknown: the merge could not be finished now; `recover` will.
    """
    proposal = _proposal_for(ReviewAction.APPROVE, actor, proposal_id, revision)
    try:
        seen = _require_as_seen(proposal, seen_sha256)
    except DecisionRefused:
        # Whoever decided this moment also changed the target and dropped the branch; say who it was
        # rather than what it left behind.
        proposal.refresh_from_db()
        if proposal.status != Status.OPEN or proposal.current_revision_number != revision:
            raise_not_open(proposal, revision)
        raise

    now = timezone.now()
    values = {
        "status": Status.MERGING,
        "decided_by_id": actor.pk,
        "decided_at": now,
        "decision_comment": comment.strip(),
        "decision_reason": "",
        "seen_sha256": seen_sha256,
        "merge_operation": uuid.uuid4().hex,
        "main_before": seen.commit,
        "lease_expires_at": now + settings.LEASE,
        "updated_at": now,
    }
    with transaction.atomic(durable=True):
        claimed = update(
            Proposal, values, where={"id": proposal.pk, "status": Status.OPEN, "current_revision_number": revision}
        )
    if not claimed:
        proposal.refresh_from_db()
        raise_not_open(proposal, revision)
    proposal.set_written(values)
    proposal.decided_by = actor
    return finish_merging(proposal, seen=seen)


def reject(*, actor: User, proposal_id: int, revision: int, reason: str, comment: str = "") -> Proposal:
    """Reject a revision. Who, why and the head's hash stay; the branch goes, and with `too_private` every text.

    Args:
        reason: a `RejectReason` value.
        comment: in the person's words, for the agent; required when the reason is `other`.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`.
        ValueError: no such reason; forms offer only those there are.
    """
    if reason not in RejectReason.values:
        raise ValueError(f"unknown reject reason {reason!r}")
    proposal = _proposal_for(ReviewAction.REJECT, actor, proposal_id, revision)
    return _close(
        proposal,
        Status.REJECTED,
        Event.What.REJECTED,
        actor=actor,
        text=comment.strip(),
        fields={
            "decided_by_id": actor.pk,
            "decision_reason": reason,
            "decision_comment": comment.strip(),
        },
        removes_texts=reason == RejectReason.TOO_PRIVATE,
    )


def close_as_present(*, actor: User, proposal_id: int, revision: int, seen_sha256: str) -> Proposal:
    """Close a proposal whose change is in the memory already: nobody finds fault with it.

    To the agent it is a rejection as a duplicate, with a comment that says so.

    Args:
        seen_sha256: of the target in which the change was seen; a target that changed since may need it again.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`; `TargetChanged` also when it is not there any more.
    """
    proposal = _proposal_for(ReviewAction.REJECT, actor, proposal_id, revision)
    standing = current_state(proposal, proposal.current_revision)
    is_there = standing.assess(proposal.current_revision).state == Mergeability.ALREADY_APPLIED
    if standing.sha256 != seen_sha256 or not is_there:
        raise TargetChanged(proposal, _block(standing))
    comment = _("This is already in memory; nothing was left to change.")
    return _close(
        proposal,
        Status.REJECTED,
        Event.What.REJECTED,
        actor=actor,
        text=comment,
        fields={
            "decided_by_id": actor.pk,
            "decision_reason": RejectReason.DUPLICATE,
            "decision_comment": comment,
            "mergeability": Mergeability.ALREADY_APPLIED,
        },
    )


def withdraw(*, agent: Agent, proposal_id: int, comment: str = "", operation: str | None = None) -> Proposal:
    """An agent takes its own open proposal back.

    Args:
        operation: 32 hexadecimal digits of the call; the same one withdraws once, and returns what it withdrew.

    Raises:
        ProposalNotFound: there is none of this agent's.
        AlreadyDecided, BeingDecided: a person was first.
    """
    proposal = _OF_AGENT.first(pk=proposal_id, agent=agent.pk)
    if proposal is None:
        raise ProposalNotFound
    if operation and proposal.merge_operation == operation and not proposal.is_redacted:
        return proposal
    if proposal.status != Status.OPEN:
        raise_not_open(proposal, proposal.current_revision_number)
    try:
        return _close(
            proposal,
            Status.WITHDRAWN,
            Event.What.WITHDRAWN,
            actor=agent,
            text=comment.strip(),
            fields={"decision_comment": comment.strip(), "merge_operation": operation or ""},
        )
    except NewRevision:  # another call of the agent's amended it meanwhile; that is taken back too
        return withdraw(agent=agent, proposal_id=proposal_id, comment=comment, operation=operation)


_OF_AGENT = Prepared(
    lambda pk, agent: Proposal.objects.filter(pk=pk, agent=agent).select_related("agent").order_by(), pk=int, agent=int
)


@dataclass(frozen=True)
class Seen:
    """What `approve` found this moment, having made sure that it is what the reviewer was shown.

    Args:
        commit: of main, not newer than the standing.
    """

    commit: str
    standing: TargetState
    assessment: Assessment


def finish_merging(proposal: Proposal, *, seen: Seen | None = None) -> Proposal:
    """Bring a MERGING proposal to APPROVED, from wherever it got to; used by `approve` and `recover`.

    Args:
        seen: the operation was begun this moment, so that there is nothing of it to look for in the log.

    Raises:
        DecisionRefused: the memory changed so that what was seen cannot be merged. The proposal is OPEN
            again and the memory untouched by it.
    """
    done = None if seen else commits.find(proposal.owner, proposal.merge_operation, since=proposal.main_before)
    try:
        merged = done.hash if done else _merge(proposal, seen)  # and closed
    except _AlreadyMerged as error:
        done, merged = error.commit, error.commit.hash
    except _LeaseLost:
        if proposal.status == Status.APPROVED:
            return proposal
        raise_not_open(proposal, proposal.current_revision_number)
    if done:
        commits.record(done.hash, _entry(proposal), at=commits.time_of(done), beside=partial(_close_approved, proposal))
    if not matches(proposal, proposal.current_revision, merged):
        # Cannot happen while rows conflict as wholes; if it does, somebody has to know.
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
    drop_branches(proposal)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))
    return proposal


def _close_approved(proposal: Proposal, commit: str) -> None:
    """Put down that a proposal is in the memory; in the transaction that records its commit."""
    values = {
        "status": Status.APPROVED,
        "merge_commit": commit,
        "mergeability": Mergeability.CLEAN,
        "lease_expires_at": None,
        "updated_at": timezone.now(),
    }
    events.close(
        proposal,
        values,
        Event.What.APPROVED,
        expected={"status": Status.MERGING},
        actor=proposal.decided_by,
        text=proposal.decision_comment,
        commit=commit,
    )


def close_by_itself(proposal: Proposal, status: Status, what: Event.What) -> Proposal:
    """Close an open proposal without a person's decision (expiry)."""
    return _close(proposal, status, what, actor=None, text="", fields={})


def drop_branches(proposal: Proposal) -> None:
    """Remove the branches of a decided proposal. Failing costs only space: `recover` does it again."""
    for number in range(1, proposal.current_revision_number + 1):
        name = branch_name(proposal.pk, number)
        try:
            commits.drop_branch(proposal.owner, name)
        except Exception:
            log.exception("branch_not_dropped", proposal=proposal.pk, branch=name)


def require_revertible(actor: User, proposal_id: int) -> Proposal:
    """An applied proposal this person may undo; for `notes.revert`. Raises as deciding does."""
    proposal = _visible(actor, proposal_id)
    if ReviewAction.REVERT not in available_actions(actor, proposal):
        if not may_decide(actor, proposal.owner):
            raise NotAllowed(proposal, _("You may not decide about this memory."))
        raise AlreadyDecided(proposal, _("This change has already been reverted, or was not automatic."))
    return proposal


# -- steps ----------------------------------------------------------------------------------------


def _merge(proposal: Proposal, seen: Seen | None) -> str:
    """Merge the revision, made again on today's main first when the target changed since its base."""
    revision = proposal.current_revision
    standing: TargetState
    if seen is None or proposal.target_kind != TargetKind.BLOCK:
        standing = current_state(proposal, revision)
        if standing.sha256 != proposal.seen_sha256:
            _reopen(proposal)
            raise TargetChanged(proposal, _block(standing))
        assessment = standing.assess(revision)
        if not assessment.can_be_approved:
            _reopen(proposal)
            _require_fit(proposal, assessment)
    else:
        # A block that changes from here on is met by the merge: its row conflicts, or is not as a new revision has it.
        standing, assessment = seen.standing, seen.assessment
    if assessment.is_stale:
        revision = _reapply_on_main(proposal, standing, assessment)
    if not revision.head_commit:
        _put_on_branch(proposal, revision)
    if seen is None or assessment.is_stale:  # what a hash stands for never changes
        try:
            _require_branch(proposal, revision)
        except BranchMissing:
            _reopen(proposal)
            raise
    try:
        return _write(proposal, revision)
    except MergeConflict:
        now = current_state(proposal, revision)
        if now.sha256 != proposal.seen_sha256 or revision.base_commit == head_of_main():
            _reopen(proposal)
            raise TargetChanged(proposal, _block(now)) from None
    # The target says what was seen, but its row was written since the base: changed, and changed back.
    # The engine compares rows, so the same text is put on a branch from today's main.
    revision = _reapply_on_main(proposal, now, assessment)
    _put_on_branch(proposal, revision)
    try:
        return _write(proposal, revision)
    except MergeConflict:
        _reopen(proposal)
        raise TargetChanged(proposal, _block(current_state(proposal, revision))) from None


def _write(proposal: Proposal, revision: Revision) -> str:
    reviewer = proposal.decided_by
    assert reviewer is not None, "MERGING is entered with a reviewer"

    try:
        change = retry_after_committing_stray_rows(
            lambda: commits.write_main(
                commits.Merge(revision.head_commit),
                entry=_entry(proposal),
                author=commits.person(reviewer.username, reviewer.display_name),
                subject=f"Approve proposal {proposal.pk}: {proposal.target} of {proposal.owner}",
                since=proposal.main_before,
                beside=partial(_close_approved, proposal),
            )
        )
    except AlreadyMerged:
        _reopen(proposal)
        raise AlreadyInMemory(proposal, _("Nothing is left to approve.")) from None
    return change.commit


def _reapply_on_main(proposal: Proposal, standing: TargetState, assessment: Assessment) -> Revision:
    """A new revision on today's main, which says exactly what the reviewer was shown."""
    shown = proposal.current_revision
    assert assessment.result_text is not None
    block = _block(standing)
    number = proposal.current_revision_number + 1
    with transaction.atomic(durable=True):
        revision = Revision.objects.create(
            proposal=proposal,
            number=number,
            origin=Revision.Origin.REAPPLIED,
            branch=branch_name(proposal.pk, number),
            base_commit=head_of_main(),
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


def _put_on_branch(proposal: Proposal, revision: Revision) -> None:
    """Write the branch of a revision that was made again.

    Raises:
        TargetChanged: another decision or edit came between the target that was looked at and the head of main.
    """
    try:
        revision.head_commit = write_revision_branch(proposal, revision)
    except (commits.TargetMoved, reads.BlockNotFound):
        _reopen(proposal)
        raise TargetChanged(proposal, _block(current_state(proposal, revision))) from None
    revision.save(update_fields=["head_commit"])


def _reopen(proposal: Proposal) -> None:
    """Back to OPEN after a real conflict; what was made for this decision only is taken away again.

    Raises:
        _AlreadyMerged: there is no conflict but with the merge itself.
        _LeaseLost: the row is not MERGING any more; it is whoever finished it that decides.
    """
    if done := commits.find(proposal.owner, proposal.merge_operation, since=proposal.main_before):
        raise _AlreadyMerged(done)
    made_here = proposal.revisions.filter(origin=Revision.Origin.REAPPLIED)
    branches = list(made_here.values_list("branch", flat=True))
    first = proposal.revisions.exclude(origin=Revision.Origin.REAPPLIED).order_by("-number")
    number = first.values_list("number", flat=True)[0]
    with transaction.atomic(durable=True):
        reopened = Proposal.objects.filter(pk=proposal.pk, status=Status.MERGING).update(
            status=Status.OPEN,
            current_revision_number=number,
            decided_by=None,
            decided_at=None,
            decision_comment="",
            seen_sha256="",
            merge_operation="",
            main_before="",
            lease_expires_at=None,
            updated_at=timezone.now(),
        )
        if reopened:
            made_here.delete()
            proposal.current_revision_number = number
            events.record(proposal, Event.What.REOPENED, actor=None)
    proposal.refresh_from_db()
    if not reopened:
        raise _LeaseLost
    for branch in branches:
        commits.drop_branch(proposal.owner, branch)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))


class _AlreadyMerged(Exception):
    """Another process that finishes the same decision, or a server that answered too late, merged it."""

    def __init__(self, commit: Commit) -> None:
        self.commit = commit
        super().__init__(commit.hash)


class _LeaseLost(Exception):
    """Two processes were finishing one decision, since one had outlived its lease; the other was done first."""


def _close(
    proposal: Proposal,
    status: Status,
    what: Event.What,
    *,
    actor: events.Actor,
    text: str,
    fields: dict[str, object],
    removes_texts: bool = False,
) -> Proposal:
    now = timezone.now()
    values = {"status": status, "decided_at": now, "updated_at": now, **fields}
    shown = proposal.current_revision_number
    as_seen = {"status": Status.OPEN, "current_revision_number": shown}
    reason = str(fields.get("decision_reason", ""))
    with transaction.atomic(durable=True):
        closed = events.close(proposal, values, what, expected=as_seen, actor=actor, text=text, reason=reason)
        if closed and removes_texts:
            texts.remove(proposal, actor=actor)
    if removes_texts or not closed:
        proposal.refresh_from_db()
    if not closed:
        raise_not_open(proposal, shown)
    log.info(f"proposal_{what}", proposal=proposal.pk, user_id=proposal.owner, target=proposal.target)
    drop_branches(proposal)
    if removes_texts:
        texts.collect_soon()
    return proposal


def _entry(proposal: Proposal) -> commits.LedgerEntry:
    return commits.LedgerEntry(
        action=Change.Action.APPROVED,
        owner=proposal.owner,
        targets=targets_of(proposal, proposal.current_revision),
        operation=proposal.merge_operation,
        actor=proposal.decided_by.username if proposal.decided_by else "",
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
        comment=proposal.decision_comment,
    )


# -- refusals -------------------------------------------------------------------------------------


def _proposal_for(action: ReviewAction, actor: User, proposal_id: int, revision: int) -> Proposal:
    """Return the proposal, at this revision, if this person may do this with it now.

    Raises:
        ProposalNotFound, NotAllowed, AlreadyDecided, BeingDecided, NewRevision.
    """
    proposal = _visible(actor, proposal_id)
    if action not in available_actions(actor, proposal):
        if not may_decide(actor, proposal.owner):
            raise NotAllowed(proposal, _("You may not decide about this memory."))
        raise_not_open(proposal, proposal.current_revision_number)
    _require_revision(proposal, revision)
    return proposal


def _visible(actor: User, proposal_id: int) -> Proposal:
    proposal = _WITH_PEOPLE.first(pk=proposal_id)
    if proposal is None or not may_read(actor, proposal.owner):
        raise ProposalNotFound
    return proposal


_WITH_PEOPLE = Prepared(
    lambda pk: Proposal.objects.filter(pk=pk).select_related("agent", "decided_by").order_by(), pk=int
)


def _require_revision(proposal: Proposal, revision: int) -> None:
    if proposal.current_revision_number != revision:
        raise NewRevision(proposal, _("This proposal has just changed."))


def raise_not_open(proposal: Proposal, revision: int) -> NoReturn:
    """Say who was first; for a proposal that is no longer open, or not at this revision.

    Raises:
        AlreadyDecided, BeingDecided, NewRevision.
    """
    if proposal.status in (Status.MERGING, Status.PREPARING):
        raise BeingDecided(proposal, _("This proposal is being processed. Try again in a few seconds."))
    if proposal.is_decided:
        who = proposal.decided_by.display_name if proposal.decided_by else proposal.agent.name
        if proposal.status == Status.EXPIRED:
            raise AlreadyDecided(proposal, _("This proposal has expired."))
        raise AlreadyDecided(
            proposal,
            _("%(who)s was first: this proposal is %(status)s.")
            % {"who": who, "status": Status(proposal.status).label},
        )
    _require_revision(proposal, revision)
    raise BeingDecided(proposal, _("This proposal changed this moment. Look at it again."))


def _require_as_seen(proposal: Proposal, seen_sha256: str) -> Seen:
    """The target is what the reviewer was shown, the change fits it, and the branch holds the change."""
    shown = proposal.current_revision
    commit, standing = state_at_head(proposal, shown)
    if standing.sha256 != seen_sha256:
        raise TargetChanged(proposal, _block(standing))
    assessment = standing.assess(shown)
    _require_fit(proposal, assessment)
    _require_branch(proposal, shown)
    return Seen(commit, standing, assessment)


def _require_fit(proposal: Proposal, assessment: Assessment) -> None:
    if assessment.state == Mergeability.ALREADY_APPLIED:
        raise AlreadyInMemory(proposal, _("The memory says this already; there is nothing to approve."))
    if assessment.over_limit:
        raise NoLongerFits(
            proposal,
            _("Applied to the current text, this would be %(over)s characters over the block’s limit.")
            % {"over": f"{assessment.over_limit:,}"},
        )
    if assessment.closes_circle:
        raise NoLongerFits(
            proposal,
            _("The replacement has itself been replaced by this note. Approving would make them replace each other."),
        )
    if not assessment.can_be_approved:
        raise NoLongerFits(proposal, _("The change no longer fits the text as it is now."))


def _require_branch(proposal: Proposal, revision: Revision) -> None:
    """The branch stands at the recorded hash and holds the recorded text (design.md §3 rules 3 and 9)."""
    missing = _(
        "The branch of this proposal is gone or was changed, so what you saw cannot be merged. "
        "Reject it; the agent can propose it again."
    )
    try:
        if dolt().head(revision.branch) != revision.head_commit:
            raise BranchMissing(proposal, missing)
        if not matches(proposal, revision, revision.head_commit):
            raise BranchMissing(proposal, missing)
    except RevisionNotFound as error:
        raise BranchMissing(proposal, missing) from error
    if revision.head_commit == revision.base_commit:
        raise BranchMissing(proposal, missing)


def _block(standing: TargetState) -> reads.Block | None:
    return standing.block if isinstance(standing, BlockState) else None
