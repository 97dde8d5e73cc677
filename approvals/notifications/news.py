"""What a person is to be told: proposals they may decide now, that came, came back or waited long since last time."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, cast

from django.db.models import Exists, OuterRef, Q

from approvals.models import Event, Proposal, ProposalQuerySet, Tutorship, User
from approvals.pages.inbox_rows import MOST_COMPARED, same_changes
from approvals.permissions import proposals_visible_to
from approvals.services.close import COMES, WAITS_SINCE


@dataclass(frozen=True)
class NewsItem:
    """One proposal of a digest.

    Args:
        since: since when it waits for a person.
        is_reminder: it was told of before, and has waited for long.
        others: those that make the same change for other people, and are told of with it.
    """

    proposal: Proposal
    since: datetime
    is_reminder: bool
    others: tuple[Proposal, ...] = ()

    @property
    def together(self) -> tuple[Proposal, ...]:
        return (self.proposal, *self.others)


@dataclass(frozen=True)
class News:
    """What a person is told at one time.

    Args:
        items: the first of it, what waited long before what is new.
        total: how many there are to tell of.
        waiting: how many proposals wait for this person, those that they were told of before included.
    """

    items: tuple[NewsItem, ...]
    total: int
    waiting: int

    @property
    def left_out(self) -> int:
        return self.total - sum(len(item.together) for item in self.items)

    @property
    def told_before(self) -> int:
        return self.waiting - self.total


def waiting_for(person: User) -> ProposalQuerySet:
    """Return the proposals this person may decide."""
    return proposals_visible_to(person).open()


def news_for(person: User, *, since: datetime | None, until: datetime, most: int) -> News:
    """Return what to tell a person of the time after `since`, up to `until`; of all that waits without `since`.

    A few queries. `waiting` is counted only where there is something to tell.

    Args:
        most: items to tell of; `total` counts the proposals.
    """
    waiting = waiting_for(person)
    new = waiting.filter(_is_new(person, since, until)) if since else waiting
    reminded = _reminded(person, since, until) if since else Q(pk__in=[])
    ids = list(new.order_by("created_at", "pk").values_list("pk", flat=True))
    if not ids:
        return News((), 0, 0)
    reminders = set(new.filter(reminded).order_by().values_list("pk", flat=True))
    # What is the same for several people is one item, so more are read than are told of.
    shown = sorted(ids, key=lambda pk: pk not in reminders)[:MOST_COMPARED]
    rows = with_since(Proposal.objects.filter(pk__in=shown).select_related("agent"))
    found = {proposal.pk: (proposal, at) for proposal, at in rows}
    groups: dict[int, list[int]] = {}
    for are_reminders in (True, False):
        alike = same_changes([found[pk][0] for pk in shown if pk in found and (pk in reminders) is are_reminders])
        groups |= {first: others for first, *others in alike}
    told_with_another = {pk for others in groups.values() for pk in others}
    first_ones = [pk for pk in shown if pk in found and pk not in told_with_another][:most]
    items = tuple(
        NewsItem(*found[pk], pk in reminders, tuple(found[other][0] for other in groups.get(pk, ())))
        for pk in first_ones
    )
    return News(items, len(ids), waiting.count())


def with_since(proposals: ProposalQuerySet) -> list[tuple[Proposal, datetime]]:
    """Return proposals with the time since when each waits for a person."""
    return [(each, cast("Any", each).since) for each in proposals.annotate(since=WAITS_SINCE)]


def _is_new(person: User, since: datetime, until: datetime) -> Q:
    came = Event.objects.filter(proposal=OuterRef("pk"), what__in=COMES, at__gt=since, at__lte=until)
    came = came.exclude(actor_kind=Event.ActorKind.PERSON, actor=person.username)  # they undid it themselves
    students = Tutorship.objects.filter(tutor=person, created_at__gt=since, created_at__lte=until)
    assigned = Q(owner__in=students.values("owner__username"))
    return Q(Exists(came)) | assigned | _reminded(person, since, until)


def _reminded(person: User, since: datetime, until: datetime) -> Q:
    """Return which proposals waited long: reviewers are told first, and owners with a tutor later."""
    reviewers = Q(reminded_at__gt=since, reminded_at__lte=until)
    if Tutorship.objects.filter(owner=person).exists():
        reviewers &= ~Q(owner=person.username)
    return reviewers | Q(owner=person.username, owner_reminded_at__gt=since, owner_reminded_at__lte=until)
