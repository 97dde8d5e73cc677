"""Markdown as we read it: CommonMark with tables and strikethrough, within bounds that hold for any author.

Belongs here: the parser, what it costs at most, and which links it finds. No Django. Not here: HTML (`markdown`), and
what a link says about a change (`risks`).

The bounds: a small text must not become a large page. 12 kB of a table with 1,500 columns became 1.4 MB, and 200 kB
that name one long address again and again 52 MB.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, blockquote, list_block, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, escape, image, link

from assent_client.text import invisible
from memory_app.text.sections import front_matter

#: Cells of all tables of a text; what comes after is shown as it is written.
MOST_CELLS = 2_000
#: Characters of all addresses and titles of links, unless the text has more itself; links after that lead nowhere.
MOST_REFERENCED = 100_000
#: Characters of a text that is read as Markdown; a longer one is shown as it is written. Of hostile texts some take
#: time that grows with the square of their length, 4 to 15 s at 200,000.
LONGEST = 50_000
#: Brackets that turn out to begin no link or image; those after that are text. Each may be looked for to the end.
MOST_BRACKETS = 2_000
#: Nesting deeper than this is shown flat; rendering recurses.
DEEPEST = 20
#: What containers may hold below `DEEPEST`; the parser leaves out what is deeper than its own limit.
_BELOW = 4

_BlockRule = Callable[[StateBlock, int, int, bool], bool]
_InlineRule = Callable[[StateInline, bool], bool]

#: What may stand in front of the words of a line, when these are no heading.
_FRONT = re.compile(r"(?:[\s>]|(?:[*+-]|\d{1,9}[.)])(?=\s))*+")
_LINE_END = re.compile(r"\r\n|\n|\r")

# Without one of these there is no link, and nothing needs to be parsed to know.
_MAY_LINK = re.compile(r"\]\(|\]:|<[a-z][a-z0-9+.-]{1,31}:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Link:
    """A link or an image, or an address defined for some: the words it shows and where it leads, as written."""

    label: str
    target: str


def links(text: str) -> Iterator[Link]:
    """Yield every link that rendering `text` makes, and every address it defines, but no addresses of mail in <>.

    A text over `LONGEST` is not rendered.
    """
    if len(text) > LONGEST or not _MAY_LINK.search(text):
        return
    env: dict[str, dict[str, dict[str, str]]] = {}
    for block in _reader.parse(invisible.plain(text), env):
        target, label = "", ""
        for token in block.children or ():
            if token.type == "link_open":
                target, label = str(token.attrGet("href") or ""), ""
                if token.markup == "autolink" and target.lower().startswith("mailto:"):
                    target = ""
            elif token.type == "link_close":
                if target:
                    yield Link(label, target)
            elif token.type == "image":
                if source := token.attrGet("src"):
                    yield Link(token.content, str(source))
            else:
                label += token.content
    for defined in env.get("references", {}).values():
        yield Link("", defined["href"])


def lines_of(text: str) -> list[str]:
    """Return the lines as the parser counts them."""
    return _LINE_END.split(text)


def gaps_of(line: str, contents: Sequence[str], *, is_row: bool = False) -> list[str] | None:
    """Return what a line of the source has before, between and behind the contents that the parser read in it.

    None where they are not written as they were read.

    Args:
        is_row: they are cells of a table; otherwise one content, at the end of the line.
    """
    gaps: list[str] = []
    front = _FRONT.match(line) if is_row else None
    end, at = 0, front.end() if front else 0
    for content in contents:
        for written in (content, content.replace("|", "\\|")):  # in a table a bar has a backslash
            start = line.find(written, at) if is_row else line.rfind(written)
            if start >= 0:
                break
        else:
            return None
        gaps.append(line[end:start])
        end = at = start + len(written)
    return [*gaps, line[end:]]


class Parser(MarkdownIt):
    """The parser within its bounds."""

    def __init__(self) -> None:
        super().__init__("commonmark", {"html": False, "maxNesting": DEEPEST + _BELOW})
        self.enable(["table", "strikethrough"])
        self.block.ruler.before("table", "front_matter", _front_matter)
        self.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
        alternatives = ["paragraph", "reference", "blockquote", "list"]
        self.block.ruler.at("blockquote", _flat_below(blockquote), {"alt": alternatives})
        self.block.ruler.at("list", _flat_below(list_block), {"alt": alternatives[:3]})
        self.inline.ruler.at("escape", _escape)
        self.inline.ruler.at("link", _few_failures(link))
        self.inline.ruler.at("image", _few_failures(image))
        self.core.ruler.push("addresses", _addresses)

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802  # the library's name
        """Return an address as it is written, also where it is its own words."""
        return link


class LinkReader(Parser):
    """Leaves addresses as they are written: no %C3%A9 and no xn-- for a reader to compare with what is shown."""

    def normalizeLink(self, url: str) -> str:  # noqa: N802  # the library's name
        return url


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Return the rule for tables, ended where the cells of all of them are too many: missing ones are filled in."""
    if start + 2 > end:
        return False
    columns = state.src[state.bMarks[start + 1] : state.eMarks[start + 1]].strip(" \t|").count("|") + 1
    rows = (MOST_CELLS - state.env.get("cells", 0)) // columns
    if rows < 1 or not table(state, start, min(end, start + 1 + rows), silent):
        return False
    if not silent:
        state.env["cells"] = state.env.get("cells", 0) + columns * (state.line - start)
    return True


def _front_matter(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Read front matter as a block of code: between rules, its last line would be a heading."""
    if start or state.level or not state.src.startswith("---"):
        return False
    length = front_matter(state.src.splitlines(keepends=True))
    if length:
        token = state.push("fence", "code", 0)
        token.content = state.getLines(1, length - 1, 0, True)
        token.map = [0, length]
        state.line = length
    return bool(length)


def _flat_below(rule: _BlockRule) -> _BlockRule:
    """Return the rule of a container that stops below `DEEPEST`: the parser leaves out what is deeper."""

    def bounded(state: StateBlock, start: int, end: int, silent: bool) -> bool:
        return state.level < DEEPEST and rule(state, start, end, silent)

    return bounded


def _escape(state: StateInline, silent: bool) -> bool:
    """Read what is behind a backslash, and keep the one that breaks a line: it is a sign of the text."""
    is_read = escape(state, silent)
    if is_read and not silent and state.tokens[-1].type == "hardbreak":
        state.tokens[-1].markup = "\\"
    return is_read


def _few_failures(rule: _InlineRule) -> _InlineRule:
    """Return the rule for links or images, which finds no more of them after `MOST_BRACKETS` that were none.

    What is written behind their words is the `tail` of the last token.
    """

    def bounded(state: StateInline, silent: bool) -> bool:
        if not state.src.startswith(("[", "!["), state.pos) or state.env.get("brackets", 0) >= MOST_BRACKETS:
            return False
        start = state.pos
        if rule(state, silent):
            if not silent:
                end, state.pos = state.pos, start
                label = state.md.helpers.parseLinkLabel(state, start + (rule is image), rule is link)
                state.pos = end
                state.tokens[-1].meta["tail"] = state.src[label:end]
            return True
        state.env["brackets"] = state.env.get("brackets", 0) + 1
        return False

    return bounded


def _addresses(state: StateCore) -> None:
    """Take away addresses and titles of links when all of them together are much longer than the text."""
    left = max(len(state.src), MOST_REFERENCED)
    for token in (child for block in state.tokens for child in block.children or ()):
        if token.type in ("link_open", "image"):
            left -= sum(len(str(value)) for value in token.attrs.values())
            if left < 0:
                token.attrs = {}


_reader = LinkReader()
