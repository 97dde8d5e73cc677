"""Memory text as HTML that is safe to show: Markdown rendered by markdown-it-py (`commonmark`), then cleaned by nh3.

Raw HTML is shown as text. Images are never loaded (that would tell their host who reads, and when): a
link in their place says where they point. What Markdown would drop is shown as it is written (see `unseen`), and so are
addresses and titles of links: people see all that agents read. Headings are renumbered to follow those of the page
around them, and a wide table is scrolled in a box of its own.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import nh3
from django.utils.html import escape, format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

from approvals.markdown.parsing import LONGEST, Parser
from approvals.markdown.unseen import numbers, unseen
from assent_client.text import invisible

TAGS = {
    "a", "blockquote", "br", "code", "del", "div", "em", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre",
    "s", "span", "strong", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip
HEADINGS = {"h2", "h3", "h4", "h5", "h6"}
#: What runs in the direction of its own words: an Arabic list has its bullets on the right.
DIRECTED = {"blockquote", "ol", "p", "td", "th", "ul"} | HEADINGS
ATTRIBUTES = {
    **{tag: {"dir"} for tag in DIRECTED},
    **{tag: {"dir", "id"} for tag in HEADINGS},
    "a": {"href", "title"},
    "div": {"aria-label", "class", "role", "tabindex"},  # written by `_table` alone
    "li": {"class"},
    "ol": {"dir", "start"},
    "p": {"dir", "class"},
    "span": {"class"},
}
SCHEMES = {"http", "https", "mailto"}

# Whoever writes the text may choose where these nearly match, so no part of it is looked at again and again: 60,000
# brackets took 11 s, 8,000 underscores 1.4 s, with every other thread waiting.
#: Lines that part rows of a table, or sections.
_RULE = re.compile(r"[\s|:]*+-{3,}+[\s|:-]*+|```\w*+")
_BULLET = re.compile(r"^(#{1,6}\s+|[-*+]\s+|>\s?|\d+[.)]\s+)")
_INNER_BULLET = re.compile(r"(^|\s)(?:#{1,6}|[-*+]|-{3,}+)\s")
_LINK = re.compile(r"!?\[([^\[\]]*+)\]\([^\[)]*+\)")
#: Marks of emphasis stand at the edge of a word: those of 5*3 and a_b are none. Several in a row are one mark.
_MARKS = re.compile(r"`++|~~++|(?<![*_])(?:(?<!\w)[*_]++(?=\S)|(?<=\S)[*_]++(?!\w))")

#: The highest heading of a text where the page has an h1 and the text's section an h2.
TOP = 3


@dataclass(frozen=True)
class Heading:
    """A heading of a text, for its list of contents.

    Args:
        depth: 0 for the highest ones.
        anchor: the id it has in the page.
    """

    title: str
    depth: int
    anchor: str


def render(text: str, *, top: int = TOP) -> SafeString:
    """Return HTML for `text`, by any author. Invisible characters are replaced by visible marks.

    A text over `parsing.LONGEST` is shown as it is written, under a note that says so.

    Args:
        top: the level of its highest heading, one below that of the page's heading above it.
    """
    return lay_out(text, top=top, anchored=False)[0]


def lay_out(text: str, *, top: int = TOP, anchored: bool = True) -> tuple[SafeString, tuple[Heading, ...]]:
    """Return HTML as `render` does and its headings in order, with an anchor at each for pages that show one text."""
    if len(text) > LONGEST:
        note = _("This text is too long to be laid out; it is shown as it is written.")
        written = invisible.plain(text)
        return format_html('<p class="meta">{}</p><pre class="as-written">{}</pre>', note, written), ()
    return laid_out(invisible.plain(text), top=top, anchored=anchored)


def laid_out(source: str, *, top: int, anchored: bool = False) -> tuple[SafeString, tuple[Heading, ...]]:
    """Return HTML and headings as `lay_out` does, of a text of any length without invisible characters."""
    env: dict[str, Any] = {}
    tokens = _markdown.parse(source, env)
    headings = _number_headings(tokens, top=top, anchored=anchored)
    tokens = _with_unseen(source, tokens)
    rel = "noopener noreferrer nofollow"
    clean = nh3.clean(drawn(tokens, env), tags=TAGS, attributes=ATTRIBUTES, url_schemes=SCHEMES, link_rel=rel)
    return mark_safe(clean), headings  # noqa: S308  # nh3 just made it so


def _with_unseen(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with what Markdown drops shown as it is written, where it stands."""
    added: dict[int, list[Token]] = defaultdict(list)
    label = format_html('<span class="meta">{}</span> ', _("Only in the source:"))
    for at, kind, said in unseen(text, tokens):
        words = format_html('<p class="unseen {}">{}<code>{}</code></p>', kind, label if kind == "words" else "", said)
        added[at].append(Token("html_block", "", 0, content=words))
    for at, number, _is_far in numbers(tokens):
        marker = Token("html_inline", "", 0, content=format_html('<span class="marker">{} </span>', number))
        tokens[at].attrSet("class", "numbered")
        if tokens[at + 2].type == "inline":
            (tokens[at + 2].children or []).insert(0, marker)
        else:
            added[at + 1].append(marker)
    return [each for at, token in enumerate((*tokens, None)) for each in (*added[at], token) if each]


def drawn(tokens: Iterable[Token], env: dict[str, Any]) -> str:
    """Return HTML that still has to be sanitised."""
    return str(_markdown.renderer.render(list(tokens), _markdown.options, env))


def _number_headings(tokens: Sequence[Token], *, top: int, anchored: bool) -> tuple[Heading, ...]:
    """Give each heading the level that its depth among the others asks for: none is left out on the way down."""
    above: list[int] = []
    headings: list[Heading] = []
    for opening, words, closing in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if opening.type != "heading_open":
            continue
        number_heading(opening, closing, above, top=top)
        anchor = f"section-{len(headings) + 1}"
        if anchored:
            opening.attrSet("id", anchor)
        said = (each for each in words.children or () if each.type in ("text", "text_special", "code_inline"))
        title = "".join(each.content for each in said)
        headings.append(Heading(title=invisible.plain(title.strip()), depth=len(above) - 1, anchor=anchor))
    return tuple(headings)


def number_heading(opening: Token, closing: Token, above: list[int], *, top: int = TOP) -> None:
    """Give a heading its level below those `above`, and add it to them."""
    written = int(opening.tag[1])
    while above and above[-1] >= written:
        above.pop()
    opening.tag = closing.tag = f"h{min(top + len(above), 6)}"
    opening.attrSet("dir", "auto")
    above.append(written)


def on_one_line(text: str) -> str:
    """Return the words of `text` for lists: without the marks of Markdown, the cells of tables parted by dots."""
    return " ".join(" ".join(filter(None, map(_words_of_line, text.splitlines()))).split())


def _words_of_line(line: str) -> str:
    line = line.strip()
    if _RULE.fullmatch(line):
        return ""
    if line.startswith("|"):
        line = " · ".join(cell.strip() for cell in line.strip("|").split("|")) + " ·"
    return _MARKS.sub("", _LINK.sub(r"\1", _BULLET.sub("", line)))


def without_marks(text: str) -> str:
    """Return a part of a text on one line without the marks of headings, entries and emphasis."""
    return _MARKS.sub("", _INNER_BULLET.sub(r"\1", text)).replace("**", "")


def _image(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    token = tokens[index]
    label = escape(token.content or "image")
    return f'<a href="{escape(token.attrGet("src") or "")}">{label}</a>{beside(token)}'


def _link_close(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"</a>{beside(tokens[index])}"


def beside(token: Token) -> str:
    """Return what is written beside the words of a link or a sign, where it says anything: its address, its name."""
    if token.type == "text_special":
        return format_html('<span class="sign">{}</span>', token.markup) if token.info == "entity" else ""
    said = token.meta.get("tail", "").removeprefix("]")
    return format_html(' <span class="sign">{}</span>', said) if said.strip("[]") else ""


def _special(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    """Return a sign that is written behind a backslash, or as an entity: that is said."""
    token = tokens[index]
    return f"{escape(invisible.plain(token.content))}{beside(token)}"


def _table(self: RendererHTML, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    if tokens[index].nesting < 0:
        return "</table></div>"
    env["tables"] = env.get("tables", 0) + 1
    label = _("Table %(number)d") % {"number": env["tables"]}
    # The box is scrolled by keyboard too, so it takes the focus, and a name with it. It is no landmark: a page may show
    # several texts, each with a first table.
    return f'<div class="table-box" role="group" tabindex="0" aria-label="{escape(label)}"><table>'


def _directed(state: StateCore) -> None:
    for token in state.tokens:
        # Browsers look for a list's direction in what has none of its own: its items are left without.
        if token.nesting == 1 and token.tag in DIRECTED and (token.level == 0 or token.tag in ("td", "th")):
            token.attrSet("dir", "auto")


def parser(*, without: Sequence[str] = ()) -> Parser:
    """Return a parser whose tables and images are drawn our way, without these of its core rules."""
    parser = Parser()
    parser.core.ruler.disable(list(without))
    parser.add_render_rule("image", _image)
    parser.add_render_rule("link_close", _link_close)
    parser.add_render_rule("text_special", _special)
    parser.add_render_rule("table_open", _table)
    parser.add_render_rule("table_close", _table)
    parser.core.ruler.push("direction", _directed)
    return parser


_markdown = parser(without=("text_join",))
