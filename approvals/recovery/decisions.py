"""Compare the row of a proposal with its history.

A decision is written twice in one transaction: as fields of the proposal, which pages and agents read, and as an event,
which nothing rewrites. So neither can be altered alone without the two saying different things.
"""

from collections.abc import Iterable

from approvals.models import DECIDED, TAKEN, Event, Proposal, Status

#: Events with the reason of the agent, as it was then.
_REASONED = (Event.What.PROPOSED, Event.What.AMENDED, Event.What.APPLIED)

#: Fields of the proposal that the event of its decision repeats in its data; older events have not all of them.
_REPEATED = {"reason": "decision_reason", "approval": "approval", "commit": "merge_commit"}


def differences(proposal: Proposal, events: Iterable[Event]) -> list[str]:
    """Return what a proposal and its events do not agree about, as names of fields; empty where they agree.

    Texts that were removed are empty in both.

    Args:
        events: all of it in the order they were recorded, by id: after a restore some are dated back.
    """
    decision: Event | None = None
    reasoned: Event | None = None
    undone_by, found = "", list[str]()
    for event in events:
        what, commit, was = event.what, event.data.get("commit", ""), decision.what if decision else ""
        if decision and (what, commit) == (was, decision.data.get("commit")):
            continue  # two calls finished it
        if what in _REASONED:
            reasoned = event
        if what == Event.What.REVERTED or "decided" in event.data:
            undoes = TAKEN if what == Event.What.REVERTED else (event.data["decided"],)
            is_closed = what == Event.What.REVERTED and not event.data.get("waits")
            decision, undone_by = (decision, commit) if is_closed else (None, "")
        elif what in DECIDED:
            undoes, decision, undone_by = ("",), event, ""
        else:
            undoes = ("",) if what in _REASONED else (was,)
        if was not in undoes:
            found.append("history")  # an event in between is gone
    if reasoned is None:
        found += ["history"] * (proposal.status != Status.PREPARING)
    # What policy had applied before a restore may have no reason in its event.
    elif reasoned.text != proposal.reasoning and (reasoned.text or reasoned.what != Event.What.APPLIED):
        found.append("reasoning")
    if (decision.what if decision else "") != (proposal.status if proposal.status in DECIDED else ""):
        return [*found, "status"]
    return [*found, *_of_decision(proposal, decision, undone_by)] if decision else found


def _of_decision(proposal: Proposal, decision: Event, undone_by: str) -> list[str]:
    who = decision.actor if decision.actor_kind == Event.ActorKind.PERSON else ""
    pairs = {
        "decided_by": (proposal.decided_by.username if proposal.decided_by else "", who),
        "reverted_by_commit": (proposal.reverted_by_commit, undone_by),
        "current_revision_number": (proposal.current_revision_number, decision.revision),
    }
    # What was approved before a restore may have no comment in its event; the ledger has it.
    if decision.what not in TAKEN or (decision.what == Status.APPROVED and decision.text):
        pairs["decision_comment"] = (proposal.decision_comment, decision.text)
    repeated = {field: name for name, field in _REPEATED.items() if name in decision.data}
    pairs |= {field: (getattr(proposal, field), decision.data[name]) for field, name in repeated.items()}
    return [field for field, (now, then) in pairs.items() if now != then]
