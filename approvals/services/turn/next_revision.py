"""The next revision of an undecided proposal, by its agent: what amending blocks and notes has in common.

OPEN or CHANGES_REQUESTED → PREPARING with the new revision → branch → OPEN. `recover` finishes what is interrupted.
While it is PREPARING, the page shows the new revision, and the proposal cannot be decided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import DECIDABLE, Agent, Event, Mergeability, Proposal, Revision, Status
from approvals.services import events
from approvals.services.branches import branch_name
from approvals.services.decide.checks import raise_not_open
from approvals.services.errors import BeingDecided, ProposalNotFound
from approvals.services.preparing import lease_of
from approvals.services.texts import require_texts
from approvals.services.turn.refusals import OtherTarget, TooManyRevisions
from memory_app.databases.prepared import insert
from memory_app.dolt.errors import DoltError
from memory_app.writing import commits

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
