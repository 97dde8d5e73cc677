"""What a call asked for, as far as the words of a refusal depend on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_tools.calls.api_operation import Call
from agent_tools.calls.arguments import NoteWriteArguments, ReasonedArguments
from approvals.models import Proposal
from memory_app.text import edits


@dataclass(frozen=True)
class Subject:
    """What was asked for.

    Args:
        label: of the block, where it is about one.
        edits: what was proposed; empty for a call that reads, or proposes a whole block.
        is_of_whole_block: it proposes a new block, or the deletion of one.
        corrected: the arguments of a call that would work, from an edit's index and those of its arguments that are
            other than in this call; None where there is no such call.
        fields: what the tool calls a field of a note, where it calls it otherwise.
        as_of: the commit or time asked for.
        proposal_id: of the proposal it is about.
        amends: that proposal was to get another revision.
        shown: a proposal as this caller may see it; None for the usual representation.
    """

    call: Call
    label: str = ""
    edits: Sequence[edits.Edit] = ()
    corrected: Callable[[int, dict[str, Any]], dict[str, Any]] | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    as_of: str | None = None
    proposal_id: int = 0
    amends: bool = False
    is_of_whole_block: bool = False
    shown: Callable[[Proposal], dict[str, Any]] | None = None

    @classmethod
    def of_write(cls, call: Call, arguments: NoteWriteArguments | ReasonedArguments, **more: Any) -> Subject:
        """Return what a call asked for that makes a proposal, or amends the one it names."""
        number = arguments.proposal_id
        return cls(call, proposal_id=number or 0, amends=number is not None, **more)

    @property
    def proposes(self) -> bool:
        """Whether it proposes a change of a block; the contract words refusals of reading differently."""
        return bool(self.edits) or self.is_of_whole_block
