"""Who looks at a proposal now, and who put it off until later: each person's own view, told to no agent."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Attention, Proposal, User
from approvals.permissions import may_decide
from approvals.services.decide.checks import visible_proposal
from approvals.services.errors import AlreadyDecided, NotAllowed
from approvals.services.talk.refusals import SnoozeInvalid

#: The page says it as often as this at most, so that a poll does not write each time.
LOOK_EVERY = timedelta(minutes=1)


def look(*, actor: User, proposal: Proposal) -> None:
    """Record that a person looks at a proposal now, at most once a minute."""
    if proposal.is_decided:
        return
    now = timezone.now()
    theirs = Attention.objects.filter(proposal=proposal, person=actor)
    known = theirs.values_list("looking_at", flat=True)[:1]
    if not known:
        with transaction.atomic():
            row = Attention(proposal=proposal, person=actor, looking_at=now)
            Attention.objects.bulk_create([row], ignore_conflicts=True)
    elif known[0] is None or known[0] <= now - LOOK_EVERY:
        theirs.filter(Q(looking_at=None) | Q(looking_at__lte=now - LOOK_EVERY)).update(looking_at=now)


def snooze(*, actor: User, proposal_id: int, until: datetime) -> Proposal:
    """Leave an undecided proposal out of a person's list until a time, or until it has something new.

    Raises:
        ProposalNotFound, NotAllowed: as for deciding.
        AlreadyDecided: it is in nobody's list.
        SnoozeInvalid: the time is over, or after the proposal expires.
    """
    proposal = visible_proposal(actor, proposal_id)
    if not may_decide(actor, proposal.owner):
        raise NotAllowed(proposal, _("You may not decide about this memory."))
    if proposal.is_decided:
        raise AlreadyDecided(proposal, _("This proposal is decided."))
    if until <= timezone.now():
        raise SnoozeInvalid(proposal, _("Choose a time that is still to come."))
    if until >= proposal.expires_at:
        raise SnoozeInvalid(proposal, _("The proposal expires before that. Choose an earlier day."))
    values = {"snoozed_until": until, "seen_revision": proposal.current_revision_number, "looking_at": None}
    Attention.objects.update_or_create(proposal=proposal, person=actor, defaults=values)
    return proposal


def wake(*, actor: User, proposal_id: int) -> Proposal:
    """Put a snoozed proposal back into a person's list. Idempotent.

    Raises:
        ProposalNotFound: there is none, or this person may not see it.
    """
    proposal = visible_proposal(actor, proposal_id)
    Attention.objects.filter(proposal=proposal, person=actor).update(snoozed_until=None)
    return proposal
