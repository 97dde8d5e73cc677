"""Reading the memory as files: list_files, view_file."""

from __future__ import annotations

import difflib
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from agent_tools.answers import bounds, fields, paging, representations
from agent_tools.answers.bounds import cut
from agent_tools.answers.refusals.edits import own_waiting, waits
from agent_tools.answers.representations import Subject
from agent_tools.calls import registry
from agent_tools.calls.api_operation import Answer, Call
from agent_tools.calls.arguments import BoundedArguments
from agent_tools.calls.registry import tool
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope
from agent_tools.tools import block_reads
from agent_tools.tools.memory_files import paths
from agent_tools.tools.memory_files.paths import BlockFile, FilePath, NoteFile, named_as_files
from memory_app import reads
from memory_app.reads.catalogue import catalogue
from memory_app.text.lines import first_words

#: Characters of a note's first words in a list.
_WORDS = 80


_LISTED = {"path": "the file", "title": "of a block; of a note its first words", "length": "in characters"}


class FileListArguments(paging.PagedArguments, BoundedArguments):
    path: Annotated[
        str, Field(description="/memories, /memories/blocks or /memories/notes.", min_length=1, max_length=1_000)
    ] = paths.ROOT


@tool(
    description=(
        "List the files of the memory: blocks are longer texts under /memories/blocks, notes short statements under "
        "/memories/notes. Use this before view_file to see what is there."
    ),
    scope=Scope.MEMORY_READ,
    failing="Error listing files",
    returns=fields.paged(_LISTED),
    target="path",
)
def list_files(call: Call, arguments: FileListArguments) -> Answer:
    folder = paths.folder_of(arguments.path)
    if folder is None:
        message = f"{paths.shown(arguments.path)} is no folder."
        raise paths.not_found(arguments.path, message, help=["Read a file with view_file."])
    last = paging.after(call, arguments, str)
    every = sorted([*_blocks(call, folder), *_notes(call, folder)])
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
    view_range: Annotated[
        list[int] | None,
        Field(
            description="Only these lines: [first, last], 1-based and inclusive; last = -1 means to the end.",
            min_length=2,
            max_length=2,
        ),
    ] = None


@tool(
    description=(
        "Read a file of the memory, exactly as edit_file has to quote it. "
        "Use this before edit_file or write_file to see the current content."
    ),
    scope=Scope.MEMORY_READ,
    failing="Error reading file",
    returns={
        "path": "the file",
        "content": "the text, or the lines asked for",
        "lines": "how many lines the text has",
        "view_range": "the lines in `content`, or null for all",
        "next_range": "the view_range of the lines that were left out for their length, or null",
        "sha256": "for `expected_sha256`",
        "title": "of a block; of a note its type",
        "read_only": "agents may not change it",
    },
    target="path",
)
def view_file(call: Call, arguments: FileViewArguments) -> Answer:
    target = paths.file_of(arguments.path)
    if isinstance(target, NoteFile):
        registry.require_notes(call.name)
        note = reads.find_note(call.owner, target.id)
        if note is None:
            raise ApiError(
                ErrorCode.NOTE_NOT_FOUND,
                f"File not found: {target.path}",
                help=["list_files names the files there are; memory_search finds notes by what they say."],
                details={"path": target.path, "note_id": target.id},
            )
        text, sha256, title, read_only = note.content, note.sha256, note.type, False
    else:
        block = reads.find_block(call.owner, target.label)
        if block is None:
            raise _no_block(call, target)
        text, sha256, title, read_only = block.body, block.body_sha256, block.display_title, block.read_only
    part = cut(call, text, arguments.view_range, bounds.characters(arguments))
    if isinstance(target, BlockFile) and part.is_whole:
        block_reads.note(call, arguments.session_id, {target.label: sha256})
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


def _no_block(call: Call, target: BlockFile) -> ApiError:
    subject = Subject(call, label=target.label)
    labels = [block.label for block in reads.blocks(call.owner)]
    near = difflib.get_close_matches(target.label, labels, n=1, cutoff=0.6)
    nearest = BlockFile(near[0]).path if near else None
    waiting = own_waiting(subject)
    help = [f"The nearest is {nearest}."] if nearest else []
    help += [named_as_files(waits(waiting))] if waiting else ["list_files names the files there are."]
    details: dict[str, Any] = {"path": target.path, "block_label": target.label, "nearest": nearest}
    if waiting:
        details["waiting"] = representations.proposal(waiting)
    return ApiError(ErrorCode.BLOCK_NOT_FOUND, f"File not found: {target.path}", help=help, details=details)


def _blocks(call: Call, folder: str) -> list[str]:
    if folder == paths.NOTES:
        return []
    return [BlockFile(block.label).path for block in reads.blocks(call.owner)]


def _notes(call: Call, folder: str) -> list[str]:
    if folder == paths.BLOCKS or not settings.MEMORIES_ENABLED:
        return []
    return [NoteFile(entry.id).path for entry in catalogue(call.owner).entries if not entry.is_superseded]


def _described(call: Call, found: list[str]) -> list[dict[str, Any]]:
    """Return files as items of a list, in two reads however many they are."""
    targets = [paths.file_of(path) for path in found]
    blocks = {block.label: block for block in reads.blocks(call.owner)}
    notes = reads.find_notes(call.owner, [each.id for each in targets if isinstance(each, NoteFile)])
    items = []
    for each in targets:
        if isinstance(each, BlockFile) and each.label in blocks:
            block = blocks[each.label]
            items.append({"path": each.path, "title": block.display_title, "length": block.used})
        elif isinstance(each, NoteFile) and each.id in notes:
            content = notes[each.id].content
            items.append({"path": each.path, "title": first_words(content, _WORDS), "length": len(content)})
    return items
