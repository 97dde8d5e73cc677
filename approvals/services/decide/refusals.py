"""Refusals of approving something else than the whole change as proposed."""

from __future__ import annotations

from collections.abc import Sequence

from django.utils.translation import gettext as _

from approvals.models import Proposal
from approvals.services.errors import DecisionRefused


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
