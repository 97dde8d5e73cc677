"""A Markdown text as a tree of blocks, and the words of a block before and after as HTML, with marks on what changed.

What is compared is the source: words in their styles, and the signs that make these, `**` and list numbers and the
addresses of links. Signs are shown where some of them changed. A word that only became bold is shown as removed and
added too, and so is one that links elsewhere. Words are read only where they are asked for: that is most of the
parser's time, and most of a long text did not change.
"""

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby, takewhile, zip_longest
from operator import attrgetter
from typing import Any, NamedTuple

from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from approvals.markdown import marks, rendering
from approvals.markdown.parsing import LONGEST, MOST_REFERENCED, gaps_of, lines_of
from memory_app.text import worddiff

#: One mark on words: type, tag and attributes of the token that opens it.
Style = tuple[str, str, tuple[tuple[str, str], ...]]
#: What Markdown is written with: it stands in the source, and a page shows what it means.
SIGN: Style = ("sign", "span", ())
#: The signs in front of a list's item, which stand for its bullet.
ITEM_SIGN: Style = ("marker", "span", ())
#: What is drawn and stands elsewhere in the source, or not as it is drawn.
DRAWN: Style = ("drawn", "span", ())
_LINES = re.compile(r"[^\n]*\n|[^\n]+")
#: Signs and nothing else.
_LAYOUT = re.compile(r"\s*[>*+\-][>*+\-\s]*")


class Piece(NamedTuple):
    """Words in one style, which were kept, removed or added."""

    text: str
    style: tuple[Style, ...] = ()
    kind: worddiff.Kind = "same"


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
        #: As the parser counts them.
        self.lines = lines_of(text)
        self._env: dict[str, Any] = {}
        self._addresses = max(len(text), MOST_REFERENCED)
        tokens = _blocks_only.parse(text, self._env)
        for token in tokens:
            token.block = False  # else the renderer puts line ends between blocks, which a redline shows
        self._root = SyntaxTreeNode(tokens)

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

    def lines_of(self, block: SyntaxTreeNode, after: int) -> range:
        """Return the lines that are drawn with a block: empty ones of a quote behind line `after` are with the next."""
        start, stop = span_of(block).start, span_of(block).stop
        while start > after and _LAYOUT.fullmatch(self.lines[start - 1]):
            start -= 1
        is_head = block.type == "tr" and block.parent is not None and block.parent.type == "thead"
        return range(start, stop + is_head)

    def parts_of(self, block: SyntaxTreeNode | None, lines: range) -> list[list[Piece]]:
        """Return what its lines say of a block: one part, or of a row of a table one for each cell.

        After the cells of a table's head comes the line below them.
        """
        if block is None:
            return []
        if block.type != "tr":
            return [self._signed(block, lines)]
        at, line = span_of(block).start, self.lines[span_of(block).start]
        cells = [cell.children[0].content for cell in block.children]
        gaps = gaps_of(line, cells, is_row=True) or [""] * (len(cells) + 1)
        parts = [[Piece(gap, (SIGN,)), *self.runs(cell)] for gap, cell in zip(gaps, cells, strict=False)]
        parts[0][:1] = self._signs(block, at, gaps[0])
        parts[-1].append(Piece(gaps[-1], (SIGN,)))  # with the cells that the table has no column for
        return [*parts, *([Piece(self.lines[below], (SIGN,))] for below in lines if below > at)]

    def _signed(self, block: SyntaxTreeNode, lines: range) -> list[Piece]:
        """Return the words of a block with the signs around them, line by line."""
        content, words, first = "", list[Piece](), span_of(block).stop
        if block.type in ("fence", "code_block"):
            content, first = block.content.removesuffix("\n"), span_of(block).start + (block.type == "fence")
            words = [Piece(content)] if content else []
        elif block.children:
            content, first = block.children[0].content, span_of(block.children[0]).start
            words = self.runs(content)
        said, written = _by_line(words), content.split("\n")
        if len(said) != len(written):  # code over several lines is drawn on one
            return words
        runs: list[Piece] = []
        for number in lines:
            line, at = self.lines[number], number - first
            if 0 <= at < len(said):
                before, after = gaps_of(line, [written[at].strip()]) or ("", "")
                runs += (*self._signs(block, number, before), *said[at], Piece(after, (SIGN,)))
                runs += (Piece("\n"),) if at + 1 < len(said) else ()
            elif line.strip():
                runs += self._signs(block, number, f"{line}\n" if at < 0 and words else f"\n{line}" if runs else line)
        return [run for run in runs if run.text]

    def _signs(self, block: SyntaxTreeNode, line: int, text: str) -> list[Piece]:
        """Return the blanks and signs in front of a block in a line; those that begin an item of a list mark it."""
        above: SyntaxTreeNode | None = block
        while above and not (above.type == "list_item" and span_of(above).start == line):
            above = above.parent
        signs = text.lstrip(" \t")
        return [Piece(text[: len(text) - len(signs)], (SIGN,)), Piece(signs, (ITEM_SIGN if above else SIGN,))]

    def runs(self, content: str) -> list[Piece]:
        """Return the words that a block's Markdown shows, and the signs it has for that."""
        runs: list[Piece] = []
        style: list[Style] = []
        for token in _words.parseInline(content, self._env)[0].children or ():
            mark = {"autolink": "<>"}.get(token.markup, token.markup or "[]")
            if token.nesting < 0:
                tail = token.meta.get("tail") or mark[len(mark) // 2 if token.type == "link_close" else 0 :]
                runs.append(Piece(tail, (*style, SIGN)))
                style.pop()
            elif token.nesting > 0:
                style.append(self._style(token))
                runs.append(Piece(mark[0] if token.type == "link_open" else mark, (*style, SIGN)))
            elif token.type == "code_inline":
                code = (*style, ("code", "code", ()))
                sign = Piece(token.markup, (*code, SIGN))
                runs += (sign, Piece(token.content, code), sign)
            elif token.type == "image":
                image = (*style, self._style(token))
                runs += (Piece("![", (*image, SIGN)), Piece(token.content, image))
                runs += () if token.content else (Piece("image", (*image, DRAWN)),)
                runs.append(Piece(token.meta["tail"], (*image, SIGN)))
            elif token.type == "text_special":
                runs += self._special(token, tuple(style))
            else:
                is_end = token.type in ("softbreak", "hardbreak")
                runs.append(Piece(token.markup, (*style, SIGN)))
                runs.append(Piece("\n" if is_end else token.content, tuple(style)))
        together = groupby((run for run in runs if run.text), key=attrgetter("style"))
        return [Piece("".join(run.text for run in alike), each) for each, alike in together]

    def _special(self, token: Token, style: tuple[Style, ...]) -> Iterator[Piece]:
        """Yield a sign that is written otherwise: behind a backslash, or as an entity."""
        if token.info == "escape":
            yield Piece(token.markup.removesuffix(token.content), (*style, SIGN))
            yield Piece(token.content, style)
        else:
            yield Piece(token.markup, (*style, SIGN))
            yield Piece(token.content.replace("\n", " "), (*style, DRAWN))

    def _style(self, token: Token) -> Style:
        attributes = [(name.replace("src", "href"), str(value)) for name, value in sorted(token.attrs.items())]
        kept = tuple(each for each in attributes if each[0] in ("href", "title"))
        self._addresses -= sum(len(value) for _name, value in kept)
        is_link = token.type in ("link_open", "image")
        return ("link", "a", kept if self._addresses >= 0 else ()) if is_link else (token.type, token.tag, ())


def span_of(block: SyntaxTreeNode | None) -> range:
    """Return the lines of a block."""
    return range(*block.map) if block and block.map else range(0)


def _by_line(runs: Iterable[Piece]) -> list[list[Piece]]:
    """Return the runs of each line, without its end."""
    lines: list[list[Piece]] = [[]]
    for run in runs:
        first, *others = run.text.split("\n")
        lines[-1].append(Piece(first, run.style))
        lines += ([Piece(other, run.style)] for other in others)
    return lines


def opening_of(block: SyntaxTreeNode) -> Token:
    """Return the token that opens a block of blocks or of words."""
    assert block.nester_tokens
    return block.nester_tokens.opening


_blocks_only = rendering.parser(without=("addresses", "inline", "text_join"))
_words = rendering.parser(without=("addresses", "text_join"))


def whole(kind: worddiff.Kind, runs: Iterable[Piece]) -> list[Piece]:
    """Return words that are all of one kind."""
    pieces = [run._replace(kind=kind) for run in runs]
    if kind == "same":
        return [piece for piece in pieces if not is_sign(piece)]
    return list(_with_addresses([piece for piece in pieces if piece.text.strip() or not is_sign(piece)], set()))


def is_sign(piece: Piece) -> bool:
    return piece.style[-1:] == (SIGN,)


def compared(before: Sequence[Piece], after: Sequence[Piece]) -> list[Piece]:
    """Return the words and signs of both, in reading order."""
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
    pieces = list(_with_addresses([*_removed_first(pieces)], {*_styles(before)} & {*_styles(after)}))
    return [piece for piece in pieces if piece.kind != "same" or not is_sign(piece) or piece.text.strip(" \t\r")]


def without_signs(pieces: list[Piece]) -> list[Piece]:
    """Return what was compared without its signs, where none of these changed."""
    words = [piece for piece in pieces if not is_sign(piece)]
    # A blank before the end of a cell is not seen, and no reason to show the bars around it.
    changed = (piece for piece in pieces if is_sign(piece) and piece.kind != "same")
    return pieces if any(piece.text.strip() for piece in changed) else words


def _removed_first(pieces: Iterable[Piece]) -> Iterator[Piece]:
    """Yield the pieces, those alike as one, and of what changed at one place first what was removed."""
    for is_change, group in groupby(pieces, key=lambda piece: piece.kind != "same" and "\n" not in piece.text):
        in_order = sorted(group, key=lambda piece: is_change and piece.kind == "added")
        for (kind, style), alike in groupby(in_order, key=attrgetter("kind", "style")):
            yield Piece("".join(piece.text for piece in alike), style, kind)


def _by_character(runs: Iterable[Piece]) -> tuple[str, list[tuple[Style, ...]]]:
    """Return the words, and the style of each of their characters."""
    runs = list(runs)
    return "".join(run.text for run in runs), [style for run in runs for style in [run.style] * len(run.text)]


def _styles(runs: Iterable[Piece]) -> Iterator[Style]:
    return (style for run in runs for style in run.style)


def _in_style(kind: worddiff.Kind, text: str, styles: Sequence[tuple[Style, ...]]) -> Iterator[Piece]:
    at = 0
    for style, group in groupby(styles):
        end = at + len(list(group))
        yield Piece(text[at:end], style, kind)
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
    """Yield the pieces, each new or removed link followed by where it leads, unless it is written there."""
    written = ""
    for piece, following in zip_longest(pieces, pieces[1:]):
        yield piece
        link = _link(piece)
        if piece.kind == "same" or link is None or link in shared:
            continue
        written += piece.text
        if following is None or following.kind != piece.kind or _link(following) != link:
            if said := " ".join(value for _name, value in link[2] if value not in written):
                yield Piece(f" ({said})", (DRAWN,), piece.kind)
            written = ""


def _link(piece: Piece) -> Style | None:
    return next((style for style in piece.style if style[0] == "link"), None)


def by_line(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Return the pieces cut at the line ends of either text, each at the end of its line."""
    lines: list[list[Piece]] = [[]]
    for piece in pieces:
        for part in _LINES.findall(piece.text):
            lines[-1].append(piece._replace(text=part))
            if part.endswith("\n"):
                lines.append([])
    return lines if lines[-1] else lines[:-1]


def html_of(pieces: Iterable[Piece]) -> str:
    """Return HTML that still has to be sanitised: attributes are escaped, but addresses may be of any scheme."""
    shown: list[str] = []
    before: str = "same"
    open_: tuple[Style, ...] = ()
    for piece in (*pieces, Piece("")):
        stays = sum(1 for _ in takewhile(lambda both: both[0] == both[1], zip(open_, piece.style, strict=False)))
        shown += (f"</{tag}>" for _type, tag, _attributes in reversed(open_[stays:]))
        shown += map(_opening, piece.style[stays:])
        shown.append(marks.segment(piece.kind, piece.text, is_said=piece.kind != before))
        open_, before = piece.style, piece.kind
    return "".join(shown)


def _opening(style: Style) -> str:
    type_, tag, attributes = style
    if tag == "span":
        return f'<span class="{type_}">'
    address = dict(attributes).get("href")
    return f"<{tag}>" if address is None else f'<{tag} href="{html.escape(address)}">'
