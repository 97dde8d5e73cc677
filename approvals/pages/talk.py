"""What pages and agents are shown of the talk about proposals: threads, and whose each is. Reads only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from django.db.models import Count, Max, OuterRef, Q, Subquery

from approvals.models import Event, Proposal, ProposalQuerySet, User

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


@dataclass(frozen=True)
class RowTalk:
    """What a row of the review queue says of one proposal.

    Args:
        assigned_to: the name of the person; empty for nobody.
        is_mine: it is assigned to the viewer.
    """

    thread: ThreadSummary = field(default_factory=ThreadSummary)
    assigned_to: str = ""
    is_mine: bool = False


def talk_of(proposals: Sequence[Proposal], viewer: User) -> Mapping[int, RowTalk]:
    """Return what rows say, by proposal, without a query for those that were read `with_threads`."""
    return {
        proposal.pk: RowTalk(
            thread=summary(proposal),
            assigned_to=proposal.assigned_to.display_name if proposal.assigned_to else "",
            is_mine=proposal.assigned_to_id == viewer.pk,
        )
        for proposal in proposals
    }
