"""Approve a proposal: exactly what the reviewer was shown, or nothing."""

from __future__ import annotations

import uuid

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from approvals.models import Proposal, Status, User
from approvals.permissions import ReviewAction
from approvals.services.decide.checks import proposal_for, raise_not_open, require_as_seen
from approvals.services.decide.merge import finish_merging
from approvals.services.errors import DecisionRefused
from memory_app.databases.prepared import update


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
        DecisionRefused: one of its subclasses; nothing was changed.
        EngineUnavailable, OutcomeUnknown: the merge could not be finished now; `recover` finishes it.
    """
    proposal = proposal_for(ReviewAction.APPROVE, actor, proposal_id, revision)
    try:
        seen = require_as_seen(proposal, seen_sha256)
    except DecisionRefused:
        # A concurrent decision changes the target and drops the branch: name the person, not these consequences.
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
