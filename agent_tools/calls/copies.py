"""Copies of a proposal's texts that the API keeps: answers kept with idempotency keys, session ids of the audit."""

from __future__ import annotations

from functools import partial

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from agent_tools.calls import audit
from agent_tools.models import IdempotencyKey, ToolCall
from approvals.models import Proposal
from memory_app.models import TargetKind


def remove(proposal: Proposal) -> None:
    """Forget what was answered about the proposal, and the session it came from; for `approvals.services.texts`.

    A call sent again under its key is answered anew: its operation is found, and says that the texts are gone.
    """
    # As `json.dumps` writes it: alone in an answer, or in one among others.
    named = [f'"proposal_id": {proposal.pk}{end}' for end in ",}"]
    about = Q(operation=proposal.operation) | Q(response__contains=named[0]) | Q(response__contains=named[1])
    if proposal.target_kind == TargetKind.BLOCK:
        # A refused edit is answered with the call that would work, new text and all; it did nothing.
        about |= Q(response__contains=f'"block_label": "{proposal.target}"', status__gte=400)
    IdempotencyKey.objects.filter(about, token__agent=proposal.agent, status__isnull=False).update(
        status=None, response="", lease_expires_at=timezone.now()
    )
    if proposal.session_id:
        _forget_session(proposal)
        transaction.on_commit(partial(_forget_session_of_what_came_now, proposal))


def _forget_session_of_what_came_now(proposal: Proposal) -> None:
    """Forget it once more: the row of a call at the same time may have waited for the transaction."""
    audit.settle()
    _forget_session(proposal)


def _forget_session(proposal: Proposal) -> None:
    calls = ToolCall.objects.filter(agent=proposal.agent, owner=proposal.owner, session_id=proposal.session_id)
    calls.update(session_id="")
