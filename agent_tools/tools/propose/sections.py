"""Updating a section: propose_section_update."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from agent_tools.answers import fields
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.registry import tool
from agent_tools.models import Scope
from agent_tools.tools.propose.arguments import BlockEditArguments
from agent_tools.tools.propose.proposing import correcting, propose
from approvals import services
from memory_app.text import edits, sections

#: Headers of new content in a warning, and characters of a header.
_HEADERS_SHOWN, _LENGTH = 5, 200


class SectionArguments(BlockEditArguments):
    section_header: Annotated[
        str,
        Field(
            description='The header of the section, as in the block (e.g., "## Goals").', min_length=1, max_length=2_000
        ),
    ]
    new_content: Annotated[
        str,
        Field(description="The new content of the section, without its header. Empty text empties the section."),
    ]
    section_line: Annotated[
        int | None,
        Field(
            description="The line of the header, where several sections have the same: the refusal names them.", ge=1
        ),
    ] = None


@tool(
    description=(
        "Replace what a Markdown section of a memory block contains, found by its header, and leave the rest alone. "
        "The section goes up to the next header of the same or a higher level, so its subsections are replaced too; "
        "the header itself stays. Headers inside code fences are not headers. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error creating edit proposal",
    returns=fields.PROPOSED,
    target="block_label",
)
def propose_section_update(call: Call, arguments: SectionArguments) -> Answer:
    content = sections.without_header(arguments.new_content, arguments.section_header)
    edit = edits.SectionUpdate(arguments.section_header, content, arguments.section_line)

    def place(outcome: services.Proposed) -> Sequence[str]:
        section = sections.find(outcome.revision.base_text, edit.header, line=edit.line)
        told = [f"It is the section on line {section.line}: {section.header[:_LENGTH]}"]
        if content != arguments.new_content:
            told.append("Your new_content began with this header, which stays as it is and is not put in twice.")
        return told

    def warn(outcome: services.Proposed) -> Sequence[str]:
        section = sections.find(outcome.revision.base_text, edit.header, line=edit.line)
        beside = sections.headers_beside(content, section.level)
        if not beside:
            return ()
        named = "; ".join(header[:_LENGTH] for header in beside[:_HEADERS_SHOWN])
        return (
            f"Warning: new_content has headers that begin sections beside this one, not in it: {named}. Give them "
            f"more than {section.level} # to make them its subsections.",
        )

    return propose(
        call, arguments.block_label, (edit,), arguments, corrected=correcting(arguments), place=place, warn=warn
    )
