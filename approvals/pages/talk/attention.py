"""What each person has put off, and who looks at a proposal now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F, Q, QuerySet
from django.utils import timezone

from approvals.models import Attention, Proposal, User

#: How long others are told that a person looks at a proposal, after the page last said so.
LOOKING_FOR = timedelta(minutes=2)


def asleep(user: User) -> QuerySet[Attention]:
    """Return what this person has put off: not what has a new revision since, nor what its time is over for."""
    return Attention.objects.filter(
        person=user,
        snoozed_until__gt=timezone.now(),
        seen_revision__gte=F("proposal__current_revision_number"),
    ).order_by()


@dataclass(frozen=True)
class RowsSeen:
    """What rows say of attention, by proposal: names of others who look now, and until when the viewer snoozed it."""

    looking: Mapping[int, list[str]]
    snoozed: Mapping[int, datetime]


def of_rows(proposals: Iterable[Proposal], viewer: User) -> RowsSeen:
    """Return who looks at some undecided proposals now, and what of them the viewer has put off, in one query."""
    undecided = {proposal.pk: proposal for proposal in proposals if not proposal.is_decided}
    looking: dict[int, list[str]] = {}
    snoozed: dict[int, datetime] = {}
    now = timezone.now()
    is_current = Q(looking_at__gt=now - LOOKING_FOR) | Q(person=viewer, snoozed_until__gt=now)
    found = Attention.objects.filter(is_current, proposal__in=undecided).select_related("person")
    for each in found.order_by("person__username") if undecided else ():
        if each.person_id != viewer.pk:
            looking.setdefault(each.proposal_id, []).append(each.person.display_name)
        elif (
            each.snoozed_until
            and each.snoozed_until > now
            and each.seen_revision >= undecided[each.proposal_id].current_revision_number
        ):
            snoozed[each.proposal_id] = each.snoozed_until
    return RowsSeen(looking, snoozed)
