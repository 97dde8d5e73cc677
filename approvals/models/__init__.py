"""People, agents, proposals and decisions: the tables of this app, all in the `default` database.

Everything above `memory_app` may import them; the rules are in `approvals.services` and `approvals.permissions`.
"""

from approvals.models.attention import Attention, SavedFilter
from approvals.models.events import Event, Policy
from approvals.models.fingerprints import RejectedFingerprint
from approvals.models.people import Agent, Mail, Tutorship, User
from approvals.models.proposals import MOST_IDS, Proposal, ProposalManager, ProposalQuerySet, ProposedNote, Revision
from approvals.models.rules import TrustRule
from approvals.models.states import (
    DECIDABLE,
    DECIDED,
    NOT_TAKEN,
    PENDING,
    TAKEN,
    Approval,
    Confidence,
    Kind,
    Mergeability,
    RejectReason,
    ReviewReason,
    Status,
)

__all__ = [
    "DECIDABLE",
    "DECIDED",
    "MOST_IDS",
    "NOT_TAKEN",
    "PENDING",
    "TAKEN",
    "Agent",
    "Approval",
    "Attention",
    "Confidence",
    "Event",
    "Kind",
    "Mail",
    "Mergeability",
    "Policy",
    "Proposal",
    "ProposalManager",
    "ProposalQuerySet",
    "ProposedNote",
    "RejectReason",
    "RejectedFingerprint",
    "ReviewReason",
    "Revision",
    "SavedFilter",
    "Status",
    "TrustRule",
    "Tutorship",
    "User",
]
