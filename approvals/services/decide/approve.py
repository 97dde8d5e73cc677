"""Approve a proposal: exactly what the reviewer was shown, or what the reviewer wrote instead; or nothing."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from approvals.models import Approval, Proposal, Revision, Status, User
from approvals.permissions import ReviewAction
from approvals.services.decide.checks import Seen, proposal_for, raise_not_open, require_as_seen
from approvals.services.decide.merge import finish_merging
from approvals.services.errors import DecisionRefused
from approvals.services.preparing import branch_name
from memory_app.databases.prepared import update


def approve(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    seen_sha256: str,
    comment: str = "",
    batch: str = "",
    is_with_agent: bool = False,
) -> Proposal:
    """Approve what was seen: one revision, against one state of its target.

    Args:
        revision: the revision the reviewer was shown.
        seen_sha256: `Block.sha256` of the block the change was shown against; empty for a missing one.
        comment: for the agent and the history; may be empty.
        batch: of a decision about several, see `decide_several`.
        is_with_agent: the reviewer knows that its agent is asked for changes, and approves it as it is.

    Returns:
        The approved proposal, with its merge commit.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        DecisionRefused: one of its subclasses; nothing was changed.
        EngineUnavailable, OutcomeUnknown: the merge could not be finished now; `recover` finishes it.
    """
    proposal = proposal_for(ReviewAction.APPROVE, actor, proposal_id, revision, is_with_agent=is_with_agent)
    with naming_who_was_first(proposal, revision):
        seen = require_as_seen(proposal, seen_sha256)
    return claim(proposal, Approval.AS_PROPOSED, actor=actor, seen=seen, comment=comment, batch=batch)


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
            raise_not_open(proposal, revision)
        raise


def claim(
    proposal: Proposal,
    approval: Approval,
    *,
    actor: User,
    seen: Seen,
    comment: str,
    reason: str = "",
    texts: dict[str, Any] | None = None,
    hands_rest_back: bool = False,
    batch: str = "",
) -> Proposal:
    """Move the proposal from OPEN to MERGING, and finish its merge. Return it approved.

    Args:
        seen: the target as it was checked; with `texts`, how it stands to these.
        texts: the fields of a revision in the reviewer's words, which is merged instead of the agent's.
        reason, hands_rest_back: of the part that is not accepted; see `approve_some`. That it goes back to the agent
            is kept as `handed_back_at`.
        batch: of a decision about several, see `decide_several`.

    Raises:
        DecisionRefused, EngineUnavailable, OutcomeUnknown: as for `approve`.
    """
    now = timezone.now()
    shown = proposal.current_revision_number
    number = shown + 1 if texts is not None else shown
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
        "lease_expires_at": now + settings.LEASE,
        "updated_at": now,
    }
    if hands_rest_back:
        values["handed_back_at"] = now
    as_read = {"id": proposal.pk, "status": proposal.status, "current_revision_number": shown}
    if texts is None:
        claimed = update(Proposal, values, where=as_read)
    else:
        with transaction.atomic(durable=True):
            claimed = update(Proposal, values, where=as_read)
            if claimed:
                _insert_revision(proposal, number, actor, seen, texts)
    if claimed:
        proposal.set_written(values)
    else:
        proposal.refresh_from_db()
        raise_not_open(proposal, shown)
    proposal.decided_by = actor
    return finish_merging(proposal, seen=seen)


def _insert_revision(proposal: Proposal, number: int, actor: User, seen: Seen, texts: dict[str, Any]) -> None:
    revision = Revision.objects.create(
        proposal=proposal,
        number=number,
        origin=Revision.Origin.REVIEWER,
        made_by=actor,
        branch=branch_name(proposal.pk, number),
        base_commit=seen.commit,
        **texts,
    )
    proposal.hold_current_revision(revision)
