"""A Markdown text as a tree of blocks, and the words of a block before and after as HTML, with marks on what changed.

What is compared is what a reader sees: words, emphasis, and where links lead. So a word that only became bold is shown
as removed and added, and so is one that links elsewhere; the address is written out beside it. Words are read only
where they are asked for: that is most of the parser's time, and most of a long text did not change.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from operator import attrgetter
from typing import Any, NamedTuple

from django.utils.safestring import SafeString
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from approvals.markdown import marks, rendering
from approvals.markdown.parsing import LONGEST, MOST_REFERENCED
from memory_app.text import worddiff

#: One mark on words: type, tag and attributes of the token that opens it.
Style = tuple[str, str, tuple[tuple[str, str], ...]]
#: A hard line end. The parser leaves it in no text.
LINE_BREAK = "\0"
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


@dataclass(frozen=True, slots=True)
class Run:
    """Words in one style."""

    text: str
    style: tuple[Style, ...] = ()


class Piece(NamedTuple):
    """Words that were kept, removed or added, in one style."""

    kind: worddiff.Kind
    text: str
    style: tuple[Style, ...]


class TooLong(ValueError):
    """The text is too long to be read as Markdown."""


class ParsedText:
    """A text read into blocks.

    Raises:
        TooLong: it is not read.
    """

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise TooLong
        self._env: dict[str, Any] = {}
        self._addresses = max(len(text), MOST_REFERENCED)
        tokens = _blocks_only.parse(text, self._env)
        for token in tokens:
            token.block = False  # else the renderer puts line ends between blocks, which a redline shows
        self._root = SyntaxTreeNode(tokens)
        for block in self._root.walk():
            if block.type == "ordered_list":  # old and new items stand in one list, so each says its number
                for number, item in enumerate(block.children, int(block.attrs.get("start", 1))):
                    opening_of(item).attrSet("value", str(number))

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


def whole(kind: worddiff.Kind, runs: Iterable[Run]) -> list[Piece]:
    """Return words that are all of one kind."""
    pieces = [Piece(kind, run.text, run.style) for run in runs]
    return pieces if kind == "same" else list(_with_addresses(pieces, set()))


def compared(before: Sequence[Run], after: Sequence[Run]) -> list[Piece]:
    """Return the words of both, in reading order."""
    (old_text, old_styles), (new_text, new_styles) = _by_character(before), _by_character(after)
    pieces: list[Piece] = []
    at = new_at = 0
    for segment in worddiff.with_replaced_paragraphs(worddiff.diff(old_text, new_text)):
        kind, text = segment.kind, segment.text
        old, new = old_styles[at : at + len(text)], new_styles[new_at : new_at + len(text)]
        if kind == "same":
            pieces += _restyled(text, old, new)
        else:
            pieces += _in_style(kind, text, old if kind == "removed" else new)
        at += len(text) if kind != "added" else 0
        new_at += len(text) if kind != "removed" else 0
    return list(_with_addresses(pieces, {*_styles(before)} & {*_styles(after)}))


def _by_character(runs: Iterable[Run]) -> tuple[str, list[tuple[Style, ...]]]:
    """Return the words, and the style of each of their characters."""
    runs = list(runs)
    return "".join(run.text for run in runs), [style for run in runs for style in [run.style] * len(run.text)]


def _styles(runs: Iterable[Run]) -> Iterator[Style]:
    return (style for run in runs for style in run.style)


def _in_style(kind: worddiff.Kind, text: str, styles: Sequence[tuple[Style, ...]]) -> Iterator[Piece]:
    at = 0
    for style, group in groupby(styles):
        end = at + len(list(group))
        yield Piece(kind, text[at:end], style)
        at = end


def _restyled(text: str, old: Sequence[tuple[Style, ...]], new: Sequence[tuple[Style, ...]]) -> Iterator[Piece]:
    """Yield words that are in both, as removed and added where they look or lead otherwise."""
    at = 0
    for is_same, group in groupby(one == other for one, other in zip(old, new, strict=True)):
        end = at + len(list(group))
        if not is_same:
            yield from _in_style("removed", text[at:end], old[at:end])
        yield from _in_style("same" if is_same else "added", text[at:end], new[at:end])
        at = end


def _with_addresses(pieces: Sequence[Piece], shared: set[Style]) -> Iterator[Piece]:
    """Yield the pieces, each new or removed link followed by where it leads."""
    for piece, following in zip_longest(pieces, pieces[1:]):
        yield piece
        link = _link(piece)
        if piece.kind == "same" or link is None or link in shared:
            continue
        if following is None or following.kind != piece.kind or _link(following) != link:
            said = " ".join(value for name, value in link[2] if value and (name == "title" or value != piece.text))
            if said:
                yield Piece(piece.kind, f" ({said})", ())


def _link(piece: Piece) -> Style | None:
    return next((style for style in piece.style if style[0] == "link"), None)


def lines_of(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Return the pieces cut at the line ends of either text, each at the end of its line."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        for part in _LINES.findall(piece.text):
            lines[-1].append(Piece(piece.kind, part, piece.style))
            if part.endswith("\n"):
                lines.append([])
    return lines if lines[-1] else lines[:-1]


def html_of(pieces: Iterable[Piece]) -> str:
    """Return HTML that still has to be sanitised: attributes are escaped, but addresses may be of any scheme."""
    shown: list[str] = []
    before: str = "same"
    for style, group in groupby(pieces, key=attrgetter("style")):
        shown += map(_opening, style)
        for piece in group:
            shown.append(_drawn(piece, is_said=piece.kind != before))
            before = piece.kind
        shown += (f"</{tag}>" for _type, tag, _attributes in reversed(style))
    return "".join(shown)


def _opening(style: Style) -> str:
    _type, tag, attributes = style
    address = dict(attributes).get("href")
    return f"<{tag}>" if address is None else f'<{tag} href="{html.escape(address)}">'


def _drawn(piece: Piece, *, is_said: bool) -> SafeString:
    if LINE_BREAK not in piece.text:
        return marks.segment(piece.kind, piece.text, is_said=is_said)
    sign = "↵<br>" if piece.kind != "same" else "<br>"
    lines = SafeString(sign.join(map(marks.marked, piece.text.split(LINE_BREAK))))
    return marks.changed(piece.kind, lines, is_said=is_said)
