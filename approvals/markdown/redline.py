"""A change of a Markdown text as a person reads it: headings, lists and tables as such, what changed marked in them.

Both texts are read into blocks, blocks are paired by the lines they share, and the words of each pair are compared as
they are seen. Where the layout itself changes, the old block stands struck before the new one. What was moved is struck
where it was and new where it is, each below a place that says so. Nothing that changed is left out: a change of which
none of this shows anything is handed back as lines of the source.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, NamedTuple

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from approvals.markdown import marks, rendering, words
from approvals.markdown.rendering import ATTRIBUTES, SCHEMES, TAGS, TOP
from approvals.markdown.words import ParsedText, Piece, opening_of
from memory_app.text import worddiff

_CLEANER = nh3.Cleaner(
    tags=TAGS | {"ins", "span", "wbr"},
    attributes={
        **ATTRIBUTES,
        "div": ATTRIBUTES["div"] - {"class"} | {"dir"},
        "span": {"title"},
        "td": {"dir", "colspan"},
        **{tag: {"dir", "aria-level"} for tag in ("h3", "h4", "h5", "h6")},
        "li": {"value"},
    },
    allowed_classes={
        "div": {"table-box", "changed", "lines"},
        "tr": {"changed", "change-row"},
        "span": {"mark", "stray", "stray-script", "visually-hidden", "space", "trailing", "slot"},
    },
    url_schemes=SCHEMES,
    link_rel="noopener noreferrer nofollow",
)
#: Where the heading of a change goes. No text can say it: it is another one in each process.
_SECRET = secrets.token_hex(8)
_SLOT = re.compile(rf'<span class="slot">{_SECRET}-((?:change|from|to)-\d+(?:-again)?)</span>')
_MARKED = re.compile("<(?:ins|del)[ >]")
#: The beginning of a heading; what texts say is escaped.
_HEADING_TAG = re.compile(r"<h(?P<level>[3-6])\b")
#: What entries stand in together. Browsers look for a list's direction in what has none of its own.
_AROUND = {
    "bullet_list": ('<ul dir="auto">', "</ul>"),
    "ordered_list": ('<ol dir="auto">', "</ol>"),
    "lines": ('<div class="lines" dir="auto">', "</div>"),
    "": ("", ""),
}
#: As in the redline of the source: so many unchanged blocks stay beside a change, and fewer are not worth a fold.
_CONTEXT, _WORTH_FOLDING = 1, 2
_NO_BLANKS = dict.fromkeys(map(ord, " \t\r\n"))

Block = SyntaxTreeNode
Pair = tuple[Block | None, Block | None]


class RedlinePart(NamedTuple):
    """Sanitised HTML, or the place where the heading of a change goes.

    Args:
        moved: instead of the heading goes a note that what follows was moved `from` here or `to` here.
        is_again: of the two notes of a move, the one without its heading.
    """

    html: SafeString = SafeString()
    change: int = 0
    moved: str = ""
    is_again: bool = False


@dataclass(frozen=True)
class RenderedPassage:
    """A part of the redline: HTML with places for the headings of changes, or lines of the source.

    Args:
        parts: HTML, and between it the headings of the changes that begin there.
        folded: how many unchanged blocks it has, when it folds.
        source: the lines of a change that changes nothing one sees, such as which sign a list has.
        number: the number of that change.
    """

    parts: tuple[RedlinePart, ...] = ()
    folded: int = 0
    source: tuple[worddiff.Paragraph, ...] = ()
    number: int = 0


@dataclass(frozen=True)
class _Entry:
    """A block of the page; an item of a list, and a line of a paragraph, by itself.

    Args:
        place: the paragraph of the source's redline where it begins.
        around: what it stands in together with its neighbours, and which one of these.
    """

    html: str
    place: int
    is_changed: bool
    around: tuple[str, int] = ("", 0)
    source: tuple[worddiff.Paragraph, ...] = ()
    number: int = 0


def rendered_redline(
    before: str, after: str, paragraphs: Sequence[worddiff.Paragraph], numbers: Sequence[int]
) -> tuple[RenderedPassage, ...]:
    """Return the change from one text to another; each number of a change stands in it once.

    Args:
        paragraphs: of the redline of the source.
        numbers: the number of each one's change, from 1; 0 for an unchanged one.

    Raises:
        TooLong: a text is not read as Markdown.
    """
    drawing = _Drawing(ParsedText(before), ParsedText(after), _Alignment(paragraphs, numbers))
    entries: list[_Entry] = []
    for entry in drawing.entries():
        # Where lines of both texts lie crosswise, a block goes on from the one above it.
        entries.append(replace(entry, place=max(entry.place, entries[-1].place if entries else 0)))
    for number in sorted(set(numbers) - drawing.headed - {0}):
        places = [place for place, its in enumerate(numbers) if its == number]
        lines = tuple(paragraphs[place] for place in places)
        entries.append(_Entry("", place=places[0], is_changed=True, source=lines, number=number))
    return tuple(_folded(sorted(entries, key=lambda entry: entry.place)))


class _Drawing:
    """The blocks of both texts while they are drawn, in reading order.

    Attributes:
        headed: changes whose heading is placed.
    """

    def __init__(self, before: ParsedText, after: ParsedText, alignment: _Alignment) -> None:
        self._before, self._after, self._alignment = before, after, alignment
        self._links_stay = before.references == after.references
        self._levels: list[int] = []
        self._env: dict[str, Any] = {}
        self.headed: set[int] = set()
        self._noted: set[tuple[int, str]] = set()

    def entries(self) -> Iterator[_Entry]:
        for old, new in self._alignment.pairs(self._before.pieces, self._after.pieces):
            block = _either(old, new)
            if block.type == "paragraph":
                yield from self._lines(old, new)
            else:
                html = rendering.drawn(self._tokens(old, new), self._env)
                around = block.parent.type if block.type == "list_item" and block.parent else ""
                place = self._alignment.place(_first(old), _first(new))
                yield _Entry(html, place, bool(_MARKED.search(html)), (around, 0))

    def _lines(self, old: Block | None, new: Block | None) -> Iterator[_Entry]:
        """Yield a paragraph's lines: many a text has one thing on each."""
        at, new_at = _first(old), _first(new)
        lines = words.lines_of(self._pieces(old, new))
        opening, closing = ('<p dir="auto">', "</p>") if len(lines) == 1 else ("<div>", "</div>")
        around = ("lines", id(_either(old, new))) if len(lines) > 1 else ("", 0)
        for pieces in lines:
            last = pieces[-1]
            ends = last.text.endswith("\n")
            if ends and last.kind == "same":
                pieces[-1] = last._replace(text=last.text[:-1])
            kinds = {piece.kind for piece in pieces}
            is_changed = kinds != {"same"}
            drawn = f"{opening}{words.html_of(pieces)}{closing}"
            if is_changed:
                gone = () if at is None or kinds == {"added"} else (at,)
                come = () if new_at is None or kinds == {"removed"} else (new_at,)
                drawn = f'<div class="changed">{self._slots(gone, come)}{drawn}</div>'
            yield _Entry(drawn, self._alignment.place(at, new_at), is_changed, around)
            if ends:
                at = at + 1 if at is not None and last.kind != "added" else at
                new_at = new_at + 1 if new_at is not None and last.kind != "removed" else new_at

    def _tokens(self, old: Block | None, new: Block | None) -> Iterator[Token]:
        """Yield what a block became, to be rendered; one of the two is missing where it came or went."""
        block = _either(old, new)
        if block.type in ("fence", "code_block"):
            segments = worddiff.diff(old.content if old else "", new.content if new else "")
            is_marked = any(segment.kind != "same" for segment in segments)
            code = "".join(marks.segment(segment.kind, segment.text) for segment in segments)
            yield from self._below_headings(old, new, [_html(f"<pre><code>{code}</code></pre>")], is_marked=is_marked)
        elif block.type == "hr":
            tag = "ins" if new else "del"
            drawn = [_html("<hr>" if old and new else f"<{tag}><hr></{tag}>")]
            yield from self._below_headings(old, new, drawn, is_marked=not (old and new))
        elif block.type == "tr":
            yield from self._row(old, new)
        elif block.type in ("paragraph", "heading"):
            if block.type == "heading":
                self._number(block)
            shown, is_marked = self._words(old, new)
            drawn = [opening_of(block), shown, _closing_of(block)]
            yield from self._below_headings(old, new, drawn, is_marked=is_marked)
        else:
            yield opening_of(block)
            for pair in self._alignment.pairs(_inner(old), _inner(new)):
                yield from self._tokens(*pair)
            yield _closing_of(block)

    def _row(self, old: Block | None, new: Block | None) -> Iterator[Token]:
        """Yield a row, below the heading of the change that begins with it."""
        cells: list[Token] = []
        is_row_marked = False
        for number, cell in enumerate(_either(old, new).children):
            shown, is_marked = self._words(*(row.children[number] if row else None for row in (old, new)))
            cells += (opening_of(cell), shown, _closing_of(cell))
            is_row_marked |= is_marked
        slots = self._slots(_lines(old), _lines(new)) if is_row_marked else ""
        if slots:
            columns = len(_either(old, new).children)
            yield _html(f'<tr class="change-row"><td colspan="{columns}">{slots}</td></tr>')
        yield _html('<tr class="changed">' if is_row_marked else "<tr>")
        yield from (*cells, _html("</tr>"))

    def _below_headings(
        self, old: Block | None, new: Block | None, drawn: Sequence[Token], *, is_marked: bool
    ) -> Iterator[Token]:
        if is_marked:
            yield _html(f'<div class="changed">{self._slots(_lines(old), _lines(new))}')
        yield from drawn
        if is_marked:
            yield _html("</div>")

    def _slots(self, old: Sequence[int], new: Sequence[int]) -> str:
        """Return the places of the headings of the changes that begin in these lines, as HTML to be sanitised."""
        side = "from" if not new else "to" if not old else ""
        places: list[str] = []
        for number in self._alignment.numbers(old, new):
            is_again = number in self.headed
            if not is_again:
                self.headed.add(number)
                places.append(f"change-{number}")
            if side and number in self._alignment.moves and (number, side) not in self._noted:
                self._noted.add((number, side))
                places.append(f"{side}-{number}{'-again' if is_again else ''}")
        return "".join(f'<span class="slot">{_SECRET}-{place}</span>' for place in places)

    def _words(self, old: Block | None, new: Block | None) -> tuple[Token, bool]:
        """Return the words of a paragraph, heading or cell, and whether any of them is marked."""
        pieces = self._pieces(old, new)
        # In front of a token of another type the renderer ends the line.
        shown = Token("inline", "", 0, children=[_html(words.html_of(pieces))])
        return shown, any(piece.kind != "same" for piece in pieces)

    def _pieces(self, old: Block | None, new: Block | None) -> list[Piece]:
        before, after = (block.children[0].content if block else "" for block in (old, new))
        if old and new and not (self._links_stay and before == after):
            return words.compared(self._before.runs(before), self._after.runs(after))
        if new:
            return words.whole("same" if old else "added", self._after.runs(after))
        return words.whole("removed", self._before.runs(before))

    def _number(self, heading: Block) -> None:
        """Give a heading its level: none is left out on the way down from that of the page."""
        written = int(heading.tag[1])
        while self._levels and self._levels[-1] >= written:
            self._levels.pop()
        opening_of(heading).attrSet("dir", "auto")
        opening_of(heading).tag = _closing_of(heading).tag = f"h{min(TOP + len(self._levels), 6)}"
        self._levels.append(written)


class _Alignment:
    """The lines of a change, from 0, and what each says of the blocks it belongs to.

    Args:
        paragraphs: of the change's redline.
        numbers: for each, the number of its change; 0 for an unchanged one.
    """

    def __init__(self, paragraphs: Sequence[worddiff.Paragraph], numbers: Sequence[int]) -> None:
        #: Lines that stand in both texts, and how many letters and signs each kept.
        self._shared: list[tuple[int, int, int]] = []
        self._places: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._numbers = numbers
        #: The changes that are moves.
        self.moves = {number for paragraph, number in zip(paragraphs, numbers, strict=True) if paragraph.move}
        for place, paragraph in enumerate(paragraphs):
            before, after = paragraph.before_line, paragraph.after_line
            for line, places in zip((before, after), self._places, strict=True):
                if line is not None:
                    places.setdefault(line - 1, place)
            kept = "".join(segment.text for segment in paragraph.segments if segment.kind == "same")
            if before is not None and after is not None and (letters := len(kept.translate(_NO_BLANKS))):
                self._shared.append((before - 1, after - 1, letters))

    def numbers(self, before: Iterable[int], after: Iterable[int]) -> list[int]:
        """Return the numbers of the changes in these lines of the one text and of the other."""
        found = {
            self._numbers[places[line]]
            for lines, places in zip((before, after), self._places, strict=True)
            for line in lines
            if line in places
        }
        return sorted(found - {0})

    def place(self, before: int | None, after: int | None) -> int:
        """Return where a line is, as the index of a paragraph of the redline."""
        if after is not None:
            return self._places[1].get(after, 0)
        return self._places[0].get(before, 0) if before is not None else 0

    def pairs(self, before: Sequence[Block], after: Sequence[Block]) -> Iterator[Pair]:
        """Yield blocks that stand beside one another, each with what it became, in reading order."""
        at = new_at = 0
        for index, new_index in (*self._partners(before, after), (len(before), len(after))):
            gone: list[Pair] = [(block, None) for block in before[at:index]]
            come: list[Pair] = [(None, block) for block in after[new_at:new_index]]
            yield from sorted((*gone, *come), key=lambda pair: self.place(*map(_first, pair)))
            if index < len(before) and new_index < len(after):
                yield before[index], after[new_index]
            at, new_at = index + 1, new_index + 1

    def _partners(self, before: Sequence[Block], after: Sequence[Block]) -> list[tuple[int, int]]:
        if not (before and after):
            return []
        of_before, of_after = _by_line(before), _by_line(after)
        weights: Counter[tuple[int, int]] = Counter()
        start = bisect_left(self._shared, (_lines(before[0]).start,))
        end = bisect_left(self._shared, (_lines(before[-1]).stop,))
        for line, new_line, shared in self._shared[start:end]:
            if line in of_before and new_line in of_after:
                weights[of_before[line], of_after[new_line]] += shared
        # Lines are in one order in both texts, and so are any two pairs that have no block in common.
        taken: set[int] = set()
        new_taken: set[int] = set()
        for (index, new_index), _weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])):
            if index not in taken and new_index not in new_taken and _fit(before[index], after[new_index]):
                taken.add(index)
                new_taken.add(new_index)
        return list(zip(sorted(taken), sorted(new_taken), strict=True))


def _fit(old: Block, new: Block) -> bool:
    """Whether the one can be shown as the other with some words changed."""
    if old.type != new.type:
        return False
    if old.type in ("heading", "fence"):
        return (old.tag, old.info) == (new.tag, new.info)
    if old.type == "list_item" and old.parent and new.parent:
        return old.parent.type == new.parent.type
    if old.type == "table":
        return len(old.children[0].children[0].children) == len(new.children[0].children[0].children)
    return True


def _by_line(blocks: Sequence[Block]) -> dict[int, int]:
    return {line: number for number, block in enumerate(blocks) for line in _lines(block)}


def _lines(block: Block | None) -> range:
    return range(*block.map) if block and block.map else range(0)


def _first(block: Block | None) -> int | None:
    return _lines(block).start if block else None


def _inner(block: Block | None) -> Sequence[Block]:
    return block.children if block else ()


def _either(old: Block | None, new: Block | None) -> Block:
    block = new or old
    assert block is not None
    return block


def _closing_of(block: Block) -> Token:
    assert block.nester_tokens
    return block.nester_tokens.closing


def _html(markup: str) -> Token:
    return Token("html_inline", "", 0, content=markup)


def _folded(entries: Sequence[_Entry]) -> Iterator[RenderedPassage]:
    """Yield the entries with what changed and a little beside it, and the others folded away.

    A heading whose own heading above is folded away says that it is a level higher, and looks as in the whole text.
    """
    near: set[int] = set()
    for number, entry in enumerate(entries):
        if entry.is_changed:
            near.update(range(number - _CONTEXT, number + _CONTEXT + 1))
    above = TOP - 1  # the level of the heading before, the page's own at first

    def labelled(tag: re.Match[str]) -> str:
        nonlocal above
        level = int(tag["level"])
        above = min(level, above + 1)
        return tag[0] if above == level else f'{tag[0]} aria-level="{above}"'

    shown: list[_Entry] = []
    for is_near, group in groupby(range(len(entries)), key=near.__contains__):
        together = [entries[number] for number in group]
        if is_near or len(together) < _WORTH_FOLDING:
            shown += (replace(entry, html=_HEADING_TAG.sub(labelled, entry.html)) for entry in together)
            continue
        yield from _passages(shown)
        yield RenderedPassage(_sanitised(together), folded=len(together))
        shown = []
    yield from _passages(shown)


def _passages(entries: Sequence[_Entry]) -> Iterator[RenderedPassage]:
    for is_source, group in groupby(entries, key=lambda entry: bool(entry.source)):
        if is_source:
            yield from (RenderedPassage(source=entry.source, number=entry.number) for entry in group)
        else:
            yield RenderedPassage(_sanitised(group))


def _sanitised(entries: Iterable[_Entry]) -> tuple[RedlinePart, ...]:
    written: list[str] = []
    for (around, _which), group in groupby(entries, key=lambda entry: entry.around):
        opening, closing = _AROUND[around]
        written += (opening, *(entry.html for entry in group), closing)
    parts: list[RedlinePart] = []
    for number, part in enumerate(_SLOT.split(_CLEANER.clean("".join(written)))):
        if number % 2:
            kind, change, *again = part.split("-")
            parts.append(RedlinePart(change=int(change), moved=kind.removeprefix("change"), is_again=bool(again)))
        elif part:
            parts.append(RedlinePart(mark_safe(part)))  # noqa: S308  # nh3 just made it so
    return tuple(parts)
