"""Record the events of a proposal, which the pages and the API show."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from django.db import transaction
from django.utils import timezone

from approvals.models import DECIDED, Agent, Event, Kind, Proposal, User
from memory_app.databases import row_order
from memory_app.databases.prepared import insert, update
from memory_app.runtime import waits

Actor = User | Agent | None

#: What an agent is told of, whoever did it.
_DECISIONS = (
    Event.What.APPROVED,
    Event.What.REJECTED,
    Event.What.EXPIRED,
    Event.What.CHANGES_REQUESTED,
    Event.What.REVERTED,
)
#: What it is told of when a person did it.
_BY_PEOPLE = (Event.What.REOPENED, Event.What.COMMENTED)


def move(
    proposal: Proposal,
    values: Mapping[str, Any],
    what: Event.What,
    *,
    actor: Actor,
    expected: Mapping[str, Any] | None = None,
    **said: Any,
) -> bool:
    """Change the row of a proposal that is still as expected, and record the event. Call it inside a transaction.

    Args:
        values: fields with their new values, see `prepared.update`; `updated_at` is now by default.
        expected: the values that fields must have; the status and the revision that were read by default.
        said: see `record`.

    Returns:
        Whether it was as expected.
    """
    values = {"updated_at": timezone.now(), **values}
    as_read = {"status": proposal.status, "current_revision_number": proposal.current_revision_number}
    if not update(Proposal, values, where={"id": proposal.pk, **(expected or as_read)}):
        return False
    if proposal.kind == Kind.IMPORT and values["status"] in DECIDED:
        proposal.proposed_notes.all().delete()
    proposal.set_written(values)
    record(proposal, what, actor=actor, **said)
    return True


def record(
    proposal: Proposal, what: Event.What, *, actor: Actor, text: str = "", at: datetime | None = None, **data: Any
) -> Event:
    """Record an event. Call it inside the transaction that changes the status, so that both are written or neither.

    Args:
        actor: None for Assent itself (expiry, recovery).
        at: when it happened; now by default.
    """
    if isinstance(actor, User):
        name, kind = actor.username, Event.ActorKind.PERSON
    elif isinstance(actor, Agent):
        name, kind = actor.name, Event.ActorKind.AGENT
    else:
        name, kind = "assent", Event.ActorKind.ASSENT
    is_told = what in _DECISIONS or (what in _BY_PEOPLE and kind == Event.ActorKind.PERSON)
    if is_told:
        row_order.show_in_order(told_to(proposal.agent_id))
        transaction.on_commit(partial(waits.wake, told_to(proposal.agent_id)))
    return insert(
        Event(
            proposal=proposal,
            owner=proposal.owner,
            what=what,
            actor=name,
            actor_kind=kind,
            revision=proposal.current_revision_number,
            text=text,
            data=data,
            at=at or timezone.now(),
            tells_id=proposal.agent_id if is_told else None,
        )
    )


def told_to(agent: int) -> str:
    """Return the name under which the decisions an agent is told of are ordered, and waited for."""
    return f"decisions of agent {agent}"
