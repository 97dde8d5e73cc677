"""Adding without a need to read first: propose_memory_append, propose_memory_prepend, propose_memory_insert."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Annotated

from pydantic import Field

from agent_tools.answers import fields
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.registry import tool
from agent_tools.models import Scope
from agent_tools.tools import block_reads
from agent_tools.tools.propose.arguments import BlockEditArguments
from agent_tools.tools.propose.proposing import correcting, propose
from approvals import services
from memory_app.text import edits

#: Characters of a line of the block in an answer, and lines that have the content already.
_LINE_SHOWN, _LINES_SHOWN = 80, 10


class AppendArguments(BlockEditArguments):
    content: Annotated[
        str,
        Field(
            description="The text to add at the end of the block, as new lines. An empty block is filled with it.",
            min_length=1,
        ),
    ]


@tool(
    description=(
        "Add new text at the end of a memory block, such as a new entry, item or section, without reading it first. "
        "Nothing that is there is changed; the content begins on a new line. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_append(call: Call, arguments: AppendArguments) -> Answer:
    edit = edits.Append(arguments.content, own_line=True)
    return propose(
        call, arguments.block_label, (edit,), arguments, place=partial(_gap, edit), warn=partial(_there_before, edit)
    )


class PrependArguments(BlockEditArguments):
    content: Annotated[
        str,
        Field(
            description="The text to add at the start of the block, as lines before the first one. An empty block is "
            "filled with it.",
            min_length=1,
        ),
    ]


@tool(
    description=(
        "Add new text at the start of a memory block, such as the newest entry of a log, without reading it first. "
        "Nothing that is there is changed; it begins on a new line after the content. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_prepend(call: Call, arguments: PrependArguments) -> Answer:
    edit = edits.Prepend(arguments.content, own_line=True)
    return propose(
        call, arguments.block_label, (edit,), arguments, place=partial(_gap, edit), warn=partial(_there_before, edit)
    )


class InsertArguments(BlockEditArguments):
    insert_line: Annotated[
        int,
        Field(
            description="The line after which the content is put, as read_memory_block counts them: 0 = at the start, "
            "1 = after the first line.",
            # Not `ge`: which lines there are is said by the refusal.
            json_schema_extra={"minimum": 0},
        ),
    ]
    content: Annotated[
        str, Field(description="The text to put there, as lines of its own between the two.", min_length=1)
    ]


@tool(
    description=(
        "Insert new lines into a memory block after a given line number, such as an item in the middle of a list. "
        "Nothing that is there is changed. Read the block first and give its sha256 as expected_sha256, so that the "
        "number counts lines you have seen. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_memory_insert(call: Call, arguments: InsertArguments) -> Answer:
    edit = edits.Insert(arguments.insert_line, arguments.content)

    def warn(outcome: services.Proposed) -> Sequence[str]:
        changed: tuple[str, ...] = ()
        if block_reads.known(call, arguments.session_id, outcome) is block_reads.Known.OLDER:
            changed = ("Warning: the block has changed since you read it, so its lines may have other numbers now.",)
        return (*changed, *_there_before(edit, outcome))

    return propose(
        call,
        arguments.block_label,
        (edit,),
        arguments,
        corrected=correcting(arguments),
        place=partial(_after, edit),
        warn=warn,
    )


def _gap(edit: edits.Append | edits.Prepend, outcome: services.Proposed) -> Sequence[str]:
    if not edits.gap(outcome.revision.base_text, edit):
        return ()
    end, first = ("the block's last line", "content") if isinstance(edit, edits.Append) else ("content", "the block")
    return (f"A line end was put between {end} and {first}.",)


def _after(edit: edits.Insert, outcome: services.Proposed) -> Sequence[str]:
    if not edit.line:
        return ("It goes before the first line.",)
    line = edits.line_before(outcome.revision.base_text, edit)
    if not line.strip():
        return (f"It goes after line {edit.line}, which is empty.",)
    shown = line if len(line) <= _LINE_SHOWN else f"{line[:_LINE_SHOWN]}…"
    return (f"It goes after line {edit.line}: {shown}",)


def _there_before(edit: edits.Append | edits.Prepend | edits.Insert, outcome: services.Proposed) -> Sequence[str]:
    """Return a warning about lines that the block has already: the same call twice adds them twice."""
    lines = edits.occurs_as_lines(outcome.revision.base_text, edit.content)
    if not lines:
        return ()
    where = ("line " if len(lines) == 1 else "lines ") + ", ".join(map(str, lines[:_LINES_SHOWN]))
    number = outcome.proposal.pk
    return (
        f"Warning: the block has this text already ({where}). If it is to be there only once, take the proposal back: "
        f"withdraw_proposal with proposal_id={number}.",
    )
