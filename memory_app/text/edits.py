"""Edits of one text: what an agent asks for, applied exactly or refused by name.

Belongs here: the edit operations, what is refused, applying them and applying them again on a text that has changed
since, what no stored text may contain, and edits as JSON. Pure functions over `str`. Not here: finding the passage the
agent meant (`fuzzy_match`), what a section is (`sections`), showing a change (`worddiff`), merging two changed texts,
and a block's own character limit (the caller checks the result).

Matching is exact, always: no change of case, white space, line ends or Unicode form. What is put in takes the line ends
of a text that has CRLF throughout.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from memory_app.text import sections
from memory_app.text.lines import with_ends


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
    """Replace the whole text by `content`.

    Attributes:
        is_of_older: its author read an older text than the one it replaces, for a reviewer.
    """

    content: str
    is_of_older: bool = False


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


#: What replaces no passage.
Placed = Rewrite | Append | Prepend | Insert | SectionUpdate
Edit = Replace | Placed


@dataclass(frozen=True)
class Applied:
    """The result of applying edits: the new text, the edits with their occurrences, and how many replacements."""

    text: str
    edits: tuple[Edit, ...]
    replaced: int


# Replacing every "a" of a long text by a megabyte, or doubling a word forty times in one request, would fill
# the machine's memory long before the result could be compared with the block's limit. Five times the
# largest limit a block can have leaves room for steps that grow a text and then shrink it.
LARGEST_TEXT = 1_000_000


class EditError(Exception):
    """An edit cannot be made.

    Attributes:
        index: which of the edits, from 0.
        code: why, in one word; of a section, that of its `SectionError`.
        details: `identical_strings`, `empty_old_string`: none. `old_string_not_found`: `is_there`, whether new_string
            is, so that the change may have been made already. `old_string_repeated`: the `count` without overlaps, and
            the `lines` on which one begins, each once, from 1. `wrong_count`: how many were `expected` and `found`.
            `line_out_of_range`: the `line` asked for, and the `last` that can be inserted after. Of a section, those of
            its `SectionError`.
    """

    def __init__(self, index: int, code: str, message: str, **details: Any) -> None:
        self.index, self.code, self.details = index, code, details
        super().__init__(message)


class ForbiddenCharacter(EditError):
    """A text holds NUL or half of a surrogate pair, which cannot be stored.

    Attributes:
        field: the argument that holds it, such as `new_string`.
        offset: its position, in characters from 0.
        character: as `U+0000`.
    """

    def __init__(self, index: int, field: str, offset: int, character: str) -> None:
        self.field, self.offset, self.character = field, offset, character
        message = f"{field} contains the character {character} at position {offset}, which cannot be stored"
        super().__init__(index, "forbidden_character", message)


class TextTooLong(EditError):
    """A step would make a text longer than `LARGEST_TEXT`.

    Attributes:
        length: how long it would have become, in characters.
    """

    def __init__(self, index: int, length: int) -> None:
        self.length = length
        super().__init__(index, "text_too_long", f"the text would become {length} characters long")


class DoesNotFit(EditError):
    """A stored edit cannot be made again on the text as it is now."""

    def __init__(self, index: int, message: str = "the edit no longer fits the text") -> None:
        super().__init__(index, "does_not_fit", message)


class MadeAlready(DoesNotFit):
    """The text gained what the only edit adds since its base: making the edit again would add it twice."""

    def __init__(self, index: int) -> None:
        super().__init__(index, "the text already has what the edit adds")


_OPERATIONS: dict[str, type[Edit]] = {
    "replace": Replace,
    "rewrite": Rewrite,
    "append": Append,
    "prepend": Prepend,
    "insert": Insert,
    "section": SectionUpdate,
}
_NAMES = {operation: name for name, operation in _OPERATIONS.items()}
_LEFT_OUT = ("expected_replacements", "is_of_older")


def to_json(edits: Iterable[Edit]) -> list[dict[str, Any]]:
    """Return the edits as plain JSON, to be stored with a revision.

    `expected_replacements` is left out: once an edit has been applied, `occurrences` says the same. So is `is_of_older`
    where it is not so.
    """
    return [
        {"op": _NAMES[type(edit)]}
        | {name: value for name, value in vars(edit).items() if name not in _LEFT_OUT or value is True}
        for edit in edits
    ]


def from_json(stored: Iterable[Mapping[str, Any]]) -> tuple[Edit, ...]:
    """Return the edits that `to_json` wrote. Raises ValueError on an unknown operation."""
    found = []
    for item in stored:
        operation = _OPERATIONS.get(item.get("op", ""))
        if operation is None:
            raise ValueError(f"unknown edit operation {item.get('op')!r}")
        found.append(operation(**{name: value for name, value in item.items() if name != "op"}))
    return tuple(found)


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

    Raises EditError (`identical_strings`, `empty_old_string`), ForbiddenCharacter: in that order for each edit.
    """
    for index, edit in enumerate(edits):
        match edit:
            case Replace():
                if edit.old_string == edit.new_string:
                    raise EditError(index, "identical_strings", "old_string and new_string must be different")
                if not edit.old_string:
                    raise EditError(index, "empty_old_string", "old_string cannot be empty")
                check_text(edit.old_string, field="old_string", index=index)
                check_text(edit.new_string, field="new_string", index=index)
            case SectionUpdate():
                check_text(edit.header, field="section_header", index=index)
                check_text(edit.content, field="new_content", index=index)
            case _:
                check_text(edit.content, field="content", index=index)


def apply(text: str, edits: Iterable[Edit]) -> Applied:
    """Apply `edits` in order, each on what the one before left; all of them or none.

    Occurrences are counted without overlaps, like `str.count`. The edits returned have the line ends that were written.

    Raises what `check` raises, for any edit, before anything is matched; then EditError or TextTooLong.
    """
    wanted = tuple(edits)
    check(wanted)
    applied: list[Edit] = []
    replaced = 0
    for index, edit in enumerate(wanted):
        edit = _with_line_ends_of(text, edit)
        if isinstance(edit, Replace):
            count = _count_allowed(text, edit, index)
            text = replaced_in(text, edit, count, index)
            replaced += count
            edit = replace(edit, occurrences=count)
        else:
            text = made_in(text, edit, index)
        applied.append(edit)
    return Applied(text, tuple(applied), replaced)


_LONE_LINE_FEED = re.compile(r"(?<!\r)\n")


def _with_line_ends_of(text: str, edit: Edit) -> Edit:
    """Return the edit with what it puts in written with the line ends of a text that has CRLF throughout."""
    if "\r\n" not in text or _LONE_LINE_FEED.search(text) or isinstance(edit, Rewrite):
        return edit
    if isinstance(edit, Replace):
        return replace(edit, new_string=_LONE_LINE_FEED.sub("\r\n", edit.new_string))
    return replace(edit, content=_LONE_LINE_FEED.sub("\r\n", edit.content))


def made_in(text: str, edit: Placed, index: int) -> str:
    """Return the text with an edit made that replaces no passage. Raise EditError, TextTooLong."""
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
                raise EditError(index, error.code, str(error), **error.details) from error


def gap(text: str, edit: Append | Prepend) -> str:
    """Return the line end that is put between the text and what is added to it."""
    first, second = (text, edit.content) if isinstance(edit, Append) else (edit.content, text)
    is_apart = first.endswith(_LINE_ENDS) or second.startswith(_LINE_ENDS) or not (first and second)
    return "" if is_apart or not edit.own_line else line_end_of(text)


def line_before(text: str, edit: Insert) -> str:
    """Return the line after which an Insert puts its content, or "" for the start."""
    return with_ends(text)[edit.line - 1].rstrip("\r\n") if edit.line else ""


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
    lines = with_ends(text)
    if not 0 <= edit.line <= len(lines):
        message = f"line {edit.line} is not between 0 and {len(lines)}"
        raise EditError(index, "line_out_of_range", message, line=edit.line, last=len(lines))
    before, after = "".join(lines[: edit.line]), "".join(lines[edit.line :])
    lead = line_end_of(text) if before and not before.endswith("\n") else ""
    # At the end, the content ends as the text did.
    is_ended = edit.content.endswith("\n") or not (after or text.endswith("\n"))
    return before + lead + edit.content + ("" if is_ended else line_end_of(text)) + after


def _count_allowed(text: str, edit: Replace, index: int) -> int:
    """Return how many occurrences the edit will replace; raise when the text and the edit do not agree on it."""
    count = text.count(edit.old_string)
    if count == 0:
        is_there = bool(edit.new_string) and edit.new_string in text
        message = "old_string not found" + (", and new_string is there already" if is_there else "")
        raise EditError(index, "old_string_not_found", message, is_there=is_there)
    if edit.expected_replacements is not None:
        expected = edit.expected_replacements
        if expected != count:
            message = f"expected {expected} occurrences of old_string, found {count}"
            raise EditError(index, "wrong_count", message, expected=expected, found=count)
    elif count > 1 and not edit.replace_all:
        message, lines = f"old_string appears {count} times", _lines_of(text, edit.old_string)
        raise EditError(index, "old_string_repeated", message, count=count, lines=lines)
    return count


def _lines_of(text: str, needle: str) -> tuple[int, ...]:
    """Return the 1-based lines on which `needle` begins, each once, in one pass."""
    inside = needle.count("\n")
    before = (piece.count("\n") for piece in text.split(needle)[:-1])
    lines = accumulate(before, lambda line, count: line + inside + count)
    return tuple(dict.fromkeys(line + 1 for line in lines))


#: Lines on each side of an insertion that have to be as they were, and together only once in the text.
_NEIGHBOURS = 3
_BLANK = " \t\r\n"


_LINE_END = re.compile(r"[\r\n]")


def reapply(text: str, edits: Sequence[Edit], *, base_text: str | None = None) -> str:
    """Make edits that were applied once (so that they carry `occurrences`) again on a text that may have changed.

    - A Replace fits when its old_string occurs exactly as many times as it did then.
    - Append and Prepend fit any text, since its end and its start are always there.
    - An Insert fits where the lines around its place are as they were, and stand nowhere else.
    - A SectionUpdate fits when the section contains what it did then, below the same headers.
    - A Rewrite fits only on the text it was written against.

    Args:
        base_text: the text the edits were first applied to. With it, an edit that adds something (for a Replace: whose
            new_string holds its old_string) is not made a second time on a text that has gained the addition since.
            Without it, only a Replace fits.

    Raises DoesNotFit with the edit's index (MadeAlready in the case above, when no other edit remains to be made), or
    TextTooLong.
    """
    then = base_text
    for index, edit in enumerate(edits):
        if isinstance(edit, Replace):
            text, then = _replaced_again(text, then, edit, index, is_only=len(edits) == 1)
        elif then is None:
            raise DoesNotFit(index)
        else:
            text, then = _made_again(text, then, edit, index, is_only=len(edits) == 1)
    return text


def occurs_as_lines(text: str, content: str) -> tuple[int, ...]:
    """Return the 1-based numbers of the lines on which `content` begins, as whole lines; none for blank content."""
    wanted = content.strip("\r\n")
    if not wanted.strip():
        return ()
    lines: list[int] = []
    line, seen = 1, 0
    at = text.find(wanted)
    while at >= 0:
        line += text.count("\n", seen, at)
        seen, end = at, at + len(wanted)
        if (at == 0 or text[at - 1] in "\r\n") and (end == len(text) or text[end] in "\r\n"):
            lines.append(line)
        else:  # the next that counts begins a line
            found = _LINE_END.search(text, at)
            if found is None:
                break
            end = found.end()
        at = text.find(wanted, end)
    return tuple(lines)


def _replaced_again(text: str, then: str | None, edit: Replace, index: int, *, is_only: bool) -> tuple[str, str | None]:
    if edit.occurrences is None:
        raise ValueError("only an edit that has been applied before can be applied again")
    count = text.count(edit.old_string)
    if count != edit.occurrences:
        raise DoesNotFit(index)
    if then is not None:
        if edit.old_string in edit.new_string and text.count(edit.new_string) > then.count(edit.new_string):
            raise MadeAlready(index) if is_only else DoesNotFit(index)
        then = replaced_in(then, edit, count, index)
    return replaced_in(text, edit, count, index), then


def _made_again(text: str, then: str, edit: Placed, index: int, *, is_only: bool) -> tuple[str, str]:
    """Return both texts with the edit made: the text as it is now, and as it was."""
    result = made_in(then, edit, index)
    if text == then:
        return result, result
    if isinstance(edit, Rewrite):
        raise DoesNotFit(index)
    if isinstance(edit, SectionUpdate):
        return _section_again(text, then, edit, index, is_only=is_only), result
    addition = _addition(then, edit, result)
    # A text that holds its own beginning, put into itself, is there no more often than before.
    if text == result or len(occurs_as_lines(text, addition)) > len(occurs_as_lines(then, addition)):
        raise MadeAlready(index) if is_only else DoesNotFit(index)
    if isinstance(edit, Insert):
        edit = _moved(text, then, edit, index)
    return made_in(text, edit, index), result


def _addition(then: str, edit: Append | Prepend | Insert, result: str) -> str:
    """Return the lines of the result that hold what the edit adds, with what stands beside it on them."""
    if isinstance(edit, Append):
        start = len(then) + len(gap(then, edit))
    else:
        start = 0 if isinstance(edit, Prepend) else len("".join(with_ends(then)[: edit.line]))
        if start and not then.endswith("\n", 0, start):
            start = result.find("\n", start) + 1  # the line end put before it
    content = edit.content
    first = start + len(content) - len(content.lstrip("\r\n"))
    last = start + len(content.rstrip("\r\n"))
    end = result.find("\n", last)
    return result[result.rfind("\n", 0, first) + 1 : end if end >= 0 else len(result)]


def _moved(text: str, then: str, edit: Insert, index: int) -> Insert:
    """Return the edit with the number that its line has now. Raise DoesNotFit when that is not certain."""
    before, now = _between_ends(then), _between_ends(text)
    start = max(edit.line + 1 - _NEIGHBOURS, 0)
    around = before[start : edit.line + 1 + _NEIGHBOURS]
    places = _places(now, around)
    if len(places) != 1 or len(_places(before, around)) != 1:
        raise DoesNotFit(index)
    return replace(edit, line=places[0] + edit.line - start)


def _between_ends(text: str) -> list[str]:
    """Return the lines without their ends, between two that no text has: its start and its end are neighbours too."""
    return ["\nstart", *(line.rstrip("\r\n") for line in with_ends(text)), "\nend"]


def _places(lines: Sequence[str], wanted: Sequence[str]) -> list[int]:
    return [at for at in range(len(lines) - len(wanted) + 1) if lines[at : at + len(wanted)] == wanted]


def _section_again(text: str, then: str, edit: SectionUpdate, index: int, *, is_only: bool) -> str:
    """Return the text with the section updated, if it contains what it did then, or what it is to contain."""
    before, now = sections.matching(then, edit.header), sections.matching(text, edit.header)
    which = next(at for at, (each, _) in enumerate(before) if edit.line in (None, each.line))
    if len(before) != len(now) or before[which][1] != now[which][1]:
        raise DoesNotFit(index)
    old, current = before[which][0], now[which][0]
    contained = text[current.content : current.end].strip(_BLANK)
    if contained == edit.content.strip(_BLANK):
        if is_only:
            raise MadeAlready(index)
        return text
    if contained != then[old.content : old.end].strip(_BLANK):
        raise DoesNotFit(index)
    try:
        return made_in(text, replace(edit, line=current.line), index)
    except TextTooLong:
        raise
    except EditError as error:
        raise DoesNotFit(index) from error
