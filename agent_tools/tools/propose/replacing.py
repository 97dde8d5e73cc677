"""Replacing passages: propose_memory_edit and propose_memory_edits."""

from __future__ import annotations

from agent_tools.answers import fields
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.registry import tool
from agent_tools.models import Scope
from agent_tools.tools.propose.arguments import BlockEditArguments, EditArguments, EditItems, as_edit
from agent_tools.tools.propose.proposing import correcting, correcting_one_of, propose


@tool(
    description=(
        "Propose an edit to a memory block using string replacement. "
        "The edit will be submitted as a proposal that requires user approval. "
        "The old_string must match exactly (including whitespace) and must be unique in the block unless "
        "replace_all is True. IMPORTANT: You must read the memory block first to see its exact content. "
        "The edit will FAIL if old_string is not found or is not unique."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_edit(call: Call, arguments: EditArguments) -> Answer:
    return propose(call, arguments.block_label, (as_edit(arguments),), arguments, corrected=correcting(arguments))


class EditsArguments(BlockEditArguments):
    edits: EditItems


@tool(
    description=(
        "Propose several replacements in one memory block at once, as one proposal: use this instead of calling "
        "propose_memory_edit repeatedly when changes belong together. "
        "They are made in order, each on what the one before left, all of them or none. "
        "Each old_string must match exactly and be unique, as for propose_memory_edit. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_edits(call: Call, arguments: EditsArguments) -> Answer:
    changes = tuple(map(as_edit, arguments.edits))
    return propose(call, arguments.block_label, changes, arguments, corrected=correcting_one_of(arguments))
