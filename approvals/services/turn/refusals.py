"""Refusals of amending, and of deciding what its agent is asked to change. What they have in common is in `errors`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.translation import gettext as _

from approvals.models import Proposal
from approvals.services.errors import DecisionRefused, NoChange, Refused

if TYPE_CHECKING:
    from approvals.services.turn.repeating import Repeated


class OtherTarget(Refused):
    """The proposal to amend is about another block or note."""

    code = "other_target"

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        super().__init__(_("Proposal %(id)d is about something else.") % {"id": proposal.pk})


class NothingAmended(NoChange):
    """The proposal asks for exactly this already, on the current text."""

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        super().__init__(_("Proposal %(id)d asks for this already.") % {"id": proposal.pk})


class TooManyRevisions(Refused):
    """The proposal has been amended as often as it may be."""

    code = "too_many_revisions"

    def __init__(self, proposal: Proposal, most: int) -> None:
        self.proposal, self.most = proposal, most
        super().__init__(_("Proposal %(id)d has %(most)d revisions.") % {"id": proposal.pk, "most": most})


class RejectedBefore(DecisionRefused):
    """A person rejected the same before, and its agent does not insist with another reasoning."""

    code = "rejected_before"

    def __init__(self, repeated: Repeated) -> None:
        self.repeated = repeated
        number = repeated.earlier.pk
        super().__init__(repeated.earlier, _("This was rejected before, as proposal %(id)d.") % {"id": number})


class WithAgent(DecisionRefused):
    """The proposal's agent is asked for changes, which the decision does not say that its actor knows.

    Args:
        comment: what the agent is asked for.
    """

    code = "with_agent"

    def __init__(self, proposal: Proposal, message: str, comment: str) -> None:
        self.comment = comment
        super().__init__(proposal, message)
