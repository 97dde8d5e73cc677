"""The comments on proposals: how many, who wrote last, and the thread of one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Count, Max, Q

from approvals.models import Event, Proposal

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


def summaries(proposals: Iterable[Proposal]) -> dict[int, ThreadSummary]:
    """Return the threads of some proposals by id, in one query; those without comments are left out."""
    ids = [proposal.pk for proposal in proposals]
    if not ids:
        return {}
    counted = (
        Event.objects.filter(proposal__in=ids, what=Event.What.COMMENTED)
        .order_by()
        .values_list("proposal")
        .annotate(comments=Count("pk"), by_person=Max("pk", filter=~_BY_AGENT), by_agent=Max("pk", filter=_BY_AGENT))
    )
    return {
        pk: ThreadSummary(
            comments=comments,
            asks_agent=(by_person or 0) > (by_agent or 0),
            is_answered=bool(by_person and by_agent and by_agent > by_person),
        )
        for pk, comments, by_person, by_agent in counted
    }


def summary(proposal: Proposal) -> ThreadSummary:
    """Return the thread of one proposal."""
    return summaries([proposal]).get(proposal.pk, ThreadSummary())


def thread_of(proposal: Proposal) -> tuple[Event, ...]:
    """Return the comments on a proposal, oldest first; those whose texts were removed are left out."""
    comments = proposal.events.filter(what=Event.What.COMMENTED).exclude(text="")
    return tuple(comments.order_by("at", "id"))
