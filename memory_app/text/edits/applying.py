"""Checking edits, and applying them: all or none."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import replace

from memory_app.text import sections
from memory_app.text.edits.refused import (
    LARGEST_TEXT,
    AlreadyTrue,
    EmptyOldString,
    ForbiddenCharacter,
    IdenticalStrings,
    LineOutOfRange,
    OldStringNotFound,
    OldStringRepeated,
    SectionRefused,
    TextTooLong,
    WrongCount,
)
from memory_app.text.edits.values import Append, Applied, Edit, Insert, Prepend, Replace, Rewrite, SectionUpdate

# NUL ends strings in C libraries and logs; a lone surrogate cannot be encoded as UTF-8 and so not stored.
_FORBIDDEN = re.compile("[\x00\ud800-\udfff]")
_LINE_ENDS = ("\n", "\r")


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
            case SectionUpdate():
                check_text(edit.header, field="section_header", index=index)
                check_text(edit.content, field="new_content", index=index)
            case _:
                check_text(edit.content, field="content", index=index)


def apply(text: str, edits: Iterable[Edit]) -> Applied:
    """Apply `edits` in order, each on what the one before left; all of them or none.

    Occurrences are counted without overlaps, like `str.count`.

    Raises what `check` raises, for any edit, before anything is matched; then OldStringNotFound (or AlreadyTrue),
    WrongCount, OldStringRepeated, LineOutOfRange, SectionRefused, TextTooLong.
    """
    wanted = tuple(edits)
    check(wanted)
    applied: list[Edit] = []
    replaced = 0
    for index, edit in enumerate(wanted):
        match edit:
            case Replace():
                count = _count_allowed(text, edit, index)
                text = replaced_in(text, edit, count, index)
                replaced += count
                applied.append(replace(edit, occurrences=count))
            case _:
                text = made_in(text, edit, index)
                applied.append(edit)
    return Applied(text, tuple(applied), replaced)


def made_in(text: str, edit: Rewrite | Append | Prepend | Insert | SectionUpdate, index: int) -> str:
    """Return the text with an edit made that replaces no passage. Raise LineOutOfRange, SectionRefused, TextTooLong."""
    length = len(edit.content) if isinstance(edit, Rewrite) else len(text) + len(edit.content)
    if length > LARGEST_TEXT:
        raise TextTooLong(index, length)
    match edit:
        case Rewrite():
            return edit.content
        case Append():
            return text + gap(text, edit) + edit.content
        case Prepend():
            return edit.content + gap(text, edit) + text
        case Insert():
            return _inserted(text, edit, index)
        case SectionUpdate():
            try:
                return sections.update(text, edit.header, edit.content, line=edit.line)
            except sections.SectionError as error:
                raise SectionRefused(index, error) from error


def gap(text: str, edit: Append | Prepend) -> str:
    """Return the line end that is put between the text and what is added to it."""
    first, second = (text, edit.content) if isinstance(edit, Append) else (edit.content, text)
    is_apart = first.endswith(_LINE_ENDS) or second.startswith(_LINE_ENDS) or not (first and second)
    return "" if is_apart or not edit.own_line else line_end_of(text)


def lines_of(text: str) -> list[str]:
    """Return the lines with their ends; a line end at the end begins no further line."""
    lines = text.split("\n")
    return [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])


def line_before(text: str, edit: Insert) -> str:
    """Return the line after which an Insert puts its content, or "" for the start."""
    return lines_of(text)[edit.line - 1].rstrip("\r\n") if edit.line else ""


def line_end_of(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def replaced_in(text: str, edit: Replace, count: int, index: int) -> str:
    """Return `text` with all `count` occurrences replaced. Raise TextTooLong where that would be too long."""
    length = len(text) + count * (len(edit.new_string) - len(edit.old_string))
    if length > LARGEST_TEXT:
        raise TextTooLong(index, length)
    return text.replace(edit.old_string, edit.new_string)


def sha256_of(text: str) -> str:
    """Return the SHA-256 of the text's UTF-8 bytes, in hex."""
    return hashlib.sha256(text.encode()).hexdigest()


def _inserted(text: str, edit: Insert, index: int) -> str:
    lines = lines_of(text)
    if not 0 <= edit.line <= len(lines):
        raise LineOutOfRange(index, edit.line, len(lines))
    before, after = "".join(lines[: edit.line]), "".join(lines[edit.line :])
    lead = line_end_of(text) if before and not before.endswith("\n") else ""
    # At the end, the content ends as the text did.
    is_ended = edit.content.endswith("\n") or not (after or text.endswith("\n"))
    return before + lead + edit.content + ("" if is_ended else line_end_of(text)) + after


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
