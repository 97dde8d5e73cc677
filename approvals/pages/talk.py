"""What pages and agents are shown of the talk about proposals: threads, who looks, what is put off. Reads only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db.models import Count, F, Max, OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from approvals.models import Attention, Event, Proposal, ProposalQuerySet, User

# -- What each person has put off, and who looks at a proposal now.

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


# -- The comments on proposals: how many, who wrote last, and the thread of one.

_BY_AGENT = Q(actor_kind=Event.ActorKind.AGENT)


@dataclass(frozen=True)
class ThreadSummary:
    """What a list says of a thread.

    Args:
        asks_agent: a person wrote since the agent last did.
        is_answered: the agent wrote last, after a person.
    """

    comments: int = 0
    asks_agent: bool = False
    is_answered: bool = False


def with_threads(proposals: ProposalQuerySet) -> ProposalQuerySet:
    """Have the rows read with what `summary` says of them, in the same query."""
    comments = Event.objects.filter(proposal=OuterRef("pk"), what=Event.What.COMMENTED).order_by().values("proposal")
    return proposals.annotate(
        comments=Subquery(comments.annotate(found=Count("pk")).values("found")),
        said_by_person=Subquery(comments.annotate(found=Max("pk", filter=~_BY_AGENT)).values("found")),
        said_by_agent=Subquery(comments.annotate(found=Max("pk", filter=_BY_AGENT)).values("found")),
    )


def summary(proposal: Proposal) -> ThreadSummary:
    """Return the thread of a proposal; in a query of its own, unless it was read `with_threads`."""
    read = vars(proposal)
    if "said_by_agent" not in read:
        read = vars(with_threads(Proposal.objects.filter(pk=proposal.pk)).get())
    by_person, by_agent = read["said_by_person"] or 0, read["said_by_agent"] or 0
    return ThreadSummary(
        comments=read["comments"] or 0,
        asks_agent=by_person > by_agent,
        is_answered=bool(by_person) and by_agent > by_person,
    )


def thread_of(proposal: Proposal) -> tuple[Event, ...]:
    """Return the comments on a proposal, oldest first; those whose texts were removed are left out."""
    comments = proposal.events.filter(what=Event.What.COMMENTED).exclude(text="")
    return tuple(comments.order_by("at", "id"))


# -- What the rows of the review queue say of talk: comments, to whom a proposal is assigned, who looks at it,
# snoozes.


@dataclass(frozen=True)
class RowTalk:
    """Of one proposal.

    Args:
        assigned_to: the name of the person; empty for nobody.
        is_mine: it is assigned to the viewer.
        looking: names of others who look at it now.
        snoozed_until: until when the viewer has put it off.
    """

    thread: ThreadSummary = field(default_factory=ThreadSummary)
    assigned_to: str = ""
    is_mine: bool = False
    looking: Sequence[str] = ()
    snoozed_until: datetime | None = None


def talk_of(proposals: Sequence[Proposal], viewer: User) -> Mapping[int, RowTalk]:
    """Return what rows say, by proposal, in one query for those that were read `with_threads`."""
    seen = of_rows(proposals, viewer)
    return {
        proposal.pk: RowTalk(
            thread=summary(proposal),
            assigned_to=proposal.assigned_to.display_name if proposal.assigned_to else "",
            is_mine=proposal.assigned_to_id == viewer.pk,
            looking=seen.looking.get(proposal.pk, ()),
            snoozed_until=seen.snoozed.get(proposal.pk),
        )
        for proposal in proposals
    }
