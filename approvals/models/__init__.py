"""People, agents, proposals and decisions: the tables of this app, all in the `default` database.

Everything above `memory_app` may import them; the rules are in `approvals.services` and `approvals.permissions`.
"""

from approvals.models.events import Event, Policy
from approvals.models.people import Agent, Tutorship, User
from approvals.models.proposals import MOST_IDS, Proposal, ProposalManager, ProposalQuerySet, ProposedNote, Revision
from approvals.models.states import (
    DECIDED,
    NOT_TAKEN,
    PENDING,
    Confidence,
    Kind,
    Mergeability,
    RejectReason,
    ReviewReason,
    Status,
)

__all__ = [
    "DECIDED",
    "MOST_IDS",
    "NOT_TAKEN",
    "PENDING",
    "Agent",
    "Confidence",
    "Event",
    "Kind",
    "Mergeability",
    "Policy",
    "Proposal",
    "ProposalManager",
    "ProposalQuerySet",
    "ProposedNote",
    "RejectReason",
    "ReviewReason",
    "Revision",
    "Status",
    "Tutorship",
    "User",
]
