"""What becomes of the other proposals about a block when it is made or deleted, and when that is undone.

They are handed back at once: no person could make them fit. What fails here is left to `turn.settle`.
"""

from __future__ import annotations

import structlog
from django.db import DatabaseError, transaction
from django.utils import timezone

from approvals.models import Event, Kind, Mergeability, Proposal, Status
from approvals.review.collisions import others_on_target
from approvals.review.targets import BlockState, current_state
from approvals.review.turn.change_requests import BLOCK_DELETED, BLOCK_EXISTS, change_requests, why_handed_back
from approvals.review.whole_blocks import WHOLE_KINDS
from approvals.services import events
from approvals.services.turn.hand_back import hand_back
from memory_app.databases.prepared import update
from memory_app.dolt.errors import DoltError

log = structlog.get_logger(__name__)

#: Others that are handed back in the call that decides; an agent may have 20 for one owner.
MOST_AT_ONCE = 100


def hand_back_others(proposal: Proposal) -> None:
    """Hand back what no longer fits because `proposal`, just approved, made or deleted its block."""
    if proposal.kind not in WHOLE_KINDS:
        return
    try:
        for other in others_on_target(proposal).filter(status=Status.OPEN).order_by("id")[:MOST_AT_ONCE]:
            _hand_back_if_in_conflict(other)
    except (DatabaseError, DoltError):
        log.exception("others_not_handed_back", proposal=proposal.pk)


def take_back_others(proposal: Proposal) -> None:
    """Let those wait again that were handed back by approving `proposal`, which was just undone, and fit now."""
    if proposal.kind not in WHOLE_KINDS:
        return
    why = BLOCK_DELETED if proposal.kind == Kind.DELETE_BLOCK else BLOCK_EXISTS
    try:
        others = others_on_target(proposal).filter(status=Status.CHANGES_REQUESTED).order_by("id")[:MOST_AT_ONCE]
        asked = change_requests(others)
        for other in others:
            if other.pk in asked and asked[other.pk].automatic == why:
                _take_back_if_it_fits(other)
    except (DatabaseError, DoltError):
        log.exception("others_not_taken_back", proposal=proposal.pk)


def _hand_back_if_in_conflict(other: Proposal) -> None:
    revision = other.current_revision
    target = current_state(other, revision)
    if target.assess(revision).state != Mergeability.CONFLICT:
        return
    why = why_handed_back(revision, target.block if isinstance(target, BlockState) else None)
    with transaction.atomic(durable=True):
        is_handed_back = hand_back(other, actor=None, automatic=why)
    if is_handed_back:
        log.info("handed_back", proposal=other.pk, user_id=other.owner, why=why)


def _take_back_if_it_fits(other: Proposal) -> None:
    revision = other.current_revision
    if not current_state(other, revision).assess(revision).can_be_approved:
        return
    values = {"status": Status.OPEN, "handed_back_at": None, "updated_at": timezone.now()}
    as_read = {
        "id": other.pk,
        "status": Status.CHANGES_REQUESTED,
        "current_revision_number": other.current_revision_number,
    }
    with transaction.atomic(durable=True):
        if update(Proposal, values, where=as_read):
            events.record(other, Event.What.REOPENED, actor=None)
