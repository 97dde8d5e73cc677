"""What the use cases refuse: one class, `Refusal`, with a code, a sentence for people, and what it is about.

A class of its own has only what is caught by name. What agents are answered is looked up by the code
(`agent_tools.answers.refusals`), and so is the HTTP status of a page.
"""

import re
from collections.abc import Sequence
from typing import Any

from django.utils.translation import gettext as _

from approvals.language import grouped
from approvals.models import Proposal
from memory_app.reads import Block, NoteNotFound

_CAPITAL_INSIDE = re.compile("(?<!^)(?=[A-Z])")


class Refusal(Exception):
    """Raised instead of what was asked for; nothing was changed.

    Args:
        message: a sentence for people.
        code: stable, for APIs.
        details: what it is about, so that a page or a tool can show it: mostly `field`, the name of what is wrong in
            forms and tools, or `proposal`.
    """

    #: A subclass has its name for a code, in small letters: `label_taken`.
    code = "refused"
    #: HTTP status of the page that says so, unless the code has its own.
    usual_status = 422

    def __init_subclass__(cls) -> None:
        cls.code = _CAPITAL_INSIDE.sub("_", cls.__name__).lower()

    def __init__(self, message: str, *, code: str = "", **details: Any) -> None:
        self.message, self.details = message, details
        self.code = code or self.code
        super().__init__(message)

    @property
    def status(self) -> int:
        """The HTTP status of a page that says so."""
        return _STATUSES.get(self.code, self.usual_status)


_STATUSES = {"branch_missing": 410, "import_under_way": 409, "label_taken": 409, "not_allowed": 403, "rule_taken": 409}


class NoChange(Refusal):
    """The result is what is there. `proposal`, where there is one, asks for it already."""


class ProposalNotFound(Refusal):
    """There is no such proposal, or this actor may not know of it."""

    def __init__(self) -> None:
        super().__init__(_("There is no such proposal."))


class BlockChanged(Refusal):
    """The block changed since the form was loaded. `current` is the current one, None when deleted."""

    def __init__(self, current: Block | None) -> None:
        self.current = current
        super().__init__(_("The block changed after this form was opened."))


class LabelTaken(Refusal):
    """The owner has a block with this label."""


class NotesChanged(Refusal):
    """A note changed since it was read; nothing was written. `ids` are all notes of the change."""

    def __init__(self, ids: Sequence[str]) -> None:
        super().__init__(_("A note has changed since."), ids=tuple(ids))


class NoteWithdrawn(NoteNotFound):
    """There is no such note: the same agent withdrew the proposal to create it."""

    def __init__(self, proposal: Proposal, id_: str) -> None:
        self.proposal = proposal
        super().__init__(id_)


class ReplacementNotFound(NoteNotFound):
    """There is no note with the id of the replacement."""


class DecisionRefused(Refusal):
    """A decision about a visible proposal is refused; nothing was changed."""

    usual_status = 409

    def __init__(self, proposal: Proposal, message: str, *, code: str = "", **details: Any) -> None:
        self.proposal = proposal
        super().__init__(message, code=code, proposal=proposal, **details)


class AlreadyDecided(DecisionRefused):
    """The proposal was decided before; `proposal` contains the decision."""


class BeingDecided(DecisionRefused):
    """Another decision holds the lease."""


class NewRevision(DecisionRefused):
    """The decision names another revision than the current one."""


class HasWarnings(DecisionRefused):
    """What would be approved has warnings, and its actor has not said that they approve it despite them."""

    usual_status = 422


class WithAgent(DecisionRefused):
    """The proposal's agent is asked for changes, which the decision does not say that its actor knows."""


class TargetChanged(DecisionRefused):
    """The target changed since the reviewer saw it. `block` is the current one, None when deleted."""

    def __init__(self, proposal: Proposal, block: Block | None) -> None:
        self.block = block
        super().__init__(proposal, _("The block changed after this page was made."))


class AlreadyUndone(DecisionRefused):
    """The decision was undone before."""


class ChangedSince(DecisionRefused):
    """The memory changed after the decision: a person has to see first what undoing would do now.

    With the code `undo_conflict`, a later change touches the same text, and it cannot be undone at all.
    """


def require_within(text: str, limit: int) -> None:
    """Raise `over_limit` for a text longer than its block's limit, in characters."""
    used = len(text)
    if used <= limit:
        return
    message = _("The text would have %(used)s characters, %(over)s over the limit of %(limit)s.")
    numbers = {"used": grouped(used), "over": grouped(used - limit), "limit": grouped(limit)}
    raise Refusal(message % numbers, code="over_limit", field="body", used=used, limit=limit)


def label_invalid() -> Refusal:
    """Return the refusal of a name that no block may have."""
    message = _("Use small letters, digits, dash and underscore, at most 64, beginning with a letter or digit.")
    return Refusal(message, code="label_invalid", field="label")


def label_taken(label: str, block: Block | None = None) -> LabelTaken:
    """Return the refusal of the name of a block there is; agents are told of `block`."""
    return LabelTaken(_("There is a block “%(label)s” already.") % {"label": label}, field="label", block=block)


def being_made() -> Refusal:
    """Return the refusal of a call whose proposal another call is making: the same call again returns it."""
    return Refusal(_("The same proposal is being made by another call."), code="being_made")


def not_allowed(proposal: Proposal) -> DecisionRefused:
    """Return the refusal of a decision by somebody who may see the proposal, but not decide."""
    return DecisionRefused(proposal, _("You may not decide about this memory."), code="not_allowed")


def other_target(proposal: Proposal) -> Refusal:
    """Return the refusal to amend a proposal that is about another block or note."""
    message = _("Proposal %(id)d is about something else.") % {"id": proposal.pk}
    return Refusal(message, code="other_target", proposal=proposal)


def note_waits(proposal: Proposal, id_: str, argument: str) -> Refusal:
    """Return the refusal of a note that is not in the memory yet: it is in an undecided proposal of the same agent.

    Args:
        argument: the argument of the call that named the note.
    """
    message = _("Note %(id)s waits for a decision.") % {"id": id_}
    return Refusal(message, code="note_waits", proposal=proposal, id=id_, argument=argument)
