"""A few lines of a change, for lists: drawn as on the change's own page, without what only a whole page has.

A fragment has no controls: links are words, headings are bold lines. A row of a table is one without the table's head.
"""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from approvals.markdown import marks
from approvals.markdown.redline import rendered_redline
from approvals.markdown.words import TooLong
from memory_app.text import worddiff

_CLEANER = nh3.Cleaner(
    tags={
        "blockquote", "br", "code", "del", "div", "em", "hr", "ins", "li", "ol", "p", "pre", "s", "span", "strong",
        "table", "tbody", "td", "th", "thead", "tr", "ul", "wbr",
    },
    attributes={
        **{tag: {"dir"} for tag in ("blockquote", "div", "ol", "p", "td", "th", "ul")},
        "span": {"title"},
    },
    allowed_classes={
        "div": {"lines"},
        "span": {"mark", "stray", "stray-script", "visually-hidden", "space", "trailing", "sign", "marker", "drawn"},
        **{tag: {"moved"} for tag in ("ins", "del")},
    },
)  # fmt: skip
_HEADING_OPENS, _HEADING_CLOSES = re.compile(r"<h[3-6]\b[^<>]*>"), re.compile(r"</h[3-6]>")
#: What `rendered_redline` leaves for the heading of a change, and the head that `_as_table` put there.
_EMPTY_ROW = re.compile(r"<tr>(?:<t[dh][^<>]*></t[dh]>)+</tr>|<thead>\s*<tr>(?:<th[^<>]*></th>)+</tr>\s*</thead>")


def drawn_fragment(before: str, after: str) -> SafeString:
    """Return the change from one text of a few lines to another as HTML; its source, where it is too long to draw."""
    return _drawn(before, after, get_language())


@lru_cache(maxsize=512)
def _drawn(before: str, after: str, _language: str | None) -> SafeString:
    columns = max(map(_cells, (before + "\n" + after).split("\n")))
    head = ["", "|" * (columns + 1), "|" + "-|" * columns]
    lines = [list(_as_table(text, head)) for text in (before, after)]
    for its, other in (lines, lines[::-1]):
        if head[2] in other and head[2] not in its:  # then it neither comes nor goes
            its[:] = [*(its if any(its) else ()), *head]
    old, new = map("\n".join, lines)
    segments = worddiff.diff(old, new)
    paragraphs = worddiff.redlined(segments)
    try:
        passages = rendered_redline(old, new, paragraphs, worddiff.hunk_numbers(paragraphs))
    except TooLong:
        return _source(segments)
    drawn: list[str] = []
    for passage in passages:
        drawn += (f"<p>{_source(each.segments)}</p>" for each in passage.source)
        drawn += ["<p>…</p>"] if passage.folded else [part.html for part in passage.parts]
    html = _HEADING_CLOSES.sub("</strong></p>", _HEADING_OPENS.sub('<p dir="auto"><strong>', "".join(drawn)))
    return mark_safe(_EMPTY_ROW.sub("", _CLEANER.clean(html)))  # noqa: S308  # nh3 just made it so


def _source(segments: tuple[worddiff.Segment, ...]) -> SafeString:
    return SafeString("".join(marks.segment(each.kind, each.text, is_moved=bool(each.move)) for each in segments))


def _cells(line: str) -> int:
    """Return how many cells a line of a table has, at most; 0 for another line."""
    line = line.strip()
    return line.strip("|").count("|") + 1 if line.startswith("|") or line.endswith("|") else 0


def _as_table(text: str, head: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a text; rows of a table that stand without its head, below one without words."""
    lines = text.split("\n")
    is_row = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if _cells(line) and not is_row and not re.fullmatch(r"[\s|:-]*-[\s|:-]*", following):
            yield from head
        is_row = bool(_cells(line))
        yield line
