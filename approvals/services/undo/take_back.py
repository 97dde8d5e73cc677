"""Undo a decision, whichever it was."""

from __future__ import annotations

from typing import NoReturn

from django.utils.translation import gettext as _

from approvals.models import TAKEN, Event, Proposal, Status, User
from approvals.permissions import ReviewAction, available_actions, may_decide
from approvals.services.decide.checks import raise_not_open, visible_proposal
from approvals.services.decide.errors import AlreadyUndone, NotUndoable
from approvals.services.errors import NotAllowed
from approvals.services.undo.reopen import reopen
from approvals.services.undo.revert import revert


def undo(*, actor: User, proposal_id: int, seen_sha256: str | None = None, comment: str = "") -> Proposal:
    """Undo the decision about a proposal.

    An approval, or an automatic change, is reverted by a new commit; the proposal keeps its status, with
    `reverted_by_commit`. A rejected or expired proposal is open again.

    Args:
        seen_sha256: `UndoPlan.seen_sha256` of the plan a person was shown and confirmed. Without it, nothing is undone
            that changed after the decision. Not needed for a rejection.
        comment: why, for the agent and the history; may be empty.

    Raises:
        ProposalNotFound, NotAllowed: as for deciding.
        NotUndoable: there is no decision, or it cannot be taken back. AlreadyUndone: somebody did before.
        ChangedSince: the memory changed since the decision, or since the plan was shown.
        UndoConflict: a later change touches the same text.
        EngineUnavailable, OutcomeUnknown: it could not be finished now; `recover` finishes it.
    """
    proposal = visible_proposal(actor, proposal_id)
    if ReviewAction.UNDO not in available_actions(actor, proposal):
        _raise_not_undoable(actor, proposal)
    if proposal.status in TAKEN:
        return revert(proposal, actor, seen_sha256=seen_sha256, comment=comment.strip())
    return reopen(proposal, actor, comment=comment.strip())


def _raise_not_undoable(actor: User, proposal: Proposal) -> NoReturn:
    """Raise the refusal that says why there is nothing to undo."""
    if not may_decide(actor, proposal.owner):
        raise NotAllowed(proposal, _("You may not decide about this memory."))
    if proposal.reverted_by_commit:
        raise AlreadyUndone(proposal, _("This was undone already."))
    if proposal.status == Status.WITHDRAWN:
        who = {"agent": proposal.agent.name}
        raise NotUndoable(proposal, _("%(agent)s withdrew this. Only %(agent)s can propose it again.") % who)
    if proposal.is_redacted:
        raise NotUndoable(
            proposal, _("The texts of this proposal were removed for good, so it cannot be opened again.")
        )
    if proposal.status in (Status.OPEN, Status.CHANGES_REQUESTED):
        if proposal.events.filter(what=Event.What.REOPENED, actor_kind=Event.ActorKind.PERSON).exists():
            raise AlreadyUndone(proposal, _("This proposal is open again already."))
        raise NotUndoable(proposal, _("This proposal is not decided yet: there is nothing to undo."))
    raise_not_open(proposal, proposal.current_revision_number)
