"""An owner has the texts of a proposal removed that was not taken; nothing brings them back."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.utils.translation import gettext as _

from approvals.models import NOT_TAKEN, Proposal, User
from approvals.permissions import may_read, may_redact
from approvals.services import texts
from approvals.services.errors import NotAllowed, NotRemovable, ProposalNotFound

log = structlog.get_logger(__name__)


def redact(*, actor: User, proposal_id: int) -> Proposal:
    """Remove the texts of a rejected, withdrawn, superseded or expired proposal. Harmless when done twice.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        NotAllowed: this person may see it, and not remove its texts.
        NotRemovable: it is undecided, or what it says is in the memory.
    """
    with transaction.atomic(durable=True):
        found = Proposal.objects.select_for_update(of=("self",)).select_related("agent", "decided_by")
        proposal = found.filter(pk=proposal_id).first()
        if proposal is None or not may_read(actor, proposal.owner):
            raise ProposalNotFound
        if not may_redact(actor, proposal.owner):
            raise NotAllowed(proposal, _("Only the owner can have the texts of a proposal removed."))
        if proposal.status not in NOT_TAKEN:
            raise NotRemovable(
                proposal,
                _("What this proposal says is in the memory.")
                if proposal.is_decided
                else _("This proposal is not decided yet: reject it as too private."),
            )
        removed = texts.remove(proposal, actor=actor)
    if removed:
        proposal.refresh_from_db()
        log.info("proposal_redacted", proposal=proposal.pk, user_id=proposal.owner, actor=actor.username)
        texts.collect_soon()
    return proposal
