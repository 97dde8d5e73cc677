"""People, agents, proposals and decisions: the tables of this app, all in the `default` database.

Everything above `memory_app` may import them; the rules are in `approvals.services` and `approvals.permissions`.
"""

from approvals.models.counts import OwnerCounts, WeekCount
from approvals.models.events import Attention, Batch, BatchAction, Event, Policy, SavedFilter
from approvals.models.people import Agent, AuditEvent, BrowserSession, Course, Mail, Tutorship, User, bare_name
from approvals.models.proposals import (
    DECIDABLE,
    DECIDED,
    NOT_TAKEN,
    PENDING,
    TAKEN,
    Approval,
    Kind,
    Mergeability,
    Proposal,
    ProposalQuerySet,
    ProposedNote,
    RejectedFingerprint,
    RejectReason,
    ReviewReason,
    Revision,
    Status,
    TrustRule,
)
