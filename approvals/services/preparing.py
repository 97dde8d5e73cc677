"""Finish PREPARING proposals: any call may do it, one at a time."""

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

#: Writing 100,000 notes took from 25 s to well over 100 s on a busy server; no other call takes it over before.
_LEASE_OF_A_NOTE = timedelta(milliseconds=3)


#: Seconds to wait for another call that makes the same proposal; that usually takes 50 ms.
_PATIENCE = 5.0


def insert_prepared(proposal: Proposal, *, has_branch: bool = True, **texts: Any) -> None:
    """Insert a PREPARING proposal and its first revision, inside the caller's transaction.

    Args:
        has_branch: False for an automatic change, which is committed directly to main.
        texts: the fields of the revision.
    """
    insert(proposal)
    branch = branch_name(proposal.pk, 1) if has_branch else ""
    revision = Revision(proposal=proposal, number=1, branch=branch, created_at=proposal.created_at, **texts)
    proposal.hold_current_revision(insert(revision))


def finish_once(
    proposal: Proposal, make: Callable[[Proposal], Proposal], *, is_mine: bool, is_resumed: bool = False
) -> Proposal:
    """Finish a PREPARING proposal with `make`, unless another call finishes it first. Return the finished proposal.

    Args:
        is_mine: the caller has just begun it, or taken it over, and holds its lease.
        is_resumed: the caller holds its operation id, which only one call has at a time. If the first call is not done
            after a few seconds, it was killed: waiting for the lease of a large import would take minutes.

    Raises:
        BeingMade: another call still works on it, or found that it no longer fits.
    """
    if not is_mine:
        proposal = _wait_until_made(proposal, is_resumed=is_resumed)
    if proposal.status != Status.PREPARING:
        return proposal
    try:
        return make(proposal)
    except Exception:
        _release_lease(proposal)
        raise


def take_over(proposal: Proposal, *, holder_is_gone: bool = False) -> bool:
    """Take the lease of a PREPARING proposal if it has expired. Return whether this call holds it now.

    Args:
        holder_is_gone: take it before it expires, because its holder is known to have died.
    """
    held, now = proposal.lease_expires_at, timezone.now()
    if held and held >= now and not holder_is_gone:
        return False
    until = now + lease_of(len(proposal.current_revision.note_changes))
    if not _row_as_read(proposal).update(lease_expires_at=until):
        return False
    proposal.lease_expires_at = until
    return True


def lease_of(notes: int) -> timedelta:
    """Return the lease for preparing a proposal about so many notes; after it, other calls may take over."""
    return settings.LEASE + notes * _LEASE_OF_A_NOTE


def _wait_until_made(proposal: Proposal, *, is_resumed: bool) -> Proposal:
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while proposal.status == Status.PREPARING and not take_over(proposal):
        if time.monotonic() >= end:
            if is_resumed and take_over(proposal, holder_is_gone=True):
                break
            raise BeingMade
        time.sleep(0.02)
        try:
            proposal.refresh_from_db()
        except Proposal.DoesNotExist as error:
            raise BeingMade from error
    return proposal


def _release_lease(proposal: Proposal) -> None:
    """Release the lease, so that others need not wait for it; if this cannot be written, it expires."""
    deadlines.extend()
    try:
        _row_as_read(proposal).update(lease_expires_at=None)
    except DatabaseError as error:
        log.warning("proposal_not_let_go", proposal=proposal.pk, error=type(error).__name__)


def _row_as_read(proposal: Proposal) -> ProposalQuerySet:
    """Select the row if it is still PREPARING with the lease that was read."""
    return Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, lease_expires_at=proposal.lease_expires_at)


def finish_preparing(proposal: Proposal, *, base: reads.Block | None = None) -> Proposal:
    """Write the branch of a PREPARING proposal and open it. Idempotent.

    Args:
        base: the block at the revision's base commit, if the caller has read it.
    """
    revision = proposal.current_revision
    revision.head_commit = write_revision_branch(proposal, revision, base=base)
    opened = {"status": Status.OPEN, "lease_expires_at": None, "updated_at": timezone.now()}
    with transaction.atomic(durable=True):
        update(Revision, {"head_commit": revision.head_commit}, where={"id": revision.pk})
        if update(Proposal, opened, where={"id": proposal.pk, "status": Status.PREPARING}):
            if revision.number == 1:  # amending is recorded when it begins
                events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning)
            proposal.set_written(opened)
    if proposal.status == Status.PREPARING:
        proposal.refresh_from_db()
    if proposal.is_decided:  # another call finished it after this call's lease expired
        give_up_branch(revision)
    return proposal
