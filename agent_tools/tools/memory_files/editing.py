"""Changing files: edit_file, append_to_file, prepend_to_file, update_section, write_file."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.registry import tool
from agent_tools.models import Scope
from agent_tools.tools.memory_files.changing import CHANGED, FileChange, FileWriteArguments, change_file
from memory_app.text import edits, sections

#: Characters of a header in an answer.
_HEADER = 200


class EditFileArguments(FileWriteArguments):
    old_string: Annotated[str, Field(description="The exact text to find. It has to be unique in the file.")]
    new_string: Annotated[str, Field(description="The text to replace it with.")]


@tool(
    description=(
        "Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. "
        "This is safer than write_file because it only changes what you specify. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error editing file",
    returns=CHANGED,
    target="path",
)
def edit_file(call: Call, arguments: EditFileArguments) -> Answer:
    old, new = len(arguments.old_string), len(arguments.new_string)

    def change(path: str) -> FileChange:
        said = f"replaced {old} chars with {new} chars"
        return FileChange(edits.Replace(arguments.old_string, arguments.new_string), f"Edited {path}: {said}", said)

    return change_file(call, arguments, change)


class AppendFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the end, exactly as given.", min_length=1)]


@tool(
    description=(
        "Append content to the end of a file of the memory, without reading it first. The content is added exactly: "
        "begin it with a line end for a new line. A file that is not there is proposed as a new one. "
        "Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error appending to file",
    returns=CHANGED,
    target="path",
)
def append_to_file(call: Call, arguments: AppendFileArguments) -> Answer:
    content = arguments.content

    def change(path: str) -> FileChange:
        size = f"{len(content)} chars"
        return FileChange(edits.Append(content), f"Appended {size} to {path}", f"appended {size}", content)

    return change_file(call, arguments, change)


class PrependFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the beginning, exactly as given.", min_length=1)]


@tool(
    description=(
        "Prepend content to the beginning of a file of the memory, without reading it first. The content is added "
        "exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error prepending to file",
    returns=CHANGED,
    target="path",
)
def prepend_to_file(call: Call, arguments: PrependFileArguments) -> Answer:
    content = arguments.content

    def change(path: str) -> FileChange:
        size = f"{len(content)} chars"
        return FileChange(edits.Prepend(content), f"Prepended {size} to {path}", f"prepended {size}", content)

    return change_file(call, arguments, change)


class SectionFileArguments(FileWriteArguments):
    section_header: Annotated[
        str, Field(description='Header text (e.g., "## Current State").', min_length=1, max_length=2_000)
    ]
    new_content: Annotated[str, Field(description="New content for the section (without header).")]
    section_line: Annotated[
        int | None, Field(description="The line of the header, where several sections have the same.", ge=1)
    ] = None


@tool(
    description=(
        "Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its "
        "content (everything until the next header of same or higher level). Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error updating section",
    returns=CHANGED,
    target="path",
)
def update_section(call: Call, arguments: SectionFileArguments) -> Answer:
    content = sections.without_header(arguments.new_content, arguments.section_header)
    edit = edits.SectionUpdate(arguments.section_header, content, arguments.section_line)

    def change(path: str) -> FileChange:
        said = f"updated section {arguments.section_header[:_HEADER]} with {len(content)} chars"
        return FileChange(edit, f"Edited {path}: {said}", said)

    return change_file(call, arguments, change)


class WriteFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The whole text. What is not in it is gone from the file.")]


@tool(
    description=(
        "Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. "
        "Read it with view_file first: what your content leaves out is removed. "
        "For anything smaller use edit_file, append_to_file or update_section. Requires user approval."
    ),
    scope=Scope.MEMORY_PROPOSE,
    failing="Error writing file",
    returns=CHANGED,
    target="path",
)
def write_file(call: Call, arguments: WriteFileArguments) -> Answer:
    content = arguments.content

    def change(path: str) -> FileChange:
        size = f"{len(content):,} chars"
        return FileChange(edits.Rewrite(content), f"Written: {path} ({size})", f"wrote {size}", content)

    return change_file(call, arguments, change)
