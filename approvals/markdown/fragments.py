"""A few lines of a change, for lists: drawn as on the change's own page, without what only a whole page has.

A fragment has no controls: links are words, headings are bold lines. A row of a table is one without the table's head.
"""

import re
from functools import lru_cache

import nh3
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from approvals.markdown import marks
from approvals.markdown.redline import SPANS, TAGS, rendered_redline
from approvals.markdown.rendering import DIRECTED, HEADINGS
from approvals.markdown.words import TooLong
from memory_app.text import worddiff

_CLEANER = nh3.Cleaner(
    tags=TAGS - HEADINGS - {"a"},
    attributes={tag: {"dir"} for tag in DIRECTED | {"div"}} | {"span": {"title", "dir"}},
    allowed_classes={"div": {"lines"}, "span": SPANS, "ins": {"moved"}, "del": {"moved"}},
)
#: The line between a table's head and its rows.
_RULE = re.compile(r"[\s|:]*-[\s|:-]*")
_HEADING_OPENS, _HEADING_CLOSES = re.compile(r"<h[3-6]\b[^<>]*>"), re.compile(r"</h[3-6]>")
#: What `rendered_redline` leaves for the heading of a change, and the head that `_with_heads` put there.
_EMPTY_ROW = re.compile(r"<tr>(?:<t[dh][^<>]*></t[dh]>)+</tr>|<thead>\s*<tr>(?:<th[^<>]*></th>)+</tr>\s*</thead>")


def drawn_fragment(before: str, after: str) -> SafeString:
    """Return the change from one text of a few lines to another as HTML; its source, where it is too long to draw."""
    return drawn_in(before, after, get_language())


@lru_cache(maxsize=512)
def drawn_in(before: str, after: str, _language: str | None) -> SafeString:
    """Return a change as `drawn_fragment` does, with the words of the language that is active."""
    old, new = _with_heads(before, after)
    segments = worddiff.diff(old, new)
    paragraphs = worddiff.redlined(segments)
    try:
        passages = rendered_redline(old, new, paragraphs, worddiff.hunk_numbers(paragraphs))
    except TooLong:
        return marks.line(segments)
    drawn: list[str] = []
    for passage in passages:
        drawn += (f"<p>{marks.line(each.segments)}</p>" for each in passage.source)
        drawn += ["<p>…</p>"] if passage.folded else [part.html for part in passage.parts]
    html = _HEADING_CLOSES.sub("</strong></p>", _HEADING_OPENS.sub('<p dir="auto"><strong>', "".join(drawn)))
    return mark_safe(_EMPTY_ROW.sub("", _CLEANER.clean(html)))  # noqa: S308  # nh3 just made it so


def _with_heads(before: str, after: str) -> tuple[str, str]:
    """Return two texts of nothing but rows of a table below a head without words: without one they are no table."""
    rows = [line.strip() for line in f"{before}\n{after}".split("\n") if line.strip()]
    if not rows or not all(row.startswith("|") for row in rows) or any(_RULE.fullmatch(row) for row in rows):
        return before, after
    columns = max(row.strip("|").count("|") for row in rows) + 1
    head = f"{'|' * (columns + 1)}\n|{'-|' * columns}\n"
    return head + before, head + after
