"""How files and folders are shown: the texts of the tool that ships with the Anthropic package, word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

MOST_LINES = 999_999
_WIDTH = len(str(MOST_LINES))
_UNITS = "BKMG"
#: Lines shown before and after a change.
_AROUND = 2


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
