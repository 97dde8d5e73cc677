"""What a path names: a block, a note, or one of the three folders. Everything else is refused.

Paths are matched as a whole, never decoded, joined or resolved: `..`, `%2e%2e`, backslashes, NUL, and letters that only
look like ours match nothing, so nothing can lead out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
