"""Open a rejected or expired proposal again: its branch is made again from its texts, then its row is opened.

A crash in between leaves a branch of a decided proposal, which `recover` drops; a repeated call makes it again.
Two calls must not write the branch at once: the second would take the first one's unfinished branch for what a crash
left, and write it anew under the first one's feet. So a call takes the row's lease first.
"""

from __future__ import annotations

import time
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Event, Kind, Mergeability, Proposal, Revision, Status, User
from approvals.review.targets import current_state
from approvals.services import events
from approvals.services.branches import drop_branches, write_revision_branch
from approvals.services.caps import pending_of
from approvals.services.decide.errors import AlreadyUndone, NotUndoable
from approvals.services.errors import BeingDecided
from approvals.services.notes.agents import name_notes
from approvals.services.preparing import lease_of
from approvals.services.turn import repeating
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.models import TargetKind
from memory_app.runtime import deadlines
from memory_app.writing import rows

log = structlog.get_logger(__name__)

#: Seconds to wait for another call that opens the same proposal; that usually takes 50 ms.
_PATIENCE = 5.0


def reopen(proposal: Proposal, actor: User, *, comment: str) -> Proposal:
    """Open the proposal again, with another term. Arguments and errors are those of `undo`."""
    _require_not_proposed_again(proposal)
    revision = proposal.current_revision
    decided, reason = proposal.status, proposal.decision_reason
    as_read = {"status": proposal.status, "decided_at": proposal.decided_at, "redacted_at": None}
    lease = _take_lease(proposal, as_read)
    try:
        head = _branch_again(proposal, revision)
    except Exception:
        Proposal.objects.filter(pk=proposal.pk, lease_expires_at=lease).update(lease_expires_at=None)
        raise
    now = timezone.now()
    values = {
        "status": Status.OPEN,
        "mergeability": _mergeability(proposal, revision),
        "decided_by": None,
        "decided_at": None,
        "decision_reason": "",
        "decision_comment": "",
        "merge_operation": "",
        "seen_sha256": "",
        "expires_at": now + settings.PROPOSAL_EXPIRY,
        "reminded_at": None,
        "owner_reminded_at": None,
        "lease_expires_at": None,
        "updated_at": now,
    }
    with transaction.atomic(durable=True):
        opened = Proposal.objects.filter(pk=proposal.pk, **as_read).update(**values)
        if opened:
            Revision.objects.filter(pk=revision.pk).update(head_commit=head)
            if proposal.kind == Kind.IMPORT:
                name_notes(proposal, [change["id"] for change in revision.note_changes])
            repeating.forget(proposal)
            events.record(proposal, Event.What.REOPENED, actor=actor, text=comment, decided=decided, reason=reason)
    proposal.refresh_from_db()
    if not opened:
        if proposal.is_decided:
            drop_branches(proposal)
        raise _changed_since(proposal)
    if not dolt().exists(revision.branch):  # `recover` found it between the two steps
        Revision.objects.filter(pk=revision.pk).update(head_commit=_branch_again(proposal, revision))
        proposal.refresh_from_db()
    log.info("proposal_reopened", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
    return proposal


def _take_lease(proposal: Proposal, as_read: dict[str, Any]) -> datetime:
    """Wait until no other call opens the proposal, and keep others waiting until the time that is returned.

    Raises AlreadyUndone, BeingDecided: another call opened it, decided it again or removed its texts.
    """
    duration = lease_of(len(proposal.current_revision.note_changes))
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while True:
        until = timezone.now() + duration
        rows_as_read = Proposal.objects.filter(pk=proposal.pk, **as_read)
        if rows_as_read.without_lease().update(lease_expires_at=until):
            return until
        if not rows_as_read.exists():
            proposal.refresh_from_db()
            raise _changed_since(proposal)
        if time.monotonic() >= end:
            raise BeingDecided(proposal, _("This proposal is being opened again. Look at it again in a moment."))
        time.sleep(0.02)


def _changed_since(proposal: Proposal) -> AlreadyUndone | BeingDecided:
    """Return why a proposal, as it is now, is not to be opened any more."""
    if proposal.is_decided:  # again, or its texts were removed
        return BeingDecided(proposal, _("This proposal was decided again this moment. Look at it again."))
    return AlreadyUndone(proposal, _("This proposal is open again already."))


def _branch_again(proposal: Proposal, revision: Revision) -> str:
    try:
        return write_revision_branch(proposal, revision)
    except (RevisionNotFound, reads.BlockNotFound, rows.TargetMoved) as error:
        raise NotUndoable(
            proposal, _("The memory no longer has the text this was made on. The agent can propose it again.")
        ) from error


def _mergeability(proposal: Proposal, revision: Revision) -> Mergeability:
    try:
        return current_state(proposal, revision).assess(revision).state
    except DoltError:
        log.exception("target_unreadable", proposal=proposal.pk)
        return Mergeability.UNKNOWN


def _require_not_proposed_again(proposal: Proposal) -> None:
    """Raise NotUndoable if its agent has proposed it again since: one change would wait twice."""
    waiting = pending_of(proposal.agent, proposal.owner).exclude(pk=proposal.pk)
    same = waiting.filter(kind=proposal.kind, target_kind=proposal.target_kind, result_sha256=proposal.result_sha256)
    if proposal.target_kind == TargetKind.BLOCK:
        same = same.filter(target=proposal.target)
    if again := (same | waiting.filter(answers=proposal)).order_by("pk").first():
        raise NotUndoable(
            proposal,
            _("%(agent)s has proposed this again: decide proposal %(number)d.")
            % {"agent": proposal.agent.name, "number": again.pk},
        )
