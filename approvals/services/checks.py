"""The preconditions of a decision, and the refusals when they do not hold."""

from dataclasses import dataclass
from typing import NoReturn

from django.utils.translation import gettext as _

from approvals.language import grouped
from approvals.models import Mergeability, Proposal, Revision, Status, User
from approvals.permissions import ReviewAction, available_actions, may_decide, may_read
from approvals.review.targets import Assessment, BlockState, TargetState, matches, state_at_head
from approvals.review.turn import change_request
from approvals.services import errors
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound

#: What the fields of a decision are where there is none: an approval that failed, or one that is taken back.
UNDECIDED = {
    "status": Status.OPEN,
    **dict.fromkeys(("decided_by_id", "decided_at", "handed_back_at", "lease_expires_at")),
    **dict.fromkeys(("approval", "decision_comment", "decision_reason", "seen_sha256"), ""),
    **dict.fromkeys(("merge_operation", "main_before", "merge_commit"), ""),
}


@dataclass(frozen=True)
class Seen:
    """The target as it was checked before a decision: the same as the reviewer was shown.

    Args:
        commit: a commit of main, not newer than `target`.
        assessment: how the revision to be merged stands to `target`.
    """

    commit: str
    target: TargetState
    assessment: Assessment


def proposal_for(
    action: ReviewAction, actor: User, proposal_id: int, revision: int, *, is_with_agent: bool = False
) -> Proposal:
    """Return the proposal, if it is at this revision and this person may take this action now.

    Args:
        is_with_agent: this person knows that its agent is asked for changes.

    Raises:
        ProposalNotFound, `not_allowed`, AlreadyDecided, BeingDecided, WithAgent, NewRevision.
    """
    proposal = visible_proposal(actor, proposal_id)
    if action not in available_actions(actor, proposal):
        if not may_decide(actor, proposal.owner):
            raise errors.not_allowed(proposal)
        raise_not_open(proposal, proposal.current_revision_number)
    require_revision(proposal, revision)
    if proposal.is_with_agent and not is_with_agent:
        raise_not_open(proposal, revision)
    return proposal


def locked_proposal(proposal_id: int) -> Proposal | None:
    """Return the proposal, locked until the transaction ends; None where there is none."""
    found = Proposal.objects.select_for_update(of=("self",)).select_related("agent", "decided_by")
    return found.filter(pk=proposal_id).first()


def visible_proposal(actor: User, proposal_id: int) -> Proposal:
    proposal = Proposal.objects.filter(pk=proposal_id).select_related("agent", "decided_by").first()
    if proposal is None or not may_read(actor, proposal.owner):
        raise errors.ProposalNotFound
    return proposal


def require_revision(proposal: Proposal, revision: int) -> None:
    if proposal.current_revision_number != revision:
        raise errors.NewRevision(proposal, _("This proposal has just changed."))


def raise_not_open(proposal: Proposal, revision: int) -> NoReturn:
    """Raise the refusal for a proposal that is no longer open, or at another revision.

    Raises:
        AlreadyDecided, BeingDecided, NewRevision, WithAgent.
    """
    if proposal.status in (Status.MERGING, Status.PREPARING):
        raise errors.BeingDecided(proposal, _("This proposal is being processed. Try again in a few seconds."))
    if proposal.is_decided:
        who = proposal.decided_by.display_name if proposal.decided_by else proposal.agent.name
        if proposal.status == Status.EXPIRED:
            raise errors.AlreadyDecided(proposal, _("This proposal has expired."))
        if proposal.was_already_applied and not proposal.decided_by:
            raise errors.AlreadyDecided(proposal, _("This was already in the memory, so the proposal has been closed."))
        raise errors.AlreadyDecided(
            proposal,
            _("%(who)s was first: this proposal is %(status)s.")
            % {"who": who, "status": Status(proposal.status).label},
        )
    require_revision(proposal, revision)
    if asked := change_request(proposal):
        message = _("%(who)s asked %(agent)s for changes.") % {"who": asked.by_name, "agent": proposal.agent.name}
        raise errors.WithAgent(proposal, message)
    raise errors.BeingDecided(proposal, _("This proposal changed this moment. Look at it again."))


def require_as_seen(proposal: Proposal, seen_sha256: str) -> Seen:
    """Return the target, if it is as the reviewer saw it, the change fits it, and the branch contains the change."""
    seen = require_target_as_seen(proposal, seen_sha256)
    require_fit(proposal, seen.assessment)
    require_branch(proposal, proposal.current_revision)
    return seen


def require_target_as_seen(proposal: Proposal, seen_sha256: str) -> Seen:
    """Return the target, if it is as the reviewer saw it, whether or not the change fits it."""
    shown = proposal.current_revision
    commit, target = state_at_head(proposal, shown)
    if target.sha256 != seen_sha256:
        raise errors.TargetChanged(proposal, block_of(target))
    return Seen(commit, target, target.assess(shown))


def require_fit(proposal: Proposal, assessment: Assessment) -> None:
    if assessment.state == Mergeability.ALREADY_APPLIED:
        raise errors.DecisionRefused(
            proposal, _("This is already in the memory; there is nothing to approve."), code="already_applied"
        )
    if assessment.can_be_approved:
        return
    why = _("The change no longer fits the text as it is now.")
    if assessment.over_limit:
        why = _("Applied to the current text, this would be %(over)s characters over the block’s limit.")
        why %= {"over": grouped(assessment.over_limit)}
    elif assessment.closes_circle:
        why = _("The replacement has itself been replaced by this note. Approving would make them replace each other.")
    raise errors.DecisionRefused(proposal, why, code="conflict")


def require_branch(proposal: Proposal, revision: Revision) -> None:
    """Raise `branch_missing` unless the branch is at the recorded hash and contains the recorded text.

    Only the hash a person reviewed is merged: a branch that was moved outside Assent is refused. One from before the
    history was squashed is gone; the recorded text is written to a new one when it is merged.
    """
    if not revision.head_commit:
        return
    missing = _(
        "The branch of this proposal is gone or was changed, so what you saw cannot be merged. "
        "Reject it; the agent can propose it again."
    )
    try:
        is_there = dolt(proposal.owner).head(revision.branch) == revision.head_commit != revision.base_commit
        if not is_there or not matches(proposal, revision, revision.head_commit):
            raise errors.DecisionRefused(proposal, missing, code="branch_missing")
    except RevisionNotFound as error:
        raise errors.DecisionRefused(proposal, missing, code="branch_missing") from error


def block_of(target: TargetState) -> reads.Block | None:
    return target.block if isinstance(target, BlockState) else None
