"""A person reverts what policy applied.

Commit → ledger → the proposal's row. After a crash in between, `recover` or a repeated call finishes it: the operation
id is derived from the proposal's, so the commit can be found.
"""

from __future__ import annotations

from dataclasses import replace

import structlog
from django.db import transaction
from django.utils import timezone

from approvals.models import Event, Proposal, User
from approvals.recovery.ledger import retry_after_committing_stray_rows, revert_operation
from approvals.review.targets import note_rows_to_write, targets_of
from approvals.services import events
from approvals.services.decide.checks import require_revertible
from approvals.services.errors import NotesChanged
from approvals.services.recheck import after_change
from memory_app.models import Change
from memory_app.text.trailers import Trailers
from memory_app.writing import authors, commits, ledger, rows

log = structlog.get_logger(__name__)


def revert(*, actor: User, proposal_id: int) -> Change:
    """Undo what policy applied: restore every note to its state before, in one commit.

    Raises:
        ProposalNotFound, NotAllowed: as for deciding.
        AlreadyDecided: it was reverted already, or never applied.
        NotesChanged: a note changed again since; that change would be lost.
    """
    proposal = require_revertible(actor, proposal_id)
    revision = proposal.current_revision
    back = [
        {"id": change["id"], "before": change["after"], "after": change["before"]} for change in revision.note_changes
    ]
    entry = ledger.LedgerEntry(
        action=Change.Action.REVERTED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=revert_operation(proposal),
        actor=actor.username,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
    )
    try:
        made = retry_after_committing_stray_rows(
            lambda: commits.write_main(
                note_rows_to_write(proposal.owner, back),
                entry=entry,
                author=authors.person(actor.username, actor.display_name),
                subject=f"Revert {proposal.kind} of {proposal.target}",
            )
        )
    except rows.TargetMoved as error:
        done = commits.find(entry.owner, entry.operation, since=proposal.merge_commit)
        if done is None:
            raise NotesChanged([change["id"] for change in back]) from error
        entry = replace(entry, actor=Trailers.of(done.message).person)  # it may be another person's
        made = ledger.record(done.hash, entry, at=ledger.time_of(done))
    finish_reverting(proposal, made)
    return made


def finish_reverting(proposal: Proposal, made: Change) -> None:
    """Update the proposal from the revert's row in the ledger, `made`; used by `revert` and `recover`."""
    person = User.objects.get(username=made.actor)
    with transaction.atomic(durable=True):
        closed = Proposal.objects.filter(pk=proposal.pk, reverted_by_commit="").update(
            reverted_by_commit=made.commit, updated_at=timezone.now()
        )
        if closed:
            events.record(proposal, Event.What.REVERTED, actor=person, commit=made.commit)
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=made.actor)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))
