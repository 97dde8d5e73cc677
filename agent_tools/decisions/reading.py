"""The decisions about an agent's own proposals, in the order they happened, and what it is told of each: as data, and
as a line for the model.

The order is that of the events' ids, which become visible in their order (`memory_app.databases.row_order`): who reads
on from a cursor misses none and gets none twice. An item is the same in the list and beside other answers. It says what
happened, with what a person said then; `status` and the wording that was approved are those of today, as far as the
token may read them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from django.db.models import F, Q, QuerySet

from agent_tools import auth
from agent_tools.answers import asked, bounds, paging, representations, withholding
from agent_tools.calls.arguments import invalid, is_time
from agent_tools.calls.registry import Answer, Call
from approvals.models import Approval, Event, Proposal, Revision, Status
from approvals.review.reworded import ChangedApproval, taken_of
from approvals.services.events import told_to
from memory_app.databases import row_order
from memory_app.models import TargetKind
from memory_app.text.lines import first_words

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
    """Have the events read with what `items_of` needs of their proposals."""
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
    told = items_of(call, page.events)
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


# -- What is told of each.

#: Characters of the approved text, and of the places where it differs, in an item; get_proposal has longer ones.
#: A note fits whole.
MOST_CHARACTERS = 2_000
#: Characters of a comment, and of a wording, in a line.
_WORDS = 300
_WORDING = 120

_CHANGED = (Approval.PART, Approval.EDITED, Approval.RESOLVED)


def items_of(call: Call, events: Sequence[Event]) -> list[dict[str, Any]]:
    """Return an item for each event, in their order.

    Args:
        events: read with their proposals, all visible to the caller.
    """
    proposals: dict[int, Proposal] = {}
    for event in events:
        event.proposal = proposals.setdefault(event.proposal_id, event.proposal)
    gone = withholding.about_deleted(call, list(proposals.values()))
    taken = _taken([each for each in proposals.values() if each.pk not in gone])
    of_owner = representations.of_several(call)
    return [
        _item(event, event.proposal_id in gone, taken.get(event.proposal_id), of_owner=of_owner) for event in events
    ]


def _item(event: Event, is_gone: bool, taken: ChangedApproval | None, *, of_owner: bool) -> dict[str, Any]:
    """Return what is told of one event.

    Args:
        is_gone: it is about something deleted since, for a caller who may not read that.
        taken: how an approval differs from what was proposed.
        of_owner: see `representations.target`.
    """
    proposal = event.proposal
    item = {
        "proposal_id": proposal.pk,
        "user_id": event.owner,
        **representations.about(proposal),
        "title": None if is_gone else proposal.target_title,
        "what": event.what,
        "by": event.actor if event.actor_kind == Event.ActorKind.PERSON else None,
        "at": representations.time(event.at),
        "reason": _reason(event),
        "comment": representations.wanted(event.text, str(event.data.get("automatic", ""))),
        "revision": event.revision,
        "status": proposal.status,
        **_wording(event, taken),
    }
    about = f" {asked.in_short(proposal, is_gone=is_gone)}".rstrip()
    what = f"Proposal {proposal.pk} for {representations.target(proposal, of_owner=of_owner)}"
    return item | {"text": _line(what, item, event) + about, "cursor": after(event.pk)}


def _reason(event: Event) -> str | None:
    if event.what == Event.What.APPROVED:
        return event.proposal.decision_reason or None if _is_approval_of_today(event) else None
    if event.what in (Event.What.REJECTED, Event.What.CHANGES_REQUESTED):
        return str(event.data.get("reason") or event.data.get("automatic") or "") or None
    return None


def _is_approval_of_today(event: Event) -> bool:
    return event.what == Event.What.APPROVED and event.proposal.status == Status.APPROVED


def _wording(event: Event, taken: ChangedApproval | None) -> dict[str, Any]:
    """Return what was approved in which words, cut where it is long."""
    proposal = event.proposal
    is_otherwise = _is_approval_of_today(event) and proposal.approval in _CHANGED
    whole = representations.approved_otherwise(proposal, taken if is_otherwise else None)
    is_left = is_otherwise and proposal.target_kind == TargetKind.IMPORT and not proposal.is_redacted
    told = {
        "approval": event.data.get("approval") or None if event.what == Event.What.APPROVED else None,
        "final_text": whole["final_text"] if len(whole["final_text"] or "") <= MOST_CHARACTERS else None,
        "difference": _that_fit(whole["difference"]),
        "not_accepted": _that_fit(whole["not_accepted"]),
        "propose_again": is_otherwise and whole["propose_again"],
    }
    is_cut = any(told[name] != whole[name] for name in ("final_text", "difference", "not_accepted"))
    return told | {"is_cut": is_left or is_cut}


def _that_fit(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the first places, whole; none where the first is too long by itself."""
    count = bounds.that_fit(places, MOST_CHARACTERS)
    fitting = places[:count]
    return [] if fitting and bounds.size_of(fitting[0]) > MOST_CHARACTERS else fitting


def _line(what: str, item: dict[str, Any], event: Event) -> str:
    """Return what happened in one line, for the model."""
    proposal = event.proposal
    by = f" by {item['by']}" if item["by"] else ""
    reason = f" ({item['reason']})" if item["reason"] else ""
    said = _said(item["comment"], proposal)
    match item["what"]:
        case Event.What.APPROVED:
            how = representations.HOW.get(item["approval"], "")
            return f"{what} was approved{how}{by}{reason}{said}{_changed(item, proposal)}"
        case Event.What.REJECTED:
            return f"{what} was rejected{by or ' by Assent'}{reason}{said}"
        case Event.What.CHANGES_REQUESTED:
            number = item["proposal_id"]
            still = f" Amend it with proposal_id={number}." if item["status"] == Status.CHANGES_REQUESTED else ""
            return f"{what}: changes are requested{by or ' by Assent'}{reason}{said}{still}"
        case Event.What.EXPIRED:
            return f"{what} has expired: no person decided in time."
        case Event.What.REVERTED:
            if event.data.get("waits"):
                return f"{what} was undone{by}; the memory no longer has it, and it waits for a person again{said}"
            return f"{what} was undone{by}, and the memory no longer has it{said}"
        case Event.What.REOPENED:
            return f"{what} was opened again{by} and waits for a person{said}"
        case _:
            return f"{what}: {item['by']} commented{said} {representations.how_to_answer()}"


def _said(comment: str, proposal: Proposal) -> str:
    """Return the end of a sentence: what a person said, or a full stop."""
    words = first_words(comment, _WORDS)
    if not words:
        return "."
    if words != " ".join(comment.split()):
        words = f"{words} {representations.in_full(proposal)}".rstrip()
    return f": {words}" if words[-1] in ".!?…" else f": {words}."


def _changed(item: dict[str, Any], proposal: Proposal) -> str:
    """Return what of an approval is not as proposed."""
    more = [representations.in_full(proposal)] if item["is_cut"] else []
    return "".join(f" {said}" for said in (asked.otherwise(item, places=1, most=_WORDING), *more) if said)


def _taken(proposals: Sequence[Proposal]) -> dict[int, ChangedApproval]:
    """Return how approvals differ from what was proposed, by proposal, read together.

    An import's revisions have thousands of notes; what was approved of one is in get_proposal.
    """
    changed = [each for each in proposals if each.status == Status.APPROVED and each.approval in _CHANGED]
    by_number = {each.pk: each for each in changed if each.target_kind != TargetKind.IMPORT}
    if not by_number:
        return {}
    counts = Q(origin=Revision.Origin.AGENT) | Q(number=F("proposal__current_revision_number"))
    by_agent: dict[int, Revision] = {}
    for revision in Revision.objects.filter(counts, proposal__in=by_number).order_by("number"):
        proposal = revision.proposal = by_number[revision.proposal_id]
        if revision.origin == Revision.Origin.AGENT:
            by_agent[proposal.pk] = revision
        if revision.number == proposal.current_revision_number:
            proposal.hold_current_revision(revision)
    found = {each.pk: taken_of(each, asked=by_agent.get(each.pk)) for each in by_number.values()}
    return {number: taken for number, taken in found.items() if taken is not None}
