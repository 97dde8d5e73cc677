"""What agents were asked to change, from the events of their proposals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.utils.translation import gettext as _

from approvals.models import Event, Proposal, RejectReason, Revision, User
from approvals.review.whole_blocks import new_block_of
from memory_app.models import TargetKind
from memory_app.reads import Block

#: Values of `ChangeRequest.automatic`.
CONFLICT = "conflict"
#: The block it is about was deleted; the block it would make was made otherwise.
BLOCK_DELETED, BLOCK_EXISTS = "block_deleted", "block_exists"


@dataclass(frozen=True)
class ChangeRequest:
    """The last request for changes of a proposal.

    Args:
        by: username of the person; empty where Assent handed it back.
        by_name: what they are called.
        reason: a `RejectReason` value, or empty.
        comment: the person's words.
        automatic: why Assent handed it back; empty for a person's request.
        revision: the revision it is about.
    """

    by: str
    by_name: str
    reason: str
    comment: str
    automatic: str
    revision: int
    at: datetime

    @property
    def reason_label(self) -> str:
        return str(RejectReason(self.reason).label) if self.reason else ""

    @property
    def said(self) -> str:
        """Return what was asked for, in words for people."""
        if self.automatic == CONFLICT:
            return _(
                "The text has changed and this change no longer fits. It has to be proposed again on today’s text."
            )
        if self.automatic == BLOCK_DELETED:
            return _("The block was deleted, so there is nothing left to change.")
        if self.automatic == BLOCK_EXISTS:
            return _("There is a block with this label now. What is missing there has to be proposed as an edit of it.")
        return self.comment


def why_handed_back(revision: Revision, block: Block | None) -> str:
    """Return why a revision that does not fit goes back to its agent: a value of `ChangeRequest.automatic`."""
    if new_block_of(revision):
        return BLOCK_EXISTS
    return BLOCK_DELETED if block is None and revision.proposal.target_kind == TargetKind.BLOCK else CONFLICT


def change_request(proposal: Proposal) -> ChangeRequest | None:
    """Return what the agent of a proposal is asked for now; None when it is not its turn."""
    return change_requests([proposal]).get(proposal.pk)


def change_requests(proposals: Iterable[Proposal]) -> dict[int, ChangeRequest]:
    """Return what the agents are asked for, by proposal, for those whose agent's turn it is. Two queries, or none."""
    waiting = [proposal.pk for proposal in proposals if proposal.is_with_agent]
    return _last_requests(waiting) if waiting else {}


def last_request(proposal: Proposal) -> ChangeRequest | None:
    """Return what its agent was asked for last, also when it has answered."""
    return _last_requests([proposal.pk]).get(proposal.pk)


def _last_requests(ids: list[int]) -> dict[int, ChangeRequest]:
    asked = list(Event.objects.filter(proposal__in=ids, what=Event.What.CHANGES_REQUESTED).order_by("at", "id"))
    by_people = {event.actor for event in asked if event.actor_kind == Event.ActorKind.PERSON}
    people = User.objects.filter(username__in=by_people) if by_people else ()
    names = {person.username: person.display_name for person in people}
    return {
        event.proposal_id: ChangeRequest(
            by=event.actor if event.actor_kind == Event.ActorKind.PERSON else "",
            by_name=names.get(event.actor, "Assent"),
            reason=str(event.data.get("reason", "")),
            comment=event.text,
            automatic=str(event.data.get("automatic", "")),
            revision=event.revision,
            at=event.at,
        )
        for event in asked
    }
