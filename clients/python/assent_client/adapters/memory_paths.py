"""What a path of the memory tool means (a block, a note, or a folder of them), and how files and folders are shown.

Pure: no call is made. Nothing outside /memories can be named: paths are compared in the form they decode to, so that no
encoding hides a way out. The texts are those of the tool that ships with the Anthropic package, word for word.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from urllib.parse import unquote

ROOT = "/memories"
BLOCKS = f"{ROOT}/blocks"
NOTES = f"{ROOT}/notes"

#: A block's label, as the server has it.
_LABEL = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_NOTE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")
#: What agents end the names of text files with; the block of `preferences.txt` is `preferences`.
_SUFFIXES = (".md", ".markdown", ".txt", ".text", ".xml", ".json", ".yaml", ".yml")
_NO_LABEL = re.compile(r"[^a-z0-9_-]+")
#: Decoding again and again ends here; a path encoded more often is refused with the others that still have a `%`.
_DECODINGS = 3

MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_UNITS = "BKMG"
#: Lines shown before and after a change.
_AROUND = 2


class Place(StrEnum):
    ROOT = "root"
    BLOCKS = "blocks"
    NOTES = "notes"
    BLOCK = "block"
    NOTE = "note"


@dataclass(frozen=True)
class MemoryPath:
    """A path that was understood.

    Args:
        given: as the agent wrote it, for texts.
        name: the block's label or the note's id; empty for a folder.
    """

    given: str
    place: Place
    name: str = ""

    @property
    def is_folder(self) -> bool:
        return self.place in (Place.ROOT, Place.BLOCKS, Place.NOTES)

    @property
    def canonical(self) -> str:
        """Return the path under which a listing names it."""
        match self.place:
            case Place.ROOT:
                return ROOT
            case Place.BLOCKS:
                return BLOCKS
            case Place.NOTES:
                return NOTES
            case Place.BLOCK:
                return f"{BLOCKS}/{self.name}.md"
            case Place.NOTE:
                return f"{NOTES}/{self.name}.md"


class CommandRefused(Exception):
    """The command cannot be done; the text is for the model, and says what would work."""


def parse(path: str) -> MemoryPath:
    """Return what `path` means.

    A file directly in /memories (`/memories/preferences.txt`) is the block of its name, as agents write it.

    Raises:
        CommandRefused: it does not begin with /memories, leads out of it, or names no file there can be.
    """
    _require_inside(path)
    shown = path[:200]
    inner = posixpath.normpath(path).removeprefix(ROOT).strip("/")
    parts = inner.split("/") if inner else []
    match parts:
        case []:
            return MemoryPath(path, Place.ROOT)
        case ["blocks"]:
            return MemoryPath(path, Place.BLOCKS)
        case ["notes"]:
            return MemoryPath(path, Place.NOTES)
        case ["notes", name]:
            id = _without_suffix(name)
            if not _NOTE_ID.fullmatch(id):
                raise CommandRefused(f"{shown} names no note. Notes are at {NOTES}/{{id}}.md.")
            return MemoryPath(path, Place.NOTE, id)
        case ["blocks", name] | [name]:
            return MemoryPath(path, Place.BLOCK, _label(name, shown))
    flat = _NO_LABEL.sub("_", "_".join(map(_without_suffix, parts[parts[0] == "blocks" :])).lower()).strip("_-")
    raise CommandRefused(
        f"There are no folders below {BLOCKS} and {NOTES}, so {shown} cannot be."
        + (f" Use {BLOCKS}/{flat[:64]}.md." if _LABEL.fullmatch(flat[:64]) else "")
    )


def _require_inside(path: str) -> None:
    """Raise CommandRefused for a path that is not, or in some decoding not, below /memories."""
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise CommandRefused(f"Path must start with /memories, got: {path[:200]}")
    decoded = path
    for _ in range(_DECODINGS):
        decoded = unquote(decoded)
    decoded = unicodedata.normalize("NFKC", decoded).replace("\\", "/")
    for form in (path, decoded):
        resolved = posixpath.normpath(form)
        if resolved != ROOT and not resolved.startswith(f"{ROOT}/"):
            raise CommandRefused(f"Path {path[:200]} would escape /memories directory")
    if decoded != unicodedata.normalize("NFKC", path) or not path.isprintable():
        raise CommandRefused(f"{path[:200]!a} has characters that no path here has: write it plainly.")


def _label(name: str, shown: str) -> str:
    label = _NO_LABEL.sub("_", unicodedata.normalize("NFKC", _without_suffix(name)).lower()).strip("_-")[:64]
    if not _LABEL.fullmatch(label):
        raise CommandRefused(
            f"{shown} names no block: a name has letters a-z, digits, _ and -, as in {BLOCKS}/learning_goals.md."
        )
    return label


def _without_suffix(name: str) -> str:
    for suffix in _SUFFIXES:
        if name.lower().endswith(suffix):
            return name[: -len(suffix)]
    return name


@dataclass(frozen=True)
class Entry:
    """A line of a folder's listing: a path, and its size in bytes."""

    path: str
    size: int


def folder(path: str, entries: Sequence[Entry]) -> str:
    """Return a folder's listing: its own line first, then `entries` as they come."""
    total = sum(entry.size for entry in entries if not entry.path.endswith("/"))
    lines = [f"{size(total)}\t{path}", *(f"{size(entry.size)}\t{entry.path}" for entry in entries)]
    head = f"Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
    return "\n".join([head, *lines])


def file(path: str, text: str, view_range: Sequence[int] | None = None) -> str:
    """Return a file's lines with their numbers.

    Args:
        view_range: first and last line, 1-based and inclusive; -1 as the last means to the end.
    """
    lines = text.split("\n")
    first, last = 1, len(lines)
    if view_range is not None:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else view_range[1]
    shown = numbered(lines[first - 1 : last], first)
    return "\n".join([f"Here's the content of {path} with line numbers:", *shown])


def snippet(text: str, changed_line: int) -> str:
    """Return the lines around `changed_line` (0-based), with their numbers."""
    lines = text.split("\n")
    first = max(0, changed_line - _AROUND)
    return "\n".join(numbered(lines[first : changed_line + _AROUND + 1], first + 1))


def numbered(lines: Sequence[str], first: int) -> list[str]:
    """Return each line behind its number, the first being `first`."""
    return [f"{number:>{_WIDTH}}\t{line}" for number, line in enumerate(lines, first)]


def size(count: int) -> str:
    """Return a number of bytes as `0B`, `512B`, `1.5K`."""
    if count == 0:
        return "0B"
    unit = min((count.bit_length() - 1) // 10, len(_UNITS) - 1)
    amount = count / 1024**unit
    return f"{int(amount)}{_UNITS[unit]}" if amount == int(amount) else f"{amount:.1f}{_UNITS[unit]}"
