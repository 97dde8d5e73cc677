"""A Markdown text as a tree of its blocks: which lines each has, and its words with their emphasis and links.

For comparing two texts; HTML of one text is made by `rendering`. Words are read only where they are asked for: that is
most of the parser's time, and most of a long text did not change.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from markdown_it.token import Token

from approvals.markdown.parsing import LONGEST, MOST_REFERENCED, Parser
from assent_client.text import invisible

#: Characters of a text that is compared as Markdown, when it is read in parts; see `LONGEST` for why there is a limit.
LONGEST_IN_PARTS = 2 * LONGEST
#: A long text is read in parts about so long, cut where a block surely ends, and none longer than that.
_PART, _LONGEST_PART = 4_000, 20_000
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
#: A line that, after an empty one, goes on with what is above it or may do so.
_CONTINUES = re.compile(r"\s|[-*+>|]|\d{1,9}[.)]|$")

#: One mark on words: type, tag and attributes of the token that opens it.
Style = tuple[str, str, tuple[tuple[str, str], ...]]
LINE_BREAK = "\ue000"


@dataclass(frozen=True, slots=True)
class Run:
    """Words in one style. A hard line end is `LINE_BREAK`."""

    text: str
    style: tuple[Style, ...] = ()


@dataclass(slots=True)
class Node:
    """A block, of whatever depth.

    Args:
        kind: as the parser calls it: `paragraph`, `heading`, `list_item`, `fence`, `tr` …
        form: what tells it from others of its kind: the level of a heading, where a list begins.
        content: the Markdown of its words, or a code's text; None for a block of blocks.
        first, last: its lines, from 0, without the last one.
        is_tight: a paragraph that is an item's only words, without space around.
        listed, number: of an item, the kind of its list and which number it has there.
    """

    kind: str
    form: str
    content: str | None
    first: int
    last: int
    is_tight: bool = False
    listed: str = ""
    number: int = 0
    inner: list[Node] = field(default_factory=list)

    @property
    def lines(self) -> range:
        return range(self.first, self.last)

    @property
    def is_code(self) -> bool:
        return self.kind in ("fence", "code_block")

    def is_like(self, other: Node) -> bool:
        """Whether both are laid out alike and say the same, links defined elsewhere apart."""
        return (
            (self.kind, self.form, self.content, self.is_tight)
            == (other.kind, other.form, other.content, other.is_tight)
            and len(self.inner) == len(other.inner)
            and all(mine.is_like(its) for mine, its in zip(self.inner, other.inner, strict=True))
        )


class TooLong(ValueError):
    """The text is too long to be read as Markdown."""


class ParsedText:
    """A text read into blocks.

    Raises:
        TooLong: it is not read.
    """

    def __init__(self, text: str) -> None:
        self._source = invisible.plain(text)
        self._env: dict[str, Any] = {}
        self._addresses = max(len(self._source), MOST_REFERENCED)
        self.blocks: list[Node] = []
        for line, part in _parts(self._source):
            self.blocks += _nested(_blocks_only.parse(part, self._env), line)

    @property
    def pieces(self) -> list[Node]:
        """The blocks, with the items of a list in its place: items stay when a list is divided."""
        lists = ("bullet_list", "ordered_list")
        return [piece for block in self.blocks for piece in (block.inner if block.kind in lists else (block,))]

    @property
    def has_references(self) -> bool:
        """Whether it may say characters by name or number, such as `&#x200b;`."""
        return "&" in self._source

    @property
    def references(self) -> dict[str, Any]:
        """The addresses the text defines for its links."""
        return {name: (link["href"], link["title"]) for name, link in self._env.get("references", {}).items()}

    def line(self, number: int) -> list[Run]:
        """Return the words of one line of a paragraph; `number` counts from 0."""
        return self.runs(Node("paragraph", "", self._source.split("\n")[number].strip(), number, number + 1))

    def runs(self, block: Node) -> list[Run]:
        """Return the words of a block that has some."""
        runs: list[Run] = []
        style: list[Style] = []
        for token in _words.parseInline(block.content or "", self._env)[0].children or ():
            if token.nesting < 0:
                style.pop()
            elif token.nesting > 0:
                style.append(self._style(token))
            elif token.type == "code_inline":
                runs.append(Run(token.content, (*style, ("code", "code", ()))))
            elif token.type == "image":
                runs.append(Run(token.content or "image", (*style, self._style(token))))
            else:
                words = {"softbreak": "\n", "hardbreak": LINE_BREAK}.get(token.type, token.content)
                runs.append(Run(words, tuple(style)))
        return [run for run in runs if run.text]

    def _style(self, token: Token) -> Style:
        attributes = [(name.replace("src", "href"), str(value)) for name, value in sorted(token.attrs.items())]
        kept = tuple(each for each in attributes if each[0] in ("href", "title"))
        self._addresses -= sum(len(value) for _name, value in kept)
        is_link = token.type in ("link_open", "image")
        return ("link", "a", kept if self._addresses >= 0 else ()) if is_link else (token.type, token.tag, ())


def _parts(source: str) -> Iterator[tuple[int, str]]:
    """Yield a text, or a long one in parts, each with the number of its first line."""
    if len(source) <= LONGEST:
        yield 0, source
        return
    if len(source) > LONGEST_IN_PARTS:
        raise TooLong
    start = size = 0
    fence = ""
    is_after_blank = False
    lines = source.split("\n")
    for number, line in enumerate(lines):
        if not fence and is_after_blank and size >= _PART and not _CONTINUES.match(line):
            yield start, "\n".join(lines[start:number]) + "\n"
            start, size = number, 0
        size += len(line) + 1
        if size > _LONGEST_PART:
            raise TooLong
        if found := _FENCE.match(line):
            fence = "" if fence and found[1].startswith(fence) else fence or found[1]
        is_after_blank = not line.strip()
    yield start, "\n".join(lines[start:])


def _nested(tokens: list[Token], line: int) -> list[Node]:
    """Return the tokens of blocks as a tree; `line` is the number of the first one's line."""
    top: list[Node] = []
    open_ones: list[Node] = []
    at = line
    for token in tokens:
        if token.nesting < 0:
            open_ones.pop()
            continue
        if token.type == "inline":
            open_ones[-1].content = token.content
            continue
        first, last = (token.map[0] + line, token.map[1] + line) if token.map else (at, at + 1)
        at = first
        block = Node(
            kind=token.type.removesuffix("_open"),
            form=_form(token),
            content=token.content if token.nesting == 0 else None,
            first=first,
            last=last,
            is_tight=token.hidden,
        )
        if block.kind == "list_item":
            around = open_ones[-1]
            block.listed, block.number = around.kind, int(around.form or 1) + len(around.inner)
        (open_ones[-1].inner if open_ones else top).append(block)
        if token.nesting > 0:
            open_ones.append(block)
    return top


def _form(token: Token) -> str:
    if token.type == "heading_open":
        return token.tag
    if token.type == "ordered_list_open":
        return str(token.attrGet("start") or 1)
    return token.info if token.type == "fence" else ""


def _reader(*left_out: str) -> Parser:
    parser = Parser()
    parser.core.ruler.disable(["addresses", *left_out])
    return parser


_blocks_only = _reader("inline", "text_join")
_words = _reader()
