"""Bring a PREPARING proposal to the end, one call at a time, whichever call that is."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone

from approvals.models import Event, Proposal, ProposalQuerySet, Revision, Status
from approvals.services import events
from approvals.services.branches import branch_name, give_up_branch, write_revision_branch
from approvals.services.errors import BeingMade
from memory_app import reads
from memory_app.databases.prepared import insert, update
from memory_app.runtime import deadlines

log = structlog.get_logger(__name__)

#: Writing 100,000 notes took from 25 s to well over 100 on a busy server; until then no other call takes it over.
_LEASE_OF_A_NOTE = timedelta(milliseconds=3)


#: Seconds to wait for another call that makes the same proposal, which takes some 50 ms.
_PATIENCE = 5.0


def insert_prepared(proposal: Proposal, *, has_branch: bool = True, **texts: Any) -> None:
    """Insert a PREPARING proposal and its first revision, inside the caller's transaction.

    Args:
        has_branch: False for an automatic change, which is committed to main at once.
        texts: the fields of the revision.
    """
    insert(proposal)
    branch = branch_name(proposal.pk, 1) if has_branch else ""
    revision = Revision(proposal=proposal, number=1, branch=branch, created_at=proposal.created_at, **texts)
    proposal.hold_current_revision(insert(revision))


def make_alone(
    proposal: Proposal, make: Callable[[Proposal], Proposal], *, is_mine: bool, is_resumed: bool = False
) -> Proposal:
    """What `make` makes of a PREPARING proposal, or what another call made of it meanwhile.

    Args:
        is_mine: the caller has just begun it, or taken it over, and holds its lease.
        is_resumed: the caller holds its operation id, which is for one call at a time: if who began it is not done
            after a few seconds, it was killed. The lease of a large import would run on for minutes.

    Raises:
        BeingMade: another call is at it still, or found that it no longer fits.
    """
    if not is_mine:
        proposal = _when_made(proposal, is_resumed=is_resumed)
    if proposal.status != Status.PREPARING:
        return proposal
    try:
        return make(proposal)
    except Exception:
        _release(proposal)
        raise


def take_over(proposal: Proposal, *, is_left: bool = False) -> bool:
    """Take the lease of a PREPARING proposal that nobody is at any more; False where somebody may be.

    Args:
        is_left: whoever has the lease, as the row was read, is known to be gone.
    """
    held, now = proposal.lease_expires_at, timezone.now()
    if held and held >= now and not is_left:
        return False
    until = now + lease_of(len(proposal.current_revision.note_changes))
    if not _as_read(proposal).update(lease_expires_at=until):
        return False
    proposal.lease_expires_at = until
    return True


def lease_of(notes: int) -> timedelta:
    """How long a proposal about so many notes may take to be made before others take it over."""
    return settings.LEASE + notes * _LEASE_OF_A_NOTE


def _when_made(proposal: Proposal, *, is_resumed: bool) -> Proposal:
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while proposal.status == Status.PREPARING and not take_over(proposal):
        if time.monotonic() >= end:
            if is_resumed and take_over(proposal, is_left=True):
                break
            raise BeingMade
        time.sleep(0.02)
        try:
            proposal.refresh_from_db()
        except Proposal.DoesNotExist as error:
            raise BeingMade from error
    return proposal


def _release(proposal: Proposal) -> None:
    """Let others finish what failed here without waiting for its lease, which runs out where this cannot be written."""
    deadlines.extend()
    try:
        _as_read(proposal).update(lease_expires_at=None)
    except DatabaseError as error:
        log.warning("proposal_not_let_go", proposal=proposal.pk, error=type(error).__name__)


def _as_read(proposal: Proposal) -> ProposalQuerySet:
    """The row, unless it is made or its lease is another's by now."""
    return Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, lease_expires_at=proposal.lease_expires_at)


def finish_preparing(proposal: Proposal, *, base: reads.Block | None = None) -> Proposal:
    """Make the branch of a PREPARING proposal and open it. Harmless when done twice.

    Args:
        base: the block at the revision's base commit, where the caller has it.
    """
    revision = proposal.current_revision
    revision.head_commit = write_revision_branch(proposal, revision, base=base)
    opened = {"status": Status.OPEN, "lease_expires_at": None, "updated_at": timezone.now()}
    with transaction.atomic(durable=True):
        update(Revision, {"head_commit": revision.head_commit}, where={"id": revision.pk})
        if update(Proposal, opened, where={"id": proposal.pk, "status": Status.PREPARING}):
            events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning)
            proposal.set_written(opened)
    if proposal.status == Status.PREPARING:
        proposal.refresh_from_db()
    if proposal.is_decided:  # by others who finished it, since this call outlived its lease
        give_up_branch(revision)
    return proposal
