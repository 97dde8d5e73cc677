"""A person takes back what policy applied."""

from __future__ import annotations

import uuid

import structlog
from django.db import transaction
from django.utils import timezone

from approvals.models import Event, Proposal, User
from approvals.services import events
from approvals.services.decide import require_revertible
from approvals.services.errors import NotesChanged
from approvals.services.ledger import despite_dirt
from approvals.services.recheck import after_change
from approvals.targets import note_writes, targets_of
from memory_app import commits
from memory_app.models import Change

log = structlog.get_logger(__name__)


def revert(*, actor: User, proposal_id: int) -> Change:
    """Undo what policy applied: every note is put back to what it was before, in one commit.

    Raises:
        ProposalNotFound, NotAllowed: as for deciding.
        AlreadyDecided: it was reverted already, or never applied.
        NotesChanged: a note changed again since; that change would be lost.
    """
    proposal = require_revertible(actor, proposal_id)
    revision = proposal.current
    back = [
        {"id": change["id"], "before": change["after"], "after": change["before"]} for change in revision.note_changes
    ]
    entry = commits.Entry(
        action=Change.Action.REVERTED,
        owner=proposal.owner,
        targets=targets_of(proposal, revision),
        operation=uuid.uuid4().hex,
        actor=actor.username,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
    )
    try:
        made = despite_dirt(
            lambda: commits.write_main(
                note_writes(proposal.owner, back),
                entry=entry,
                author=commits.person(actor.username, actor.display_name),
                subject=f"Revert {proposal.kind} of {proposal.target}",
            )
        )
    except commits.TargetMoved as error:
        raise NotesChanged([change["id"] for change in back]) from error
    with transaction.atomic(durable=True):
        Proposal.objects.filter(pk=proposal.pk).update(reverted_by_commit=made.commit, updated_at=timezone.now())
        events.record(proposal, Event.What.REVERTED, actor=actor, commit=made.commit)
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
    after_change(proposal.owner, targets_of(proposal, revision))
    return made
