"""The memory as files: blocks are `/memories/blocks/{label}.md`, notes `/memories/notes/{id}.md`.

For models that have learnt to work on files: lists of tools have these only where they are asked for
(`calls.registry`). No file is written. A path is translated, and the change made as the tools for blocks and notes make
it: edits of a block become a proposal, those of a note go the way of its owner's policy. Refusals of the other tools
are put into words of files.

Paths are matched as a whole, never decoded, joined or resolved: `..`, `%2e%2e`, backslashes, NUL, and letters that only
look like ours match nothing, so nothing can lead out.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from agent_tools.answers import bounds, fields, outcomes, paging, refusals, representations
from agent_tools.calls import registry
from agent_tools.calls.arguments import BoundedArguments, ProposeArguments
from agent_tools.calls.registry import Answer, Call, tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools import block_reads
from agent_tools.tools.note_arguments import changed_by
from agent_tools.tools.propose import EditKind, correcting, made, made_block
from approvals import services
from approvals.models import Kind
from approvals.services import notes
from assent_client.text.notes import ID
from memory_app import reads
from memory_app.models import LABEL
from memory_app.reads.catalogue import catalogue
from memory_app.text import edits, sections
from memory_app.text.lines import first_words

ROOT, BLOCKS, NOTES = "/memories", "/memories/blocks", "/memories/notes"

#: What is said of the paths there are.
FAMILIES = f"Paths are {BLOCKS}/{{label}}.md for memory blocks and {NOTES}/{{id}}.md for notes."

#: Characters of a path in an answer.
_SHOWN = 200
#: What a path may be made of at all; the rest is refused without a guess at what was meant.
_CLEAN = re.compile(r"/memories(?:/[A-Za-z0-9_.-]+)*/?")
_BLOCK = re.compile(rf"{BLOCKS}/({LABEL.pattern})\.md")
_NOTE = re.compile(rf"{NOTES}/({ID.pattern})\.md")


FilePath = Annotated[
    str,
    Field(
        description="/memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.",
        min_length=1,
        max_length=1_000,
    ),
]


@dataclass(frozen=True)
class MemoryFile:
    """The text of a block, or the content of a note.

    Args:
        name: the block's label, or the note's id.
    """

    name: str
    is_note: bool = False

    @property
    def path(self) -> str:
        return f"{NOTES if self.is_note else BLOCKS}/{self.name}.md"


def file_of(path: str) -> MemoryFile:
    """Return what a path names.

    Raises:
        ApiError: `path_refused` for a path that could lead out, `path_not_found` for one that names no file.
    """
    _require_clean(path)
    if found := _BLOCK.fullmatch(path):
        return MemoryFile(found[1])
    if found := _NOTE.fullmatch(path):
        return MemoryFile(found[1], is_note=True)
    if folder_of(path):
        raise not_found(path, f"{_readable(path)} is a folder.", help=["list_files names the files in it."])
    raise not_found(path)


def folder_of(path: str) -> str | None:
    """Return the folder that a path names, without a slash at its end; None for a file.

    Raises:
        ApiError: `path_refused`.
    """
    _require_clean(path)
    plain = path.removesuffix("/")
    return plain if plain in (ROOT, BLOCKS, NOTES) else None


def not_found(
    path: str, message: str | None = None, *, help: list[str] | None = None, nearest: str | None = None
) -> ApiError:
    """Return the refusal of a path under which there is no file."""
    said = [f"The nearest is {nearest}."] if nearest else []
    return ApiError(
        ErrorCode.PATH_NOT_FOUND,
        message or f"File not found: {_readable(path)}",
        help=[*said, *(help or []), FAMILIES],
        details={"path": _readable(path), "nearest": nearest},
    )


def _readable(path: str) -> str:
    """Return a path for an answer: what cannot be seen is written out."""
    plain = path[:_SHOWN].encode("unicode_escape").decode("ascii")
    return plain if len(path) <= _SHOWN else f"{plain}…"


def _require_clean(path: str) -> None:
    parts = path.split("/")
    if _CLEAN.fullmatch(path) and not any(part in (".", "..") for part in parts):
        return
    raise ApiError(
        ErrorCode.PATH_REFUSED,
        f"Path {_readable(path)} is not allowed: it has to be {ROOT} or begin with {ROOT}/, and may not lead out of "
        "it.",
        help=[FAMILIES],
        details={"path": _readable(path)},
    )


#: The first lines that the plan of these tools gives.
_FIRST = {
    ErrorCode.OLD_STRING_NOT_FOUND: "old_string not found in {path}",
    ErrorCode.OLD_STRING_REPEATED: "old_string appears multiple times in {path}. Be more specific.",
    ErrorCode.BLOCK_NOT_FOUND: "File not found: {path}",
    ErrorCode.NOTE_NOT_FOUND: "File not found: {path}",
}
#: Help that is said in words of files.
_OF_BLOCKS = ("There are: ", "There are no ", "The nearest is ", "To begin it")
_FILE_TOOLS = {
    "read_memory_block": "view_file",
    "list_memory_blocks": "list_files",
    "propose_memory_edit": "edit_file",
    "propose_memory_append": "append_to_file",
    "propose_memory_block": "write_file",
    "propose_memory_rewrite": "write_file",
}
_BLOCK_TOOLS = re.compile(rf"\b(?:{'|'.join(_FILE_TOOLS)})\b")


@contextmanager
def in_words_of(
    target: MemoryFile,
    otherwise: str = "list_files names the files there are; append_to_file and write_file make a new one.",
) -> Iterator[None]:
    """Put a refusal into the words of these tools: the path for the block, and their names for those of blocks.

    Args:
        otherwise: what to do where there is no file.
    """
    try:
        yield
    except ApiError as error:
        raise _in_words(error, target, otherwise) from error


def _in_words(error: ApiError, target: MemoryFile, otherwise: str) -> ApiError:
    is_missing = error.code in (ErrorCode.BLOCK_NOT_FOUND, ErrorCode.NOTE_NOT_FOUND)
    first = _FIRST.get(error.code, error.message).format(path=target.path)
    help = error.text.split("\n")[1:]
    if is_missing:
        nearest = error.details.get("nearest")
        near = [f"The nearest is {MemoryFile(nearest).path}."] if nearest else []
        help = [*near, *(line for line in help if not line.startswith(_OF_BLOCKS))]
        help.append(otherwise)
    if not target.is_note:
        for said in (f"Memory block '{target.name}'", f"block '{target.name}'"):
            first = first.replace(said, target.path)
    help = [_BLOCK_TOOLS.sub(lambda found: _FILE_TOOLS[found[0]], line) for line in help]
    return ApiError(error.code, first, help=help, details={"path": target.path} | error.details, headers=error.headers)


# -- Reading: list_files and view_file.

#: Characters of a note's first words in a list.
_WORDS = 80


_LISTED = {
    "path": "string: the file",
    "title": "string: of a block; of a note its first words",
    "length": "integer: in characters",
}


class FileListArguments(paging.PagedArguments, BoundedArguments):
    path: Annotated[
        str, Field(description="/memories, /memories/blocks or /memories/notes.", min_length=1, max_length=1_000)
    ] = ROOT


@tool(
    description=(
        "List the files of the memory: blocks are longer texts under /memories/blocks, notes short statements under "
        "/memories/notes. Use this before view_file to see what is there."
    ),
    failing="Error listing files",
    returns=fields.paged(_LISTED),
    target="path",
)
def list_files(call: Call, arguments: FileListArguments) -> Answer:
    folder = folder_of(arguments.path)
    if folder is None:
        message = f"{_readable(arguments.path)} is no folder."
        raise not_found(arguments.path, message, help=["Read a file with view_file."])
    last = paging.after(call, arguments, str)
    every = []
    if folder != NOTES:
        every += [MemoryFile(block.label).path for block in reads.blocks(call.owner)]
    if folder != BLOCKS and settings.MEMORIES_ENABLED:
        entries = catalogue(call.owner).entries
        every += [MemoryFile(entry.id, is_note=True).path for entry in entries if not entry.is_superseded]
    every.sort()
    found = [path for path in every if last is None or path > last][: arguments.limit + 1]
    items = _described(call, found)
    fitting = bounds.that_fit(items, bounds.characters(arguments))
    shown, cursor = paging.page(call, items, arguments, lambda each: each["path"], most=fitting)
    lines = [f"{each['path']}\t{each['length']:,} chars\t{each['title']}" for each in shown]
    text = "\n".join([f"Files in {folder}:", "", *lines]) if shown else f"There are no files in {folder}."
    if cursor:
        text += f"\n\n({len(shown)} of {len(every)} files; call again with cursor {cursor} for the next.)"
    return Answer(text, {"items": items[: len(shown)], "next": cursor})


class FileViewArguments(BoundedArguments):
    path: FilePath
    view_range: bounds.ViewRange = None


@tool(
    description=(
        "Read a file of the memory, exactly as edit_file has to quote it. "
        "Use this before edit_file or write_file to see the current content."
    ),
    failing="Error reading file",
    returns={
        "path": "string: the file",
        "content": "string: the text, or the lines asked for",
        "lines": "integer: how many lines the text has",
        "view_range": "integer[] | null: the lines in `content`, or null for all",
        "next_range": "integer[] | null: the view_range of the lines that were left out for their length, or null",
        "sha256": "string: for `expected_sha256`",
        "title": "string: of a block; of a note its type",
        "read_only": "boolean: agents may not change it",
    },
    target="path",
)
def view_file(call: Call, arguments: FileViewArguments) -> Answer:
    target = file_of(arguments.path)
    if target.is_note:
        registry.require_notes(call.name)
        note = reads.find_note(call.owner, target.name)
        if note is None:
            help = "list_files names the files there are; memory_search finds notes by what they say."
            with in_words_of(target, otherwise=help):
                raise refusals.explain(reads.NoteNotFound(target.name), representations.Subject(call))
        text, sha256, title, read_only = note.content, note.sha256, note.type, False
    else:
        block = reads.find_block(call.owner, target.name)
        if block is None:
            with in_words_of(target, otherwise="list_files names the files there are."):
                raise refusals.explain(
                    reads.BlockNotFound(call.owner, target.name), representations.Subject(call, label=target.name)
                )
        text, sha256, title, read_only = block.body, block.body_sha256, block.display_title, block.read_only
    part = bounds.cut(call, text, arguments.view_range, bounds.characters(arguments))
    if not target.is_note:
        block_reads.note_part(call, arguments.session_id, target.name, sha256, part)
    data = {
        "path": target.path,
        "content": part.text,
        "lines": part.lines,
        "view_range": part.shown,
        "next_range": part.following,
        "sha256": sha256,
        "title": title,
        "read_only": read_only,
    }
    return Answer(f"{part.text or '(empty)'}{part.rest('view_file')}", data)


def _described(call: Call, found: list[str]) -> list[dict[str, Any]]:
    """Return files as items of a list, in two reads however many they are."""
    targets = [file_of(path) for path in found]
    blocks = {block.label: block for block in reads.blocks(call.owner)}
    notes = reads.find_notes(call.owner, [each.name for each in targets if each.is_note])
    items = []
    for each in targets:
        if not each.is_note and each.name in blocks:
            block = blocks[each.name]
            items.append({"path": each.path, "title": block.display_title, "length": block.used})
        elif each.is_note and each.name in notes:
            content = notes[each.name].content
            items.append({"path": each.path, "title": first_words(content, _WORDS), "length": len(content)})
    return items


# -- Changing: edit_file, append_to_file, prepend_to_file, update_section and write_file.

_ATOMIC = "Prefer the tools that change only what you name: edit_file, append_to_file, prepend_to_file, update_section."

#: What the tools answer; fields that only blocks or only notes have are null for the others.
CHANGED = {"path": "string: the file"} | fields.of_either(
    {"note_id": "string: of a note, its id"} | fields.WRITTEN, fields.PROPOSED
)

#: Characters of a header in an answer.
_HEADER = 200


class FileWriteArguments(ProposeArguments):
    """What every tool takes that changes a file. A reason is welcome, and not required."""

    path: FilePath
    reasoning: Annotated[
        str, Field(description="Why, in a sentence the user can read beside the change.", max_length=4_000)
    ] = ""


@dataclass(frozen=True)
class FileChange:
    """What is asked for.

    Args:
        edit: of the text there is.
        asked: what is said of it where it waits: "appended 3 chars".
        done: what the plan of these tools says where it is applied at once.
        makes: the text of a file that is not there yet; None where the tool makes none.
    """

    edit: edits.Edit
    asked: str
    done: str
    makes: str | None = None


_tool = partial(tool, returns=CHANGED, target="path")


class EditFileArguments(FileWriteArguments):
    old_string: Annotated[str, Field(description="The exact text to find. It has to be unique in the file.")]
    new_string: Annotated[str, Field(description="The text to replace it with.")]


@_tool(
    description=(
        "Replace old_string with new_string in a file of the memory. The old_string must be unique in the file. "
        "This is safer than write_file because it only changes what you specify. Requires user approval."
    ),
    failing="Error editing file",
)
def edit_file(call: Call, arguments: EditFileArguments) -> Answer:
    asked = f"replaced {len(arguments.old_string)} chars with {len(arguments.new_string)} chars"
    edit = edits.Replace(arguments.old_string, arguments.new_string)
    return _change(call, arguments, FileChange(edit, asked, f"Edited {arguments.path}: {asked}"))


class AppendFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the end, exactly as given.", min_length=1)]


@_tool(
    description=(
        "Append content to the end of a file of the memory, without reading it first. The content is added exactly: "
        "begin it with a line end for a new line. A file that is not there is proposed as a new one. "
        "Requires user approval."
    ),
    failing="Error appending to file",
)
def append_to_file(call: Call, arguments: AppendFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content)} chars"
    done = f"Appended {size} to {arguments.path}"
    return _change(call, arguments, FileChange(edits.Append(content), f"appended {size}", done, content))


class PrependFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The text to put at the beginning, exactly as given.", min_length=1)]


@_tool(
    description=(
        "Prepend content to the beginning of a file of the memory, without reading it first. The content is added "
        "exactly: end it with a line end. A file that is not there is proposed as a new one. Requires user approval."
    ),
    failing="Error prepending to file",
)
def prepend_to_file(call: Call, arguments: PrependFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content)} chars"
    done = f"Prepended {size} to {arguments.path}"
    return _change(call, arguments, FileChange(edits.Prepend(content), f"prepended {size}", done, content))


class SectionFileArguments(FileWriteArguments):
    section_header: Annotated[
        str, Field(description='Header text (e.g., "## Current State").', min_length=1, max_length=2_000)
    ]
    new_content: Annotated[str, Field(description="New content for the section (without header).")]
    section_line: Annotated[
        int | None, Field(description="The line of the header, where several sections have the same.", ge=1)
    ] = None


@_tool(
    description=(
        "Update a specific section in a Markdown file of the memory. Finds the section by header and replaces its "
        "content (everything until the next header of same or higher level). Requires user approval."
    ),
    failing="Error updating section",
)
def update_section(call: Call, arguments: SectionFileArguments) -> Answer:
    content = sections.without_header(arguments.new_content, arguments.section_header)
    edit = edits.SectionUpdate(arguments.section_header, content, arguments.section_line)
    asked = f"updated section {arguments.section_header[:_HEADER]} with {len(content)} chars"
    return _change(call, arguments, FileChange(edit, asked, f"Edited {arguments.path}: {asked}"))


class WriteFileArguments(FileWriteArguments):
    content: Annotated[str, Field(description="The whole text. What is not in it is gone from the file.")]


@_tool(
    description=(
        "Write a whole file of the memory: a new one, or, for the rare case, all of an existing one. "
        "Read it with view_file first: what your content leaves out is removed. "
        "For anything smaller use edit_file, append_to_file or update_section. Requires user approval."
    ),
    failing="Error writing file",
)
def write_file(call: Call, arguments: WriteFileArguments) -> Answer:
    content, size = arguments.content, f"{len(arguments.content):,} chars"
    done = f"Written: {arguments.path} ({size})"
    return _change(call, arguments, FileChange(edits.Rewrite(content), f"wrote {size}", done, content))


def _change(call: Call, arguments: FileWriteArguments, change: FileChange) -> Answer:
    target = file_of(arguments.path)
    if target.is_note:
        registry.require_notes(call.name)
    if arguments.expected_sha256 is not None:  # who gives the sha256 of a text means a file that is there
        change = replace(change, makes=None)
    with in_words_of(target):
        return (_change_note if target.is_note else _change_block)(call, target, arguments, change)


def _change_block(call: Call, target: MemoryFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    label, edit, asked = target.name, change.edit, change.asked
    kind: EditKind = Kind.REWRITE if isinstance(edit, edits.Rewrite) else Kind.EDIT
    warnings: tuple[str, ...] = ()
    makes = None if reads.find_block(call.owner, label) or arguments.proposal_id else change.makes
    if makes is not None:
        outcome = made_block(call, arguments, label=label, title="", body=makes, description="")
    else:
        outcome = made(call, label, (edit,), arguments, kind=kind, corrected=correcting(arguments))
    if outcome.proposal.kind == Kind.CREATE_BLOCK:
        asked += " (a new block)"
    elif kind == Kind.REWRITE and outcome.created:
        warnings = block_reads.unread(call, arguments.session_id, outcome, named=target.path, atomic=_ATOMIC)
    number = outcome.proposal.pk
    which = f"revision {outcome.revision.number} of proposal {number}" if outcome.amended else f"proposal {number}"
    waits = f"The user will be asked to approve {which}. Until then the file reads as before."
    done = f"{change.done}\nA rule of the user let it through: proposal {number}, which the user can revert."
    words = _words(target, asked, outcome, waits=waits, applied=done)
    return outcomes.answer(outcome, words, warnings=warnings, beside=dict.fromkeys(CHANGED) | {"path": target.path})


def _change_note(call: Call, target: MemoryFile, arguments: FileWriteArguments, change: FileChange) -> Answer:
    by = changed_by(call, arguments)
    with refusals.explained(representations.Subject.of_write(call, arguments)):
        note = reads.find_note(call.owner, target.name)
        if note is not None:
            outcome = notes.update(
                by=by,
                owner=call.owner,
                note_id=note.id,
                content=_edited(target, note, change.edit),
                loaded_sha256=arguments.expected_sha256,
            )
        elif change.makes is not None:
            outcome = notes.save(by=by, owner=call.owner, content=change.makes, note_id=target.name)
        else:
            raise reads.NoteNotFound(target.name)
    if outcome.known:
        there = MemoryFile(outcome.note_id, is_note=True)
        beside = dict.fromkeys(CHANGED) | {"path": there.path, "note_id": there.name}
        return outcomes.of_note(outcome, applied="", beside=beside, more=f"It is {there.path}.")
    proposed = outcomes.of_notes(outcome)
    waits = f"The user will be asked to approve proposal {proposed.proposal.pk}."
    words = _words(target, change.asked, proposed, waits=waits, applied=change.done)
    data: dict[str, Any] = {"path": target.path, "note_id": target.name} | outcomes.data_of(proposed)
    return Answer(outcomes.told(proposed, words), dict.fromkeys(CHANGED) | data)


def _words(target: MemoryFile, asked: str, outcome: services.Proposed, *, waits: str, applied: str) -> outcomes.Words:
    proposed = f"Proposed for {target.path}: {asked}\n{waits}"
    return outcomes.Words(
        waits=proposed,
        amended=proposed + representations.why_it_waits(outcome.proposal),
        equal=f"Proposed for {target.path} already: proposal {outcome.proposal.pk} asks for exactly this.",
        applied=applied,
    )


#: What an edit of a note is refused with; any other with OVER_LIMIT.
_CODES = {
    "old_string_not_found": ErrorCode.OLD_STRING_NOT_FOUND,
    "old_string_repeated": ErrorCode.OLD_STRING_REPEATED,
    "section_not_found": ErrorCode.SECTION_NOT_FOUND,
    "section_repeated": ErrorCode.SECTION_NOT_FOUND,
    "section_unclosed": ErrorCode.SECTION_NOT_FOUND,
}


def _edited(target: MemoryFile, note: reads.Note, edit: edits.Edit) -> str:
    """Return the note's content with the change. Raise ApiError where it cannot be made."""
    try:
        return edits.apply(note.content, (edit,)).text
    except edits.EditError as error:
        if error.code in ("identical_strings", "empty_old_string", "forbidden_character"):
            raise
        raise ApiError(
            _CODES.get(error.code, ErrorCode.OVER_LIMIT),
            f"{error} in {target.path}.",
            help=["Read the note with view_file: it has to match exactly."],
            details={"note_id": note.id},
        ) from error
