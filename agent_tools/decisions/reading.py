"""The decisions about an agent's own proposals, in the order they happened.

The order is that of the events' ids, which become visible in their order (`memory_app.databases.row_order`): who reads
on from a cursor misses none and gets none twice.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db.models import Q, QuerySet

from agent_tools import auth
from agent_tools.answers import bounds, paging
from agent_tools.calls.arguments import invalid, is_time
from agent_tools.calls.registry import Answer, Call
from agent_tools.decisions import items
from approvals.models import Event
from approvals.services.events import told_to
from memory_app.databases import row_order

#: Given in place of a cursor: from now on, where the empty text means from the start.
NOW = "now"

_NAME = "decisions"

T = TypeVar("T")


def after(event_id: int) -> str:
    """Return the cursor after this event."""
    return paging.pack(_NAME, event_id)


#: How often to look again while somebody decides, and the seconds between two looks.
_LOOKS = 50
_LOOK = 0.01
#: Seconds after which to ask again where somebody is still deciding.
_RETRY_AFTER = 1

#: The columns of a proposal that an item needs, of some fifty.
_NEEDED = (
    *("owner", "target_kind", "target", "target_title", "kind", "status", "approval", "current_revision_number"),
    *("created_at", "decision_reason", "handed_back_at", "merge_commit", "redacted_at"),
    *("excerpt", "reasoning"),
)


@dataclass(frozen=True)
class DecisionPage:
    """A part of the reading.

    Args:
        until: id of the last event in it, or where it began.
        is_settled: False where somebody was deciding, so that nothing could be read.
    """

    events: list[Event]
    until: int
    has_more: bool
    is_settled: bool = True


def visible(call: Call) -> QuerySet[Event]:
    """Return what the caller may be told, about the owner of the call or all it serves, in its order."""
    told = told_to_agent(call.caller.agent.pk).filter(auth.is_served(call.caller.token))
    return told.filter(owner=call.owner) if call.owner else told


def told_to_agent(agent: int) -> QuerySet[Event]:
    """Return what an agent is told about any owner, in its order."""
    # The text of a comment was removed with the proposal's; nothing is left to tell.
    return Event.objects.filter(tells=agent).exclude(Q(what=Event.What.COMMENTED) & Q(text="")).order_by("pk")


def place_of(call: Call, since: str, *, argument: str) -> int | None:
    """Return the id of the event after which to read, from a cursor or a time; None for from now on.

    Args:
        argument: what the call calls it, for the refusal.

    Raises:
        ApiError: `invalid_arguments`.
    """
    if since == NOW:
        return None
    if not since:
        return 0
    if (at := _time_of(since)) is not None:
        return _last(visible(call).filter(at__lt=at))
    try:
        name, event_id = paging.unpack(since)
        if name != _NAME or type(event_id) is not int or not 0 <= event_id < 2**63:
            raise ValueError("no cursor of decisions")
    except ValueError as error:
        reason = "is neither a time (2026-03-01) nor a `next`; leave it empty to read from the start, or give 'now'"
        raise invalid({argument: reason}, called=call.called) from error
    return event_id


def _time_of(since: str) -> datetime | None:
    """Return the time that a text says, in UTC where it names no zone; None for another text."""
    try:
        at = datetime.fromisoformat(is_time(since))
    except ValueError:
        return None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def read(call: Call, after: int, *, limit: int) -> DecisionPage:
    """Return the decisions after an event."""
    found = _when_settled(call, lambda: list(with_proposals(visible(call).filter(pk__gt=after))[: limit + 1]))
    if found is None:
        return DecisionPage([], after, has_more=True, is_settled=False)
    events = found[:limit]
    return DecisionPage(events, events[-1].pk if events else after, has_more=len(found) > limit)


def last(call: Call) -> int:
    """Return the id of the last event there is: from there on, a caller reads what is decided from now on.

    What somebody is still deciding after half a second counts as decided before now.
    """
    found = _when_settled(call, lambda: _last(visible(call)))
    return _last(visible(call)) if found is None else found


def _when_settled(call: Call, look: Callable[[], T]) -> T | None:
    """Return what `look` finds while nobody is deciding about the agent's proposals; None where that does not end."""
    for _ in range(_LOOKS):
        with row_order.settled(told_to(call.caller.agent.pk)) as is_settled:
            if is_settled:
                return look()
        time.sleep(_LOOK)
    return None


def _last(events: QuerySet[Event]) -> int:
    # Not `Max`, which reads them all.
    return events.order_by("-pk").values_list("pk", flat=True).first() or 0


def with_proposals(events: QuerySet[Event]) -> QuerySet[Event]:
    """Have the events read with what `items.of_events` needs of their proposals."""
    shown = ("owner", "what", "actor", "actor_kind", "revision", "text", "data", "at")
    return events.select_related("proposal").only(*shown, *(f"proposal__{name}" for name in _NEEDED))


def has_news(call: Call, after: int) -> bool:
    """Whether there is a decision after this event, in one query."""
    return visible(call).filter(pk__gt=after).exists()


def answer(
    call: Call, page: DecisionPage, *, argument: str, characters: int = 0, retry_after: int | None = None
) -> Answer:
    """Return a page as an answer, cut between items where it is longer than it may be.

    Args:
        argument: what the call calls the place from which to go on.
    """
    told = items.of_events(call, page.events)
    fitting = bounds.that_fit(told, characters)
    has_more = page.has_more or fitting < len(told)
    until = page.events[fitting - 1].pk if fitting < len(told) else page.until
    data: dict[str, Any] = {
        "items": told[:fitting],
        "next": after(until),
        "more": has_more,
        "retry_after": retry_after if page.is_settled else _RETRY_AFTER,
    }
    lines = [f"- {item['at']} {item['text']}" for item in data["items"]]
    text = "\n".join(["Decided about your proposals:", "", *lines]) if lines else "Nothing was decided since."
    further = "There is more: call again" if has_more else "What is decided from here on: call again later"
    text += f"\n\n({further} with {argument}={data['next']}.)"
    return Answer(text, data, retry_after=data["retry_after"], tells_decisions=True)
