"""Refusals of the use cases. The message of each is a sentence for people.

They have the object they are about (the proposal, the current block), so that a page or a tool can show what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.utils.translation import gettext as _

from approvals.models import Proposal
from memory_app.reads import Block, Note, NoteNotFound


class Refused(Exception):
    """Base of all refusals. `code` is stable, for APIs."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


# -- proposing ------------------------------------------------------------------------------------


class NoChange(Refused):
    """The result equals the current text."""

    code = "no_change"


class OverLimit(Refused):
    """The result is longer than the block's limit; all figures in characters."""

    code = "over_limit"

    def __init__(self, used: int, limit: int) -> None:
        self.used, self.limit, self.over = used, limit, used - limit
        super().__init__(
            _("The text would have %(used)s characters, %(over)s over the limit of %(limit)s.")
            % {"used": f"{used:,}", "over": f"{self.over:,}", "limit": f"{limit:,}"}
        )


class BlockReadOnly(Refused):
    """Agents may not change this block."""

    code = "block_read_only"


class PreconditionFailed(Refused):
    """The block is not at the sha256 the agent expected. `block` is the current one."""

    code = "precondition_failed"

    def __init__(self, block: Block) -> None:
        self.block = block
        self.current_sha256 = block.body_sha256
        super().__init__(_("The block changed since it was read."))


class TooManyPending(Refused):
    """The agent has as many open proposals for this owner as it may have."""

    code = "too_many_pending"

    def __init__(self, proposals: Sequence[Proposal], cap: int) -> None:
        self.proposals, self.cap = tuple(proposals), cap
        super().__init__(_("%(cap)d proposals of this agent wait already.") % {"cap": cap})


class MemoryFull(Refused):
    """The number of undecided proposals has reached what the engine handles well."""

    code = "memory_full"


class BeingMade(Refused):
    """Another call is making the same proposal; repeating this call later returns it."""

    code = "being_made"

    def __init__(self) -> None:
        super().__init__(_("The same proposal is being made by another call."))


# -- deciding -------------------------------------------------------------------------------------


class ProposalNotFound(Refused):
    """There is no such proposal, or this actor may not know of it."""

    code = "proposal_not_found"

    def __init__(self) -> None:
        super().__init__(_("There is no such proposal."))


class DecisionRefused(Refused):
    """Base of refusals of a decision about a visible proposal; nothing was changed."""

    code = "decision_refused"

    def __init__(self, proposal: Proposal, message: str) -> None:
        self.proposal = proposal
        super().__init__(message)


class NotAllowed(DecisionRefused):
    code = "not_allowed"


class AlreadyDecided(DecisionRefused):
    """The proposal was decided before; `proposal` contains the decision."""

    code = "already_decided"


class BeingDecided(DecisionRefused):
    """Another decision holds the lease."""

    code = "being_decided"


class NewRevision(DecisionRefused):
    """The decision names another revision than the current one."""

    code = "new_revision"


class TargetChanged(DecisionRefused):
    """The target changed since the reviewer saw it. `block` is the current one, None when deleted."""

    code = "target_changed"

    def __init__(self, proposal: Proposal, block: Block | None) -> None:
        self.block = block
        super().__init__(proposal, _("The block changed after this page was made."))


class NoLongerFits(DecisionRefused):
    """The edits cannot be applied to the current text."""

    code = "conflict"


class NotRemovable(DecisionRefused):
    """The texts of this proposal cannot be removed: it is undecided, or its change is in the memory."""

    code = "not_removable"


class AlreadyApplied(DecisionRefused):
    """The proposed change is already in the memory."""

    code = "already_applied"


class BranchMissing(DecisionRefused):
    """The branch is missing or differs from the revision: what was reviewed cannot be merged."""

    code = "branch_missing"


# -- editing directly -----------------------------------------------------------------------------


class EditNotAllowed(Refused):
    """This person may not write this owner's memory."""

    code = "not_allowed"


class BlockChanged(Refused):
    """The block changed since the form was loaded. `current` is the current one, None when deleted."""

    code = "block_changed"

    def __init__(self, current: Block | None) -> None:
        self.current = current
        super().__init__(_("The block changed after this form was opened."))


class LabelTaken(Refused):
    """The owner has a block with this label."""

    code = "label_taken"


class LabelInvalid(Refused):
    """A label has at most 64 characters: lower-case letters, digits, dash and underscore."""

    code = "label_invalid"


class LimitInvalid(Refused):
    """A block's limit is between 1 and 200,000 characters."""

    code = "limit_invalid"


# -- notes ----------------------------------------------------------------------------------------


class NoteInvalid(Refused):
    """A field of a note is invalid. `field` is its name in the tools."""

    code = "note_invalid"

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class NotesChanged(Refused):
    """A note changed since it was read; nothing was written. `ids` are all notes of the change."""

    code = "notes_changed"

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(_("A note has changed since."))


class NoteSuperseded(Refused):
    """The note is superseded. `note` says by which note and since when."""

    code = "note_superseded"

    def __init__(self, note: Note) -> None:
        self.note = note
        super().__init__(_("Note %(id)s is already outdated.") % {"id": note.id})


class NoteWaits(Refused):
    """The note is not in the memory yet: it is in an undecided proposal of the same agent.

    Args:
        argument: the argument of the call that named the note.
    """

    code = "note_waits"

    def __init__(self, proposal: Proposal, id_: str, argument: str) -> None:
        self.proposal, self.id, self.argument = proposal, id_, argument
        super().__init__(_("Note %(id)s waits for a decision.") % {"id": id_})


class NoteWithdrawn(NoteNotFound):
    """There is no such note: the same agent withdrew the proposal to create it."""

    def __init__(self, proposal: Proposal, id_: str) -> None:
        self.proposal = proposal
        super().__init__(id_)


class ReplacementNotFound(NoteNotFound):
    """There is no note with the id of the replacement."""


class ImportUnderWay(Refused):
    """Another import into this memory, or by this actor, is still running."""

    code = "import_under_way"

    def __init__(self) -> None:
        super().__init__(_("Another import is under way. When it is over, this one can be sent again."))


# -- conversations --------------------------------------------------------------------------------


class DeletionNotAllowed(Refused):
    """This person may not delete this owner's conversations."""

    code = "not_allowed"
