"""A Markdown text as a tree of its blocks, and the words of a block with their emphasis and links.

For comparing two texts; HTML of one text is made by `rendering`. Words are read only where they are asked for: that is
most of the parser's time, and most of a long text did not change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from approvals.markdown import rendering
from approvals.markdown.parsing import LONGEST, MOST_REFERENCED
from assent_client.text import invisible

#: One mark on words: type, tag and attributes of the token that opens it.
Style = tuple[str, str, tuple[tuple[str, str], ...]]
LINE_BREAK = "\ue000"


@dataclass(frozen=True, slots=True)
class Run:
    """Words in one style. A hard line end is `LINE_BREAK`."""

    text: str
    style: tuple[Style, ...] = ()


class TooLong(ValueError):
    """The text is too long to be read as Markdown."""


class ParsedText:
    """A text read into blocks.

    Raises:
        TooLong: it is not read.
    """

    def __init__(self, text: str) -> None:
        source = invisible.plain(text)
        if len(source) > LONGEST:
            raise TooLong
        self._env: dict[str, Any] = {}
        self._addresses = max(len(source), MOST_REFERENCED)
        tokens = _blocks_only.parse(source, self._env)
        for token in tokens:
            token.block = False  # else the renderer puts line ends between blocks, which a redline shows
        self._root = SyntaxTreeNode(tokens)
        for block in self._root.walk():
            if block.type == "ordered_list":  # old and new items stand in one list, so each says its number
                for number, item in enumerate(block.children, int(block.attrs.get("start", 1))):
                    opening_of(item).attrSet("value", str(number))
        #: Whether it may say characters by name or number, such as `&#x200b;`.
        self.has_references = "&" in source

    @property
    def pieces(self) -> list[SyntaxTreeNode]:
        """The blocks, with the items of a list in its place: items stay when a list is divided."""
        lists = ("bullet_list", "ordered_list")
        return [
            piece for block in self._root.children for piece in (block.children if block.type in lists else (block,))
        ]

    @property
    def references(self) -> dict[str, Any]:
        """The addresses the text defines for its links."""
        return {name: (link["href"], link["title"]) for name, link in self._env.get("references", {}).items()}

    def runs(self, content: str) -> list[Run]:
        """Return the words that a block's Markdown shows."""
        runs: list[Run] = []
        style: list[Style] = []
        for token in _words.parseInline(content, self._env)[0].children or ():
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


def opening_of(block: SyntaxTreeNode) -> Token:
    """Return the token that opens a block of blocks or of words."""
    assert block.nester_tokens
    return block.nester_tokens.opening


_blocks_only = rendering.parser(without=("addresses", "inline", "text_join"))
_words = rendering.parser(without=("addresses",))
