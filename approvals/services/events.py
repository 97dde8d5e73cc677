"""Writing what happened to a proposal, in the words the pages and the API show."""

from __future__ import annotations

from typing import Any

from approvals.models import Agent, Event, Proposal, User

Actor = User | Agent | None


def record(proposal: Proposal, what: Event.What, *, actor: Actor, text: str = "", **data: Any) -> Event:
    """Add an event. `actor=None` is Assent itself (expiry, recovery). Call it inside the transaction
    that changes the status, so that neither exists without the other."""
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
    )
