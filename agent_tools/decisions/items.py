"""What an agent is told of a decision about one of its proposals: as data, and as a line for the model.

The same in the list and beside other answers. An item says what happened, with what a person said then; `status` and
the wording that was approved are those of today, as far as the token may read them.
"""

from collections.abc import Sequence
from typing import Any

from django.db.models import F, Q

from agent_tools.answers import asked, bounds, representations, withholding
from agent_tools.calls.registry import Call
from agent_tools.decisions import reading
from approvals.models import Approval, Event, Proposal, Revision, Status
from approvals.review.reworded import ChangedApproval, taken_of
from memory_app.models import TargetKind
from memory_app.text.lines import first_words

#: Characters of the approved text, and of the places where it differs, in an item; get_proposal has longer ones.
#: A note fits whole.
MOST_CHARACTERS = 2_000
#: Characters of a comment, and of a wording, in a line.
_WORDS = 300
_WORDING = 120

_CHANGED = (Approval.PART, Approval.EDITED, Approval.RESOLVED)


def of_events(call: Call, events: Sequence[Event]) -> list[dict[str, Any]]:
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
    return item | {"text": _line(what, item, event) + about, "cursor": reading.after(event.pk)}


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
    asked: dict[int, Revision] = {}
    for revision in Revision.objects.filter(counts, proposal__in=by_number).order_by("number"):
        proposal = revision.proposal = by_number[revision.proposal_id]
        if revision.origin == Revision.Origin.AGENT:
            asked[proposal.pk] = revision
        if revision.number == proposal.current_revision_number:
            proposal.hold_current_revision(revision)
    found = {each.pk: taken_of(each, asked=asked.get(each.pk)) for each in by_number.values()}
    return {number: taken for number, taken in found.items() if taken is not None}
