"""Record the events of a proposal, which the pages and the API show."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals.models import Agent, Event, Kind, Proposal, User
from memory_app.databases.prepared import insert, update

Actor = User | Agent | None


def close(
    proposal: Proposal,
    values: Mapping[str, Any],
    what: Event.What,
    *,
    expected: Mapping[str, Any],
    actor: Actor,
    text: str,
    **data: Any,
) -> bool:
    """Close a proposal that is still as expected, and record the event. Call it inside a transaction.

    Args:
        values, expected: fields with their new values, and with the values they must have now; see `prepared.update`.

    Returns:
        Whether it was as expected.
    """
    if not update(Proposal, values, where={"id": proposal.pk, **expected}):
        return False
    if proposal.kind == Kind.IMPORT:
        proposal.proposed_notes.all().delete()
    record(proposal, what, actor=actor, text=text, **data)
    proposal.set_written(values)
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
        )
    )
