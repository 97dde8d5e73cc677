"""Assign a proposal to one of those who may decide about it."""

from __future__ import annotations

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Event, Proposal, User
from approvals.permissions import may_decide
from approvals.services import events
from approvals.services.decide.checks import visible_proposal
from approvals.services.errors import AlreadyDecided, NotAllowed
from approvals.services.talk.refusals import NotAssignable

log = structlog.get_logger(__name__)


def assign(*, actor: User, proposal_id: int, to: str) -> Proposal:
    """Assign an undecided proposal, or take it back from whom it was assigned to. Idempotent.

    Others may still decide it: it says who takes care of it.

    Args:
        to: username; empty for nobody.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
        NotAllowed: this person may see it, but not decide.
        NotAssignable: that person may not decide about this memory, or does not exist.
        AlreadyDecided: nobody has to take care of it any more.
    """
    proposal = visible_proposal(actor, proposal_id)
    if not may_decide(actor, proposal.owner):
        raise NotAllowed(proposal, _("You may not decide about this memory."))
    person = None
    if to:
        person = User.objects.filter(username=to, is_active=True).first()
        if person is None or not may_decide(person, proposal.owner):
            raise NotAssignable(
                proposal, _("%(who)s may not decide about this memory, so it cannot be assigned to them.") % {"who": to}
            )
    with transaction.atomic(durable=True):
        proposal = (
            Proposal.objects.select_for_update(of=("self",)).select_related("agent", "decided_by").get(pk=proposal.pk)
        )
        if proposal.is_decided:
            raise AlreadyDecided(proposal, _("This proposal is decided."))
        if proposal.assigned_to_id != (person.pk if person else None):
            proposal.assigned_to = person
            Proposal.objects.filter(pk=proposal.pk).update(assigned_to=person, updated_at=timezone.now())
            events.record(proposal, Event.What.ASSIGNED, actor=actor, to=to)
    log.info("proposal_assigned", proposal=proposal.pk, user_id=proposal.owner, to=to, actor=actor.username)
    return proposal
