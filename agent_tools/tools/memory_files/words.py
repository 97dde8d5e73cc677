"""Refusals in the words of these tools: paths for blocks, and the names of these tools for those of blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from agent_tools.errors import ApiError, ErrorCode
from agent_tools.tools.memory_files.paths import BlockFile, MemoryFile

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
