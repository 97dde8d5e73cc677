"""What the rows of the review queue say of talk: comments, to whom a proposal is assigned, who looks at it, snoozes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from approvals.models import Proposal, User
from approvals.pages.talk import attention
from approvals.pages.talk.threads import ThreadSummary, summary


@dataclass(frozen=True)
class RowTalk:
    """Of one proposal.

    Args:
        assigned_to: the name of the person; empty for nobody.
        is_mine: it is assigned to the viewer.
        looking: names of others who look at it now.
        snoozed_until: until when the viewer has put it off.
    """

    thread: ThreadSummary = field(default_factory=ThreadSummary)
    assigned_to: str = ""
    is_mine: bool = False
    looking: Sequence[str] = ()
    snoozed_until: datetime | None = None


def talk_of(proposals: Sequence[Proposal], viewer: User) -> Mapping[int, RowTalk]:
    """Return what rows say, by proposal, in one query for those that were read `with_threads`."""
    seen = attention.of_rows(proposals, viewer)
    return {
        proposal.pk: RowTalk(
            thread=summary(proposal),
            assigned_to=proposal.assigned_to.display_name if proposal.assigned_to else "",
            is_mine=proposal.assigned_to_id == viewer.pk,
            looking=seen.looking.get(proposal.pk, ()),
            snoozed_until=seen.snoozed.get(proposal.pk),
        )
        for proposal in proposals
    }
