"""What a path names: a block, a note, or one of the three folders. And refusals of block tools in words of files.

Paths are matched as a whole, never decoded, joined or resolved: `..`, `%2e%2e`, backslashes, NUL, and letters that only
look like ours match nothing, so nothing can lead out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from agent_tools.errors import ApiError, ErrorCode
from assent_client.text import notes
from memory_app.models import LABEL

ROOT, BLOCKS, NOTES = "/memories", "/memories/blocks", "/memories/notes"

#: What is said of the paths there are.
FAMILIES = f"Paths are {BLOCKS}/{{label}}.md for memory blocks and {NOTES}/{{id}}.md for notes."

#: Characters of a path in an answer.
_SHOWN = 200
#: What a path may be made of at all; the rest is refused without a guess at what was meant.
_CLEAN = re.compile(r"/memories(?:/[A-Za-z0-9_.-]+)*/?")
_BLOCK = re.compile(rf"{BLOCKS}/({LABEL.pattern})\.md")
_NOTE = re.compile(rf"{NOTES}/({notes.ID.pattern})\.md")


FilePath = Annotated[
    str,
    Field(
        description="/memories/blocks/{label}.md for a memory block, /memories/notes/{id}.md for a note.",
        min_length=1,
        max_length=1_000,
    ),
]


@dataclass(frozen=True)
class BlockFile:
    """The text of a block."""

    label: str

    @property
    def path(self) -> str:
        return f"{BLOCKS}/{self.label}.md"


@dataclass(frozen=True)
class NoteFile:
    """The content of a note."""

    id: str

    @property
    def path(self) -> str:
        return f"{NOTES}/{self.id}.md"


MemoryFile = BlockFile | NoteFile


def file_of(path: str) -> MemoryFile:
    """Return what a path names.

    Raises:
        ApiError: `path_refused` for a path that could lead out, `path_not_found` for one that names no file.
    """
    _require_clean(path)
    if found := _BLOCK.fullmatch(path):
        return BlockFile(found[1])
    if found := _NOTE.fullmatch(path):
        return NoteFile(found[1])
    if folder_of(path):
        raise not_found(path, f"{shown(path)} is a folder.", help=["list_files names the files in it."])
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
        message or f"File not found: {shown(path)}",
        help=[*said, *(help or []), FAMILIES],
        details={"path": shown(path), "nearest": nearest},
    )


def shown(path: str) -> str:
    """Return a path for an answer: what cannot be seen is written out."""
    plain = path[:_SHOWN].encode("unicode_escape").decode("ascii")
    return plain if len(path) <= _SHOWN else f"{plain}…"


def _require_clean(path: str) -> None:
    parts = path.split("/")
    if _CLEAN.fullmatch(path) and not any(part in (".", "..") for part in parts):
        return
    raise ApiError(
        ErrorCode.PATH_REFUSED,
        f"Path {shown(path)} is not allowed: it has to be {ROOT} or begin with {ROOT}/, and may not lead out of it.",
        help=[FAMILIES],
        details={"path": shown(path)},
    )


# -- Refusals in the words of these tools: paths for blocks, and the names of these tools for those of blocks.

#: The first lines that the plan of these tools gives.
_FIRST = {
    ErrorCode.OLD_STRING_NOT_FOUND: "old_string not found in {path}",
    ErrorCode.OLD_STRING_REPEATED: "old_string appears multiple times in {path}. Be more specific.",
    ErrorCode.BLOCK_NOT_FOUND: "File not found: {path}",
    ErrorCode.NOTE_NOT_FOUND: "File not found: {path}",
}
#: Help that is said in words of files.
_OF_BLOCKS = ("There are: ", "There are no ", "The nearest is ", "To make a new block")
_FILE_TOOLS = {
    "read_memory_block": "view_file",
    "list_memory_blocks": "list_files",
    "propose_memory_edit": "edit_file",
    "propose_memory_append": "append_to_file",
    "propose_memory_block": "write_file",
    "propose_memory_rewrite": "write_file",
}
_BLOCK_TOOLS = re.compile(rf"\b(?:{'|'.join(_FILE_TOOLS)})\b")


def named_as_files(text: str) -> str:
    """Return a sentence about the tools of blocks with the names of these tools."""
    return _BLOCK_TOOLS.sub(lambda found: _FILE_TOOLS[found[0]], text)


@contextmanager
def in_words_of(target: MemoryFile) -> Iterator[None]:
    """Put a refusal into the words of these tools: the path for the block, and their names for those of blocks."""
    try:
        yield
    except ApiError as error:
        raise _in_words(error, target) from error


def _in_words(error: ApiError, target: MemoryFile) -> ApiError:
    is_missing = error.code in (ErrorCode.BLOCK_NOT_FOUND, ErrorCode.NOTE_NOT_FOUND)
    first = _FIRST.get(error.code, error.message).format(path=target.path)
    help = error.text.split("\n")[1:]
    if is_missing:
        nearest = error.details.get("nearest")
        near = [f"The nearest is {BlockFile(nearest).path}."] if nearest else []
        help = [*near, *(line for line in help if not line.startswith(_OF_BLOCKS))]
        help.append("list_files names the files there are; append_to_file and write_file make a new one.")
    if isinstance(target, BlockFile):
        for said in (f"Memory block '{target.label}'", f"block '{target.label}'"):
            first = first.replace(said, target.path)
    help = [named_as_files(line) for line in help]
    return ApiError(error.code, first, help=help, details={"path": target.path} | error.details, headers=error.headers)
