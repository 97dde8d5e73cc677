"""Sections of a Markdown text: from a header to the next one of the same or a higher level.

Belongs here: finding a section by its header, and replacing what it contains. Pure functions over `str`.
Headers are what CommonMark says (`#` and underlined ones); those in code fences, quotes, lists, HTML and front matter
are none, since replacing up to the next one would cut through what holds them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from typing import Any

from markdown_it import MarkdownIt
from rapidfuzz import fuzz, process

_BLOCKS = MarkdownIt("commonmark").disable("inline")
_ATX = re.compile(r"(#{1,6})(?:[ \t]+(.*))?")
_CLOSING = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_LINES = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_EMPTY_LINES = re.compile(r"(?:[ \t]*(?:\r\n|\r|\n))*")
_FIRST_LINE_END = re.compile(r"\A(?:\r\n|\r|\n)")
_BLANK = " \t\r\n"
#: Headers of a text that an error names.
_NAMED = 30
#: Per cent of likeness from which a header may be the one that was meant.
_LIKELY = 50


@dataclass(frozen=True)
class MarkdownSection:
    """A header and where it stands.

    Attributes:
        header: as a reader would write it: `## Goals`, for an underlined one too.
        level: 1 to 6.
        line: of the header, from 1.
        start, content, end: positions in the text, in characters from 0: of the header's line, of the line after the
            header, of the next header of the same or a higher level (or the text's end).
    """

    header: str
    level: int
    line: int
    start: int
    content: int
    end: int

    @property
    def words(self) -> str:
        return self.header[self.level :].strip()


class SectionError(Exception):
    """A section cannot be found, or not be updated.

    Attributes:
        code: `section_not_found`, `section_repeated` (several headers are the one asked for, or none of them is on the
            line asked for) or `section_unclosed` (the content would swallow the headers after it: it leaves a code
            fence, a comment or the like open).
        details: all have the `header` asked for. Not found: the `nearest` header or None, the `lines` of the sections
            that one finds, from 1, the first thirty `headers` and their `count`. Repeated: their `lines`, their `paths`
            with the headers each stands below (`# Term / ## Goals`), and the `asked_line`, if one was. Unclosed: the
            first header that is `swallowed`.
    """

    def __init__(self, code: str, message: str, **details: Any) -> None:
        self.code, self.details = code, details
        super().__init__(message)


def sections(text: str) -> list[MarkdownSection]:
    """Return all sections, in the order of their headers."""
    lines = _LINES.findall(text)
    at = [0, *accumulate(map(len, lines))]
    skipped = front_matter(lines)
    headers: list[tuple[str, int, int, int]] = []
    tokens = _BLOCKS.parse("\n" * skipped + "".join(lines[skipped:]).removeprefix("\ufeff"))
    for token, inline in pairwise(tokens):
        if token.type == "heading_open" and token.level == 0 and token.map:
            level = int(token.tag[1:])
            words = " ".join(inline.content.split())
            first, after = token.map
            headers.append((f"{'#' * level} {words}".rstrip(), level, first, after))

    def end(number: int) -> int:
        following = (headers[other] for other in range(number + 1, len(headers)))
        return next((at[first] for _, level, first, _ in following if level <= headers[number][1]), len(text))

    return [
        MarkdownSection(header, level, first + 1, at[first], at[min(after, len(lines))], end(number))
        for number, (header, level, first, after) in enumerate(headers)
    ]


def find(text: str, header: str, *, line: int | None = None) -> MarkdownSection:
    """Return the section of this header.

    Args:
        header: as in the text (`## Goals`, or both lines of an underlined one), or without the signs (`Goals`), which
            finds it at any level.
        line: which one is meant where it occurs more than once: its line number, from 1.

    Raises:
        SectionError: no header is this one, several are, or none on this line.
    """
    there = sections(text)
    return there[_index(there, header, line)]


def matching(text: str, header: str) -> list[tuple[MarkdownSection, str]]:
    """Return every section of this header, each with its path: `# Term / ## Goals`."""
    there = sections(text)
    return [(there[index], path) for index, path in _same(there, header)]


def update(text: str, header: str, content: str, *, line: int | None = None) -> str:
    """Return the text with what the section contains replaced by `content`; its header stays.

    What separates the header, the content and the next header stays as it is: `content` is put in without the empty
    lines around it. Sections of lower levels belong to the content.

    Raises:
        SectionError: see `find`; or a header outside of the content would be none any more.
    """
    there = sections(text)
    index = _index(there, header, line)
    section = there[index]
    before, old, after = text[: section.content], text[section.content : section.end], text[section.end :]
    newline = "\r\n" if "\r\n" in text else "\n"
    put = _without_empty_lines_around(content)
    is_ended = before.endswith(("\n", "\r"))
    if put:
        lead, trail = _around(old, newline, is_last=not after, is_ended=is_ended)
        if not is_ended:
            before += newline
    elif old.strip(_BLANK):
        lead, trail = "", _FIRST_LINE_END.sub("", _ending(old))
    else:
        lead, trail = "", old
    # Without an empty line, the last line of the content may become a part of an underlined header, or an HTML block
    # go on to the next one.
    for empty in ("", newline):
        updated = before + lead + put + trail + empty + after
        swallowed = _swallowed(there, index, len(text), updated)
        if not swallowed:
            return updated
    message = f"the content of {section.header!r} would swallow {swallowed!r}"
    raise SectionError("section_unclosed", message, header=section.header, swallowed=swallowed)


def without_header(content: str, header: str) -> str:
    """Return new content of a section without the section's own header, if it begins with that."""
    for first in sections(content)[:1]:
        if not content[: first.start].strip(_BLANK) and _same([first], header):
            return content[first.content :]
    return content


def headers_beside(content: str, level: int) -> list[str]:
    """Return the headers in new content of a section that begin sections beside it: of its level or a higher one."""
    return [each.header for each in sections(content) if each.level <= level]


def _index(there: Sequence[MarkdownSection], header: str, line: int | None) -> int:
    same = _same(there, header)
    if not same:
        names = [each.header for each in there]
        near = process.extractOne(
            _asked(header)[1][0].casefold(),
            [each.words.casefold() for each in there],
            scorer=fuzz.ratio,
            score_cutoff=_LIKELY,
        )
        nearest = names[near[2]] if near else None
        lines = tuple(there[index].line for index, _ in _same(there, nearest)) if nearest else ()
        near_it = {"nearest": nearest, "lines": lines, "headers": tuple(names[:_NAMED]), "count": len(names)}
        raise SectionError("section_not_found", f"section {header!r} not found", header=header, **near_it)
    chosen = [index for index, _ in same if line in (None, there[index].line)]
    if len(chosen) != 1:
        lines = tuple(there[index].line for index, _ in same)
        places = {"lines": lines, "paths": tuple(path for _, path in same), "asked_line": line}
        raise SectionError("section_repeated", f"section {header!r} occurs {len(lines)} times", header=header, **places)
    return chosen[0]


def _same(there: Sequence[MarkdownSection], header: str) -> list[tuple[int, str]]:
    """Return the numbers of the sections of this header, each with its path."""
    level, words = _asked(header)
    return [
        (index, path)
        for index, (each, path) in enumerate(zip(there, _paths(there), strict=True))
        if each.words in words and level in (0, each.level)
    ]


def _asked(header: str) -> tuple[int, tuple[str, ...]]:
    """Return the level that is asked for (0: any) and the words, in each way they can be meant.

    The signs at the end of `## C #` close it, and are words of an underlined header that is written so.
    """
    asked = header.strip()
    if signs := _ATX.fullmatch(" ".join(asked.split())):
        words = (signs[2] or "").strip()
        return len(signs[1]), (_CLOSING.sub("", words).strip(), words)
    *above, rule = [line.strip(_BLANK) for line in _LINES.findall(asked)] or [""]
    if any(above) and set(rule) in ({"="}, {"-"}):
        return 1 if rule[0] == "=" else 2, (" ".join(" ".join(above).split()),)
    return 0, (" ".join(asked.split()),)


def front_matter(lines: Sequence[str]) -> int:
    """Return how many lines at the start are front matter, between `---` and `---` or `...`.

    With an empty line after it, the first is a rule.
    """
    if len(lines) < 2 or lines[0].rstrip(_BLANK) != "---" or not lines[1].strip(_BLANK):
        return 0
    ends = (number for number, line in enumerate(lines[1:], 2) if line.rstrip(_BLANK) in ("---", "..."))
    return next(ends, 0)


def _around(old: str, newline: str, *, is_last: bool, is_ended: bool) -> tuple[str, str]:
    """Return the empty lines before the content, and the line ends after it; before a header at least one.

    Args:
        is_last: no section follows.
        is_ended: the header's line has an end.
    """
    if old.strip(_BLANK):
        lead = _EMPTY_LINES.match(old)
        return lead[0] if lead else "", _ending(old)
    if is_last:
        return "", newline if is_ended else ""
    return (newline, newline * 2) if old else ("", newline)


def _without_empty_lines_around(content: str) -> str:
    if not content.strip(_BLANK):
        return ""
    first = _EMPTY_LINES.match(content)
    return content[first.end() if first else 0 : len(content) - len(_ending(content))]


def _ending(text: str) -> str:
    """Return the line ends and empty lines at the end."""
    return text[len(text.rstrip(_BLANK)) :].lstrip(" \t")


def _swallowed(there: Sequence[MarkdownSection], index: int, length: int, updated: str) -> str:
    """Return the first header outside of the section's content that is none any more in the updated text, or "".

    One before it can be: a rule at the start of the text with a second one in the content is front matter.
    """
    now = sections(updated)
    from_start = {(each.header, each.start) for each in now}
    from_end = {(each.header, len(updated) - each.start) for each in now}
    lost = (each.header for each in there[: index + 1] if (each.header, each.start) not in from_start)
    following = (each for each in there[index + 1 :] if each.start >= there[index].end)
    lost_after = (each.header for each in following if (each.header, length - each.start) not in from_end)
    return next(chain(lost, lost_after), "")


def _paths(there: Sequence[MarkdownSection]) -> list[str]:
    """Return for each the headers it stands below, and its own: `# Term / ## Goals`."""
    above: list[MarkdownSection] = []
    paths = []
    for each in there:
        above = [*(other for other in above if other.level < each.level), each]
        paths.append(" / ".join(other.header for other in above))
    return paths
