"""The edit operations, as plain values."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Replace:
    """Replace `old_string` by `new_string`.

    Attributes:
        replace_all: replace every occurrence, however many.
        expected_replacements: how many occurrences the agent expects; also the permission to replace that many.
        occurrences: how many were replaced, once the edit has been applied.
    """

    old_string: str
    new_string: str
    replace_all: bool = False
    expected_replacements: int | None = None
    occurrences: int | None = None


@dataclass(frozen=True)
class Rewrite:
    """Replace the whole text by `content`."""

    content: str


@dataclass(frozen=True)
class Append:
    """Put `content` at the end.

    Attributes:
        own_line: it begins on a line of its own: a line end is put between where there is none. Otherwise exactly
            `content` is added.
    """

    content: str
    own_line: bool = False


@dataclass(frozen=True)
class Prepend:
    """Put `content` at the start.

    Attributes:
        own_line: what is there begins on a line of its own: a line end is put between where there is none.
    """

    content: str
    own_line: bool = False


@dataclass(frozen=True)
class Insert:
    """Put `content` after a line, as lines of its own.

    Attributes:
        line: 0 is the start, 1 after the first line. Lines end with a line feed, as in `view_range`.
    """

    line: int
    content: str


@dataclass(frozen=True)
class SectionUpdate:
    """Replace what a section contains; see `memory_app.text.sections`.

    Attributes:
        line: of the header, from 1, where the header occurs more than once.
    """

    header: str
    content: str
    line: int | None = None


Edit = Replace | Rewrite | Append | Prepend | Insert | SectionUpdate


@dataclass(frozen=True)
class Applied:
    """The result of applying edits: the new text, the edits with their occurrences, and how many replacements."""

    text: str
    edits: tuple[Edit, ...]
    replaced: int
