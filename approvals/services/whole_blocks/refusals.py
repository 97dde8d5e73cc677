"""Refusals of proposals of whole blocks. What they have in common with others is in `services.errors`."""

from __future__ import annotations

from django.utils.translation import gettext as _

from approvals.models import Proposal
from approvals.services.errors import LabelTaken, Refused
from memory_app.reads import Block


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
