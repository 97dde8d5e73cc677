"""Writing what happened to a proposal, in the words the pages and the API show."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django.utils import timezone

from approvals.models import Agent, Event, Proposal, User

Actor = User | Agent | None


def record(
    proposal: Proposal, what: Event.What, *, actor: Actor, text: str = "", at: datetime | None = None, **data: Any
) -> Event:
    """Add an event. Call it inside the transaction that changes the status, so that neither exists without the other.

    Args:
        actor: None is Assent itself (expiry, recovery).
        at: when it happened, where that is not now.
    """
    if isinstance(actor, User):
        name, kind = actor.username, "person"
    elif isinstance(actor, Agent):
        name, kind = actor.name, "agent"
    else:
        name, kind = "assent", "assent"
    return Event.objects.create(
        proposal=proposal,
        owner=proposal.owner,
        what=what,
        actor=name,
        actor_kind=kind,
        revision=proposal.revision,
        text=text,
        data=data,
        at=at or timezone.now(),
    )
