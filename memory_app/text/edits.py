"""Edits of one text: what an agent asks for, applied exactly or refused by name.

Belongs here: the edit operations, applying them, applying them again on a text that has changed since,
and what no stored text may contain. Pure functions over `str`.
Not here: finding the passage the agent meant (`fuzzy_match`), showing a change (`worddiff`), merging two
changed texts, and a block's own character limit (the caller checks the result).

Matching is exact, always: no change of case, white space, line ends or Unicode form.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

# Replacing every "a" of a long text by a megabyte, or doubling a word forty times in one request, would fill
# the machine's memory long before the result could be compared with the block's limit. Five times the
# largest limit a block can have leaves room for steps that grow a text and then shrink it.
LARGEST_TEXT = 1_000_000

# NUL ends strings in C libraries and logs; a lone surrogate cannot be encoded as UTF-8 and so not stored.
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")


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


Edit = Replace | Rewrite


@dataclass(frozen=True)
class Applied:
    """The result of applying edits: the new text, the edits with their occurrences, and how many replacements."""

    text: str
    edits: tuple[Edit, ...]
    replaced: int


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


def check_text(text: str, *, field: str = "text", index: int = 0) -> None:
    """Raise ForbiddenCharacter when `text` holds NUL or a lone surrogate.

    Args:
        field: the name of the argument, for the message.
        index: which edit the text belongs to; 0 for a text that belongs to none.
    """
    found = _FORBIDDEN.search(text)
    if found:
        raise ForbiddenCharacter(index, field, found.start(), f"U+{ord(found[0]):04X}")


def check(edits: Iterable[Edit]) -> None:
    """Check what can be checked without the text they apply to.

    Raises IdenticalStrings, EmptyOldString, ForbiddenCharacter: in that order for each edit.
    """
    for index, edit in enumerate(edits):
        match edit:
            case Replace():
                if edit.old_string == edit.new_string:
                    raise IdenticalStrings(index)
                if not edit.old_string:
                    raise EmptyOldString(index)
                check_text(edit.old_string, field="old_string", index=index)
                check_text(edit.new_string, field="new_string", index=index)
            case Rewrite():
                check_text(edit.content, field="content", index=index)


def apply(text: str, edits: Iterable[Edit]) -> Applied:
    """Apply `edits` in order, each on what the one before left; all of them or none.

    Occurrences are counted without overlaps, like `str.count`.

    Raises what `check` raises, for any edit, before anything is matched; then OldStringNotFound (or AlreadyTrue),
    WrongCount, OldStringRepeated, TextTooLong.
    """
    wanted = tuple(edits)
    check(wanted)
    applied: list[Edit] = []
    replaced = 0
    for index, edit in enumerate(wanted):
        match edit:
            case Replace():
                count = _count_allowed(text, edit, index)
                text = _replaced(text, edit, count, index)
                replaced += count
                applied.append(replace(edit, occurrences=count))
            case Rewrite():
                text = _rewritten(edit, index)
                applied.append(edit)
    return Applied(text, tuple(applied), replaced)


def reapply(text: str, edits: Sequence[Edit], *, base_text: str | None = None) -> str:
    """Make edits that were applied once (so that they carry `occurrences`) again on a text that may have changed.

    A Replace fits when its old_string occurs exactly as many times as it did then. A Rewrite fits only on the
    text it was written against.

    Args:
        base_text: the text the edits were first applied to. With it, an edit whose new_string holds its old_string
            (how additions are written) is not made a second time on a text that has gained the addition since.

    Raises DoesNotFit with the edit's index (MadeAlready in the case above, when no other edit remains to be made), or
    TextTooLong.
    """
    unchanged = base_text is not None and text == base_text
    then = base_text
    for index, edit in enumerate(edits):
        match edit:
            case Replace():
                if edit.occurrences is None:
                    raise ValueError("only an edit that has been applied before can be applied again")
                count = text.count(edit.old_string)
                if count != edit.occurrences:
                    raise DoesNotFit(index)
                if then is not None:
                    if edit.old_string in edit.new_string and text.count(edit.new_string) > then.count(edit.new_string):
                        raise MadeAlready(index) if len(edits) == 1 else DoesNotFit(index)
                    then = _replaced(then, edit, count, index)
                text = _replaced(text, edit, count, index)
            case Rewrite():
                if not unchanged:
                    raise DoesNotFit(index)
                text = then = _rewritten(edit, index)
    return text


def to_json(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return the edits as plain JSON, to be stored with a revision.

    `expected_replacements` is left out: once an edit has been applied, `occurrences` says the same.
    """
    return [_as_dict(edit) for edit in edits]


def from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Return the edits that `to_json` wrote. Raises ValueError on an unknown operation."""
    return tuple(_from_dict(item) for item in stored)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _count_allowed(text: str, edit: Replace, index: int) -> int:
    """Return how many occurrences the edit will replace; raise when the text and the edit do not agree on it."""
    count = text.count(edit.old_string)
    if count == 0:
        if edit.new_string and edit.new_string in text:
            raise AlreadyTrue(index)
        raise OldStringNotFound(index)
    if edit.expected_replacements is not None:
        if edit.expected_replacements != count:
            raise WrongCount(index, edit.expected_replacements, count)
    elif count > 1 and not edit.replace_all:
        raise OldStringRepeated(index, count, _lines_of(text, edit.old_string))
    return count


def _lines_of(text: str, needle: str) -> tuple[int, ...]:
    """Return the 1-based lines on which `needle` begins, each once, in one pass."""
    lines: list[int] = []
    line, seen_to = 1, 0
    at = text.find(needle)
    while at >= 0:
        line += text.count("\n", seen_to, at)
        seen_to = at
        if not lines or lines[-1] != line:
            lines.append(line)
        at = text.find(needle, at + len(needle))
    return tuple(lines)


def _replaced(text: str, edit: Replace, count: int, index: int) -> str:
    """Return `text` with all `count` occurrences replaced. Raise TextTooLong where that would be too long."""
    length = len(text) + count * (len(edit.new_string) - len(edit.old_string))
    if length > LARGEST_TEXT:
        raise TextTooLong(index, length)
    return text.replace(edit.old_string, edit.new_string)


def _rewritten(edit: Rewrite, index: int) -> str:
    if len(edit.content) > LARGEST_TEXT:
        raise TextTooLong(index, len(edit.content))
    return edit.content


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
        case unknown:
            raise ValueError(f"unknown edit operation {unknown!r}")
