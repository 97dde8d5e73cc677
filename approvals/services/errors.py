"""Why a use case was refused. Each says it in a sentence a person can read.

Subjects are carried along (the proposal, the block as it is now), so that a page or a tool can show
what changed instead of only that something did.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from django.utils.translation import gettext as _

from approvals.models import Proposal
from memory_app.reads import Block, Note, NoteNotFound


class Refused(Exception):
    """Base of all refusals. `code` is stable and fit for an API."""

    code: ClassVar[str] = "refused"

    def __init__(self, message: str) -> None:
        self.message = message
        super().__init__(message)


# -- proposing ------------------------------------------------------------------------------------


class NoChange(Refused):
    """The result equals the text that is there."""

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
    """The block is not at the sha256 the agent expected. `block` is what is there."""

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
    """There are as many undecided proposals in all as the engine handles well."""

    code = "memory_full"


class BeingMade(Refused):
    """Another call makes the same proposal this moment; the same call again finds it made."""

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
    """Base of what stops a decision about a proposal that can be seen; nothing was changed."""

    code = "decision_refused"

    def __init__(self, proposal: Proposal, message: str) -> None:
        self.proposal = proposal
        super().__init__(message)


class NotAllowed(DecisionRefused):
    code = "not_allowed"


class AlreadyDecided(DecisionRefused):
    """Somebody was first. `proposal` says who and what."""

    code = "already_decided"


class BeingDecided(DecisionRefused):
    """Another decision holds the lease this moment."""

    code = "being_decided"


class NewRevision(DecisionRefused):
    """The proposal holds other text than the one the decision names."""

    code = "new_revision"


class TargetChanged(DecisionRefused):
    """The target is not what the reviewer was shown. `block` is what it is now, None when deleted."""

    code = "target_changed"

    def __init__(self, proposal: Proposal, block: Block | None) -> None:
        self.block = block
        super().__init__(proposal, _("The block changed after this page was made."))


class NoLongerFits(DecisionRefused):
    """The edits cannot be applied to the text as it is now."""

    code = "conflict"


class NotRemovable(DecisionRefused):
    """The texts of this proposal cannot be removed: it is undecided, or the memory holds what it says."""

    code = "not_removable"


class AlreadyInMemory(DecisionRefused):
    """The memory says already what the proposal would make it say."""

    code = "already_applied"


class BranchMissing(DecisionRefused):
    """The branch is gone or does not hold the text of the revision: what was seen cannot be merged."""

    code = "branch_missing"


# -- editing directly -----------------------------------------------------------------------------


class EditNotAllowed(Refused):
    """This person may not write this owner's memory."""

    code = "not_allowed"


class BlockChanged(Refused):
    """The block is not what the form was loaded with. `current` is what it is, None when deleted."""

    code = "block_changed"

    def __init__(self, current: Block | None) -> None:
        self.current = current
        super().__init__(_("The block changed after this form was opened."))


class LabelTaken(Refused):
    """The owner has a block of that label."""

    code = "label_taken"


class LabelInvalid(Refused):
    """Labels are lower-case letters, digits, dash and underscore, at most 64."""

    code = "label_invalid"


class LimitInvalid(Refused):
    """A block's limit is between 1 and 200,000 characters."""

    code = "limit_invalid"


# -- notes ----------------------------------------------------------------------------------------


class NoteInvalid(Refused):
    """A field of a note is not acceptable. `field` names it as tools do."""

    code = "note_invalid"

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class NotesChanged(Refused):
    """A note is not as it was read; nothing was written. `ids` are those of the whole change."""

    code = "notes_changed"

    def __init__(self, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(_("A note has changed since."))


class NoteSuperseded(Refused):
    """The note holds no more. `note` is it, with what took its place and since when."""

    code = "note_superseded"

    def __init__(self, note: Note) -> None:
        self.note = note
        super().__init__(_("Note %(id)s is already outdated.") % {"id": note.id})


class NoteWaits(Refused):
    """The note is in no memory yet: it waits for a person, in an undecided proposal of the same agent.

    Args:
        argument: what the note was given as.
    """

    code = "note_waits"

    def __init__(self, proposal: Proposal, id_: str, argument: str) -> None:
        self.proposal, self.id, self.argument = proposal, id_, argument
        super().__init__(_("Note %(id)s waits for a decision.") % {"id": id_})


class NoteWithdrawn(NoteNotFound):
    """There is no such note: the proposal that was to make it was withdrawn by the same agent."""

    def __init__(self, proposal: Proposal, id_: str) -> None:
        self.proposal = proposal
        super().__init__(id_)


class ReplacementNotFound(NoteNotFound):
    """There is no note of the id that is to take another's place."""


class ImportUnderWay(Refused):
    """An import into this memory, or by this actor, is not over yet."""

    code = "import_under_way"

    def __init__(self) -> None:
        super().__init__(_("Another import is under way. When it is over, this one can be sent again."))


# -- conversations --------------------------------------------------------------------------------


class DeletionNotAllowed(Refused):
    """This person may not delete what was said with this owner."""

    code = "not_allowed"
