"""Refusals of deciding about several proposals, and of undoing a decision; the others are in `services.errors`."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.models import Proposal
from approvals.services.errors import DecisionRefused, Refused
from memory_app.models import Change


class OpenToDecide(DecisionRefused):
    """It is not decided among others, because it needs a closer look; the message says why."""

    code = "open_to_decide"


class TooManyAtOnce(Refused):
    """More proposals than one call decides."""

    code = "too_many_at_once"

    def __init__(self, most: int) -> None:
        self.most = most
        super().__init__(_("At most %(most)d proposals are decided at once.") % {"most": most})


class NotUndoable(DecisionRefused):
    """There is no decision, or it cannot be taken back; the message says why."""

    code = "not_undoable"


class AlreadyUndone(NotUndoable):
    """Somebody undid it before."""

    code = "already_undone"


class ChangedSince(DecisionRefused):
    """The memory changed after the decision: a person has to see first what undoing would do now."""

    code = "changed_since"


class UndoConflict(DecisionRefused):
    """A later change touches the same text. `change` is its row in the ledger, where one is known."""

    code = "undo_conflict"

    def __init__(self, proposal: Proposal, message: str, change: Change | None) -> None:
        self.change = change
        super().__init__(proposal, message)
