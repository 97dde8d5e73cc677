"""The edit operations, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from memory_app.text.sections import SectionError


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


# -- Why an edit cannot be made.

# Replacing every "a" of a long text by a megabyte, or doubling a word forty times in one request, would fill
# the machine's memory long before the result could be compared with the block's limit. Five times the
# largest limit a block can have leaves room for steps that grow a text and then shrink it.
LARGEST_TEXT = 1_000_000


class EditError(Exception):
    """An edit cannot be made.

    Attributes:
        index: which of the edits, from 0.
    """

    def __init__(self, index: int, message: str) -> None:
        self.index = index
        super().__init__(message)


class IdenticalStrings(EditError):
    """old_string and new_string are the same."""

    def __init__(self, index: int) -> None:
        super().__init__(index, "old_string and new_string must be different")


class EmptyOldString(EditError):
    """old_string is empty, so it would match everywhere."""

    def __init__(self, index: int) -> None:
        super().__init__(index, "old_string cannot be empty")


class OldStringNotFound(EditError):
    """old_string does not occur in the text as the edits before this one left it."""

    def __init__(self, index: int, message: str = "old_string not found") -> None:
        super().__init__(index, message)


class AlreadyTrue(OldStringNotFound):
    """old_string does not occur, and new_string does: the change may have been made already."""

    def __init__(self, index: int) -> None:
        super().__init__(index, "old_string not found, and new_string is there already")


class OldStringRepeated(EditError):
    """old_string occurs more than once, and the edit does not allow replacing more than one.

    Attributes:
        count: how many times, not counting overlaps.
        lines: the 1-based numbers of the lines on which an occurrence begins, each once.
    """

    def __init__(self, index: int, count: int, lines: tuple[int, ...]) -> None:
        self.count = count
        self.lines = lines
        super().__init__(index, f"old_string appears {count} times")


class WrongCount(EditError):
    """old_string occurs, but not `expected` times."""

    def __init__(self, index: int, expected: int, found: int) -> None:
        self.expected = expected
        self.found = found
        super().__init__(index, f"expected {expected} occurrences of old_string, found {found}")


class ForbiddenCharacter(EditError):
    """A text holds NUL or half of a surrogate pair, which cannot be stored.

    Attributes:
        field: the argument that holds it, such as `new_string`.
        offset: its position, in characters from 0.
        code: the character, as `U+0000`.
    """

    def __init__(self, index: int, field: str, offset: int, code: str) -> None:
        self.field = field
        self.offset = offset
        self.code = code
        super().__init__(index, f"{field} contains the character {code} at position {offset}, which cannot be stored")


class LineOutOfRange(EditError):
    """There is no such line to insert after.

    Attributes:
        line: what was asked for.
        last: how many lines there are, which is the last that can be inserted after.
    """

    def __init__(self, index: int, line: int, last: int) -> None:
        self.line = line
        self.last = last
        super().__init__(index, f"line {line} is not between 0 and {last}")


class SectionRefused(EditError):
    """A section cannot be updated.

    Attributes:
        why: SectionNotFound, SectionRepeated or SectionUnclosed.
    """

    def __init__(self, index: int, why: SectionError) -> None:
        self.why = why
        super().__init__(index, str(why))


class TextTooLong(EditError):
    """A step would make a text longer than `LARGEST_TEXT`.

    Attributes:
        length: how long it would have become, in characters.
    """

    def __init__(self, index: int, length: int) -> None:
        self.length = length
        super().__init__(index, f"the text would become {length} characters long")


class DoesNotFit(EditError):
    """A stored edit cannot be made again on the text as it is now."""

    def __init__(self, index: int, message: str = "the edit no longer fits the text") -> None:
        super().__init__(index, message)


class MadeAlready(DoesNotFit):
    """The text gained what the only edit adds since its base: making the edit again would add it twice."""

    def __init__(self, index: int) -> None:
        super().__init__(index, "the text already has what the edit adds")


# -- Edits as JSON, stored with a revision.


def to_json(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return the edits as plain JSON, to be stored with a revision.

    `expected_replacements` is left out: once an edit has been applied, `occurrences` says the same.
    """
    return [_as_dict(edit) for edit in edits]


def from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Return the edits that `to_json` wrote. Raises ValueError on an unknown operation."""
    return tuple(_from_dict(item) for item in stored)


def _as_dict(edit: Edit) -> dict[str, Any]:
    match edit:
        case Replace():
            return {
                "op": "replace",
                "old_string": edit.old_string,
                "new_string": edit.new_string,
                "replace_all": edit.replace_all,
                "occurrences": edit.occurrences,
            }
        case Rewrite():
            return {"op": "rewrite", "content": edit.content}
        case Append():
            return {"op": "append", "content": edit.content, "own_line": edit.own_line}
        case Prepend():
            return {"op": "prepend", "content": edit.content, "own_line": edit.own_line}
        case Insert():
            return {"op": "insert", "line": edit.line, "content": edit.content}
        case SectionUpdate():
            return {"op": "section", "header": edit.header, "content": edit.content, "line": edit.line}


def _from_dict(item: Mapping[str, Any]) -> Edit:
    match item.get("op"):
        case "replace":
            return Replace(
                old_string=item["old_string"],
                new_string=item["new_string"],
                replace_all=item["replace_all"],
                occurrences=item["occurrences"],
            )
        case "rewrite":
            return Rewrite(content=item["content"])
        case "append":
            return Append(content=item["content"], own_line=item["own_line"])
        case "prepend":
            return Prepend(content=item["content"], own_line=item["own_line"])
        case "insert":
            return Insert(line=item["line"], content=item["content"])
        case "section":
            return SectionUpdate(header=item["header"], content=item["content"], line=item["line"])
        case unknown:
            raise ValueError(f"unknown edit operation {unknown!r}")
