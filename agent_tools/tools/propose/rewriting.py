"""Replacing a whole text: propose_memory_rewrite, and the endpoint that takes a body or a list of edits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from agent_tools.answers import fields
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.parsing import invalid
from agent_tools.calls.registry import endpoint, tool
from agent_tools.models import Scope
from agent_tools.tools import block_reads
from agent_tools.tools.propose.arguments import BlockEditArguments, EditItems, as_edit
from agent_tools.tools.propose.proposing import correcting_one_of, propose
from approvals import services
from approvals.models import Kind
from memory_app.text import edits

_ATOMIC = (
    "Prefer the tools that change only what you name: propose_memory_edit, propose_memory_edits, "
    "propose_memory_append, propose_memory_prepend, propose_memory_insert, propose_section_update."
)


class RewriteArguments(BlockEditArguments):
    content: Annotated[
        str, Field(description="The whole new text of the block. What is not in it is gone from the block.")
    ]


@tool(
    description=(
        "Replace the whole text of a memory block, for the rare case that all of it is to be written anew. "
        "Read it with read_memory_block first: what your content leaves out is removed. For anything smaller use "
        "propose_memory_edit, propose_memory_append or propose_section_update. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_rewrite(call: Call, arguments: RewriteArguments) -> Answer:
    return _rewrite(call, arguments, arguments.content)


class BlockProposeArguments(BlockEditArguments):
    body: Annotated[str | None, Field(description="The whole new text of the block.")] = None
    edits: EditItems | None = None


@endpoint(
    called="a proposal to a block",
    description="Propose a whole new text for a block (`body`), or several replacements in it (`edits`).",
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def block_propose(call: Call, arguments: BlockProposeArguments) -> Answer:
    if (arguments.body is None) == (arguments.edits is None):
        both = "takes either body or edits, not both" if arguments.body is not None else "or edits is required"
        raise invalid({"body": both}, called=call.called)
    if arguments.body is not None:
        return _rewrite(call, arguments, arguments.body)
    changes = tuple(map(as_edit, arguments.edits or []))
    corrected = correcting_one_of(arguments, without=frozenset({"block_label"}))
    return propose(call, arguments.block_label, changes, arguments, corrected=corrected)


def _rewrite(call: Call, arguments: BlockEditArguments, content: str) -> Answer:
    def warn(outcome: services.Proposed) -> Sequence[str]:
        named = f"block '{arguments.block_label}'"
        return block_reads.unread(call, arguments.session_id, outcome, named=named, atomic=_ATOMIC)

    return propose(call, arguments.block_label, (edits.Rewrite(content),), arguments, kind=Kind.REWRITE, warn=warn)
