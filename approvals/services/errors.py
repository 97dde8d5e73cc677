"""Refusals of the use cases. The message of each is a sentence for people.

They have the object they are about (the proposal, the current block), so that a page or a tool can show what changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from django.utils.translation import gettext as _

from approvals.models import Proposal, TrustRule
from memory_app.models import Change
from memory_app.reads import Block, Note, NoteNotFound

if TYPE_CHECKING:
    from approvals.review.turn import Repeated


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


# -- Refusals of deciding about several proposals, and of undoing a decision; the others are in `services.errors`.


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


# -- Refusals of approving something else than the whole change as proposed.


class NothingChosen(DecisionRefused):
    """No change was ticked; what is wrong as a whole is rejected."""

    code = "nothing_chosen"


class ChangesDiffer(DecisionRefused):
    """The ticked changes are not those of the revision as it stands."""

    code = "changes_differ"


class NotesOutdated(DecisionRefused):
    """Some of the ticked notes changed since they were proposed. `ids` are those."""

    code = "notes_outdated"

    def __init__(self, proposal: Proposal, ids: Sequence[str]) -> None:
        self.ids = tuple(ids)
        super().__init__(proposal, _("Some of the ticked notes have changed since they were proposed. Untick them."))


class SameAsNow(DecisionRefused):
    """The text to approve is the target's text as it is."""

    code = "no_change"


class NoText(DecisionRefused):
    """The text to approve is blank: nobody empties a memory by settling a conflict or rewording a change."""

    code = "no_text"


class NotEditable(DecisionRefused):
    """This proposal has no text of its own to reword: it deletes, or changes several notes."""

    code = "not_editable"


# -- Refusals of comments and assigning. The message of each is a sentence for people.


class CommentInvalid(Refused):
    """A comment is empty or too long."""

    code = "comment_invalid"


class TalkClosed(DecisionRefused):
    """The thread of a proposal takes no more comments."""

    code = "talk_closed"


class NotAssignable(DecisionRefused):
    """This person may not decide about this memory, so the proposal cannot be theirs."""

    code = "not_assignable"


# -- Refusals about rules of trust. The message of each is a sentence for people.


class RuleInvalid(Refused):
    """A field of a rule is invalid. `field` is its name in the form."""

    code = "rule_invalid"

    def __init__(self, field: str, message: str) -> None:
        self.field = field
        super().__init__(message)


class RuleTaken(Refused):
    """The owner has a rule about the same changes. `rule` is that one."""

    code = "rule_taken"

    def __init__(self, rule: TrustRule, message: str) -> None:
        self.rule = rule
        super().__init__(message)


class RuleGone(Refused):
    """The owner has no such rule, or no longer."""

    code = "rule_gone"


# -- Refusals of amending, and of deciding what its agent is asked to change. What they have in common is in `errors`.


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


# -- Refusals of proposals of whole blocks. What they have in common with others is in `services.errors`.


class BlockExists(LabelTaken):
    """There is a block with the label of the new one. `block` is that one."""

    def __init__(self, block: Block) -> None:
        self.block = block
        super().__init__(_("There is a block “%(label)s” already.") % {"label": block.label})


class BlockWaits(Refused):
    """The same agent has proposed a block with this label, with other words; that proposal is undecided."""

    code = "block_waits"

    def __init__(self, proposal: Proposal) -> None:
        self.proposal = proposal
        super().__init__(_("Block “%(label)s” waits for a decision.") % {"label": proposal.target})


class FieldInvalid(Refused):
    """A title or description that no block may have. `field` is its name in the tools, `reason` says why."""

    code = "invalid_arguments"

    def __init__(self, field: str, reason: str) -> None:
        self.field, self.reason = field, reason
        super().__init__(f"{field} {reason}")
