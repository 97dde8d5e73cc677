"""Writing what happened to a proposal, in the words the pages and the API show."""

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
    """Close a proposal that is still as expected, and record the event; whether it was. Call it inside a transaction.

    Args:
        values, expected: names of fields and what they become, and what they have to be now; see `prepared.update`.
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
    """Add an event. Call it inside the transaction that changes the status, so that neither exists without the other.

    Args:
        actor: None is Assent itself (expiry, recovery).
        at: when it happened, where that is not now.
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
