"""Memory text as HTML that is safe to show: Markdown rendered by markdown-it-py (`commonmark`), then cleaned by nh3.

Raw HTML is shown as text. Images are never loaded (that would tell their host who reads, and when): a
link in their place says where they point. Headings move below those of the page around them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from approvals.commonmark import LONGEST, Parser
from memory_app import hidden

_TAGS = {
    "a", "blockquote", "br", "code", "del", "em", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "s",
    "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
#: What runs in the direction of its own words: an Arabic list has its bullets on the right.
_DIRECTED = {"blockquote", "h3", "h4", "h5", "h6", "ol", "p", "td", "th", "ul"}
_ATTRIBUTES = {tag: {"dir"} for tag in _DIRECTED} | {"a": {"href", "title"}, "ol": {"dir", "start"}}
_SCHEMES = {"http", "https", "mailto"}

# Whoever writes the text may choose where these nearly match, so no part of it is looked at again and again: 60,000
# brackets took 11 s, 8,000 underscores 1.4 s, with every other thread waiting.
#: Lines that part rows of a table, or sections.
_RULE = re.compile(r"[\s|:]*+-{3,}+[\s|:-]*+|```\w*+")
_BULLET = re.compile(r"^(#{1,6}\s+|[-*+]\s+|>\s?|\d+[.)]\s+)")
_LINK = re.compile(r"!?\[([^\[\]]*+)\]\([^\[)]*+\)")
#: Marks of emphasis stand at the edge of a word: those of 5*3 and a_b are none. Several in a row are one mark.
_MARKS = re.compile(r"`++|~~++|(?<![*_])(?:(?<!\w)[*_]++(?=\S)|(?<=\S)[*_]++(?!\w))")

#: The page has an h1 and the text's section an h2.
_LEVELS_ABOVE = 2


def render(text: str) -> SafeString:
    """HTML for `text`, whoever wrote it. Invisible characters are replaced by visible marks.

    A text over `commonmark.LONGEST` is shown as it is written, under a note that says so.
    """
    if len(text) > LONGEST:
        note = _("This text is too long to be laid out; it is shown as it is written.")
        return format_html('<p class="meta">{}</p><pre class="as-written">{}</pre>', note, hidden.plain(text))
    clean = nh3.clean(
        _markdown.render(hidden.plain(text)),
        tags=_TAGS,
        attributes=_ATTRIBUTES,
        url_schemes=_SCHEMES,
        link_rel="noopener noreferrer nofollow",
    )
    return mark_safe(clean)  # noqa: S308  # nh3 just made it so


def on_one_line(text: str) -> str:
    """The words of `text` for lists: without the marks of Markdown, the cells of tables parted by dots."""
    return " ".join(" ".join(filter(None, map(_words_of_line, text.splitlines()))).split())


def _words_of_line(line: str) -> str:
    line = line.strip()
    if _RULE.fullmatch(line):
        return ""
    if line.startswith("|"):
        line = " · ".join(cell.strip() for cell in line.strip("|").split("|")) + " ·"
    return _MARKS.sub("", _LINK.sub(r"\1", _BULLET.sub("", line)))


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    label = self.renderInlineAsText(token.children or [], options, env) or "image"
    return f'<a href="{escape(token.attrGet("src") or "")}">{escape(label)}</a>'


def _heading(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    level = min(int(token.tag[1]) + _LEVELS_ABOVE, 6)
    return f"</h{level}>" if token.nesting < 0 else f'<h{level} dir="auto">'


def _directed(state: StateCore) -> None:
    for token in state.tokens:
        # Browsers look for a list's direction in what has none of its own: its items are left without.
        if token.nesting == 1 and token.tag in _DIRECTED and (token.level == 0 or token.tag in ("td", "th")):
            token.attrSet("dir", "auto")


def _parser() -> Parser:
    parser = Parser()
    parser.add_render_rule("image", _image)
    parser.add_render_rule("heading_open", _heading)
    parser.add_render_rule("heading_close", _heading)
    parser.core.ruler.push("direction", _directed)
    return parser


_markdown = _parser()
