"""A change of a Markdown text as a person reads it: headings, lists and tables as such, what changed marked in them.

Both texts are read into blocks, blocks are paired by the lines they share, and the words of each pair are compared as
they are seen. Where the layout itself changes, the old block stands struck before the new one. Nothing that changed is
left out: a change of which none of this shows anything is handed back as lines of the source.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _

from approvals.markdown.alignment import Alignment
from approvals.markdown.blocks import Node, ParsedText, TooLong
from approvals.markdown.moves import Moves
from approvals.markdown.passages import (
    CONTAINERS,
    Entry,
    RenderedPassage,
    beside_changes,
    folded,
    heading_slots,
    moved_slot,
    rows_slot,
    tags,
)
from approvals.markdown.rendering import TOP
from approvals.markdown.words import Marker, Piece, lines_of
from memory_app.text import worddiff
from memory_app.text.worddiff import Paragraph

__all__ = ["TooLong", "rendered_redline"]

_WORDS = {"paragraph", "heading", "th", "td"}
_MARKED = re.compile("<(?:ins|del)[ >]")


def rendered_redline(
    before: str, after: str, paragraphs: Sequence[Paragraph], numbers: Sequence[int], *, unfolded: bool = False
) -> tuple[RenderedPassage, ...]:
    """Return the change from one text to another; each number of a change stands in it once.

    Args:
        paragraphs: of the redline of the source.
        numbers: the number of each one's change, from 1; 0 for an unchanged one.
        unfolded: show the unchanged rows of tables too, which cannot fold.

    Raises:
        TooLong: a text is not read as Markdown.
    """
    text = ParsedText(before)
    moves = Moves(paragraphs, text.blocks)
    drawing = _Drawing(text, ParsedText(after), Alignment(paragraphs, numbers), moves, unfolded)
    entries: list[Entry] = []
    for entry in drawing.entries():
        # Where lines of both texts lie crosswise, a block goes on from the one above it.
        place = max(entry.place, entries[-1].place) if entries else entry.place
        entries.append(replace(entry, place=place))
    for number in sorted(set(numbers) - drawing.headed - {0}):
        places = [place for place, its in enumerate(numbers) if its == number]
        lines = tuple(paragraphs[place] for place in places)
        entries.append(Entry("", place=places[0], is_changed=True, source=lines, number=number))
    return tuple(folded(sorted(entries, key=lambda entry: entry.place)))


@dataclass
class _Drawing:
    """The blocks of both texts while they are drawn, in reading order. `headed`: changes whose heading is placed."""

    before: ParsedText
    after: ParsedText
    alignment: Alignment
    moves: Moves
    unfolded: bool
    headed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._marker = Marker(has_references=self.before.has_references or self.after.has_references)
        self._levels: list[int] = []
        self._tables = 0
        self._side = ""  # of the move that the block being drawn belongs to
        self._said: set[tuple[str, int]] = set()
        self._links_stay = self.before.references == self.after.references

    def entries(self) -> Iterator[Entry]:
        for old, new in self.alignment.pairs(self.before.pieces, self.after.pieces, _fit):
            block = new or old
            with self._moving(old, new):
                if block and block.kind == "paragraph":
                    yield from self._lines(block, old, new)
                else:
                    yield self._entry(old, new)

    @contextmanager
    def _moving(self, old: Node | None, new: Node | None) -> Iterator[None]:
        """Draw a block that is in one of the texts as moved, where all of it was."""
        side = self._side
        self._side = side or self.moves.side(old.lines if old else None, new.lines if new else None)
        try:
            yield
        finally:
            self._side = side

    def _lines(self, block: Node, old: Node | None, new: Node | None) -> Iterator[Entry]:
        """Yield a paragraph's lines: many a text has one thing on each."""
        at, new_at = (of.first if of else None for of in (old, new))
        if self._side:
            drawn = self._leaf(old, new, '<p dir="auto">', "</p>")
            yield Entry(drawn, self.alignment.place(old, new), is_changed=True)
            return
        lines = lines_of(self._pieces(old, new))
        for pieces in lines:
            last = pieces[-1]
            ends = last.text.endswith("\n")
            if ends and last.kind == "same":
                pieces[-1] = Piece("same", last.text[:-1], last.style)
            its = tuple(() if line is None else (line,) for line in (at, new_at))
            with self._moving_line(pieces, at, new_at):
                is_changed = bool(self._side) or any(piece.kind != "same" for piece in pieces)
                heading = self._slots(*its) if is_changed else ""
                opening, closing = ('<p dir="auto">', "</p>") if len(lines) == 1 else ("<div>", "</div>")
                drawn = f"{opening}{self._line(pieces, at, new_at)}{closing}"
                if is_changed:
                    drawn = f'<div class="{self._changed}">{heading}{drawn}</div>'
            around = f"lines {id(block)}" if len(lines) > 1 else ""
            yield Entry(drawn, self.alignment.place_of(at, new_at), is_changed, around)
            if ends:
                at = at + 1 if at is not None and last.kind != "added" else at
                new_at = new_at + 1 if new_at is not None and last.kind != "removed" else new_at

    @contextmanager
    def _moving_line(self, pieces: Sequence[Piece], at: int | None, new_at: int | None) -> Iterator[None]:
        """Draw a line of a paragraph as moved, where it was."""
        kinds = {piece.kind for piece in pieces}
        if kinds == {"removed"} and at is not None:
            self._side = self.moves.side((at,), None)
        elif kinds == {"added"} and new_at is not None:
            self._side = self.moves.side(None, (new_at,))
        try:
            yield
        finally:
            self._side = ""

    def _line(self, pieces: Sequence[Piece], at: int | None, new_at: int | None) -> str:
        if self._side == "from" and at is not None:
            return f'<del class="moved">{self._marker.html(self._marker.whole("same", self.before.line(at)))}</del>'
        if self._side == "to" and new_at is not None:
            was = self.before.line(self.moves.origin(new_at))
            return f'<ins class="moved">{self._marker.html(self._marker.compared(was, self.after.line(new_at)))}</ins>'
        return self._marker.html(pieces)

    @property
    def _changed(self) -> str:
        return "changed is-moved" if self._side else "changed"

    def _entry(self, old: Node | None, new: Node | None) -> Entry:
        written = self._block(old, new)
        is_changed = bool(_MARKED.search(written))
        block = new or old
        return Entry(written, self.alignment.place(old, new), is_changed, block.listed if block else "")

    def _block(self, old: Node | None, new: Node | None) -> str:
        """Return HTML for what a block became; one of the two is missing where it came or went."""
        block = new or old
        if block is None:
            return ""
        if block.kind == "table":
            return self._table(old, new)
        if block.kind in CONTAINERS:
            opening, closing = tags(block.kind)
            if block.listed == "ordered_list":
                opening = f'<li value="{block.number}">'
            return f"{opening}{self._inside(old, new)}{closing}"
        if block.kind == "heading":
            return self._leaf(old, new, *self._heading_tags(block))
        if block.kind == "hr":
            css = ' class="moved"' if self._side else ""
            drawn = "<hr>" if old and new else f"<{_tag(new)}{css}><hr></{_tag(new)}>"
            return self._with_headings(old, new, drawn, is_marked=not (old and new))
        if block.is_code:
            return self._leaf(old, new, "<pre><code>", "</code></pre>")
        if block.kind in _WORDS:
            tight = block.is_tight
            return self._leaf(old, new, "" if tight else '<p dir="auto">', "" if tight else "</p>")
        return self._inside(old, new)

    def _inside(self, old: Node | None, new: Node | None) -> str:
        written = []
        for pair in self.alignment.pairs(_inner(old), _inner(new), _fit):
            with self._moving(*pair):
                written.append(self._block(*pair))
        return "".join(written)

    def _leaf(self, old: Node | None, new: Node | None, opening: str, closing: str) -> str:
        words, is_marked = self._words(old, new)
        return self._with_headings(old, new, f"{opening}{words}{closing}", is_marked=is_marked)

    def _with_headings(self, old: Node | None, new: Node | None, drawn: str, *, is_marked: bool) -> str:
        if not is_marked:
            return drawn
        return f'<div class="{self._changed}">{self._slots(_lines(old), _lines(new))}{drawn}</div>'

    def _slots(self, old: Iterable[int], new: Iterable[int]) -> str:
        numbers = [number for number in self.alignment.numbers(old, new) if number not in self.headed]
        self.headed.update(numbers)
        return heading_slots(numbers) + (self._moved_slot(old, new, numbers) if self._side else "")

    def _moved_slot(self, old: Iterable[int], new: Iterable[int], headed: Sequence[int]) -> str:
        """Return the place that says of a move that it is one, where it begins on this side."""
        for number in self.alignment.numbers(old, new):
            if (self._side, number) not in self._said:
                self._said.add((self._side, number))
                return moved_slot(self._side, number, is_again=number not in headed)
        return ""

    def _words(self, old: Node | None, new: Node | None) -> tuple[str, bool]:
        """Return the words of a block and whether any of them is marked."""
        block = new or old
        if self._side:
            return self._moved_words(old, new), True
        if block and block.is_code:
            segments = worddiff.diff(old.content or "" if old else "", new.content or "" if new else "")
            return self._marker.code(segments), any(segment.kind != "same" for segment in segments)
        pieces = self._pieces(old, new)
        return self._marker.html(pieces), any(piece.kind != "same" for piece in pieces)

    def _moved_words(self, old: Node | None, new: Node | None) -> str:
        """Return the words of a block that was moved: as they were, or as they are with what changed marked in them."""
        if new is None:
            return f'<del class="moved">{self._unchanged(self.before, old)}</del>' if old else ""
        was = old or (self.moves.was(new) if new.kind not in ("th", "td") else None)
        if was is None:
            self._side, side = "", self._side
            words, _is_marked = self._words(None, new)
            self._side = side
        elif new.is_code:
            words = self._marker.code(worddiff.diff(was.content or "", new.content or ""))
        else:
            words = self._marker.html(self._pieces(was, new))
        return f'<ins class="moved">{words}</ins>'

    def _unchanged(self, text: ParsedText, block: Node) -> str:
        if block.is_code:
            return self._marker.code(worddiff.diff(block.content or "", block.content or ""))
        return self._marker.html(self._marker.whole("same", text.runs(block)))

    def _pieces(self, old: Node | None, new: Node | None) -> list[Piece]:
        if old and new:
            if self._links_stay and old.is_like(new):
                return self._marker.whole("same", self.after.runs(new))
            return self._marker.compared(self.before.runs(old), self.after.runs(new))
        if new:
            return self._marker.whole("added", self.after.runs(new))
        return self._marker.whole("removed", self.before.runs(old)) if old else []

    def _heading_tags(self, block: Node) -> tuple[str, str]:
        """Return a heading's tags: no level is left out on the way down from that of the page."""
        written = int(block.form[1])
        while self._levels and self._levels[-1] >= written:
            self._levels.pop()
        tag = f"h{min(TOP + len(self._levels), 6)}"
        self._levels.append(written)
        return f'<{tag} dir="auto">', f"</{tag}>"

    def _table(self, old: Node | None, new: Node | None) -> str:
        self._tables += 1
        label = html.escape(_("Table %(number)d") % {"number": self._tables})
        parts = []
        for kind in ("thead", "tbody"):
            mine, its = (_part(of, kind) for of in (old, new))
            if mine or its:
                parts.append(f"<{kind}>{self._rows(mine, its)}</{kind}>")
        box = f'<div class="table-box" role="group" tabindex="0" aria-label="{label}">'
        return f"{box}<table>{''.join(parts)}</table></div>"

    def _rows(self, old: Node | None, new: Node | None) -> str:
        """Return rows. Where some of them changed, most of the others are left out."""
        pairs = self.alignment.pairs(_inner(old), _inner(new), _fit)
        rows = []
        for pair in pairs:
            with self._moving(*pair):
                rows.append(self._row(*pair))
        changed = [is_changed for _row, is_changed in rows]
        written: list[str] = []
        for is_shown, numbers in beside_changes(changed):
            if is_shown or self.unfolded or not any(changed):
                written += (rows[number][0] for number in numbers)
            else:
                columns = len(_inner(_inner(new or old)[0]))
                written.append(f'<tr class="skipped-rows"><td colspan="{columns}">{rows_slot(len(numbers))}</td></tr>')
        return "".join(written)

    def _row(self, old: Node | None, new: Node | None) -> tuple[str, bool]:
        """Return a row, below the heading of the change that begins with it, and whether it changed."""
        cells = []
        is_marked = False
        was = self.moves.was(new) if new and self._side else old
        for number, cell in enumerate(_inner(new or old)):
            words, is_cell_marked = self._words(*(of.inner[number] if of else None for of in (was, new)))
            is_marked |= is_cell_marked
            cells.append(f'<{cell.kind} dir="auto">{words}</{cell.kind}>')
        heading = self._slots(_lines(old), _lines(new)) if is_marked else ""
        above = f'<tr class="change-row"><td colspan="{len(cells)}">{heading}</td></tr>' if heading else ""
        opening = f'<tr class="{self._changed}">' if is_marked else "<tr>"
        return f"{above}{opening}{''.join(cells)}</tr>", is_marked


def _fit(old: Node, new: Node) -> bool:
    """Whether the one can be shown as the other with some words changed."""
    if old.kind != new.kind:
        return False
    if old.kind in ("heading", "fence"):
        return old.form == new.form
    if old.kind == "list_item":
        return old.listed == new.listed
    if old.kind == "table":
        return _columns(old) == _columns(new)
    return True


def _columns(table: Node) -> int:
    return len(table.inner[0].inner[0].inner)


def _inner(block: Node | None) -> Sequence[Node]:
    return block.inner if block else ()


def _part(table: Node | None, kind: str) -> Node | None:
    return next((part for part in _inner(table) if part.kind == kind), None)


def _lines(block: Node | None) -> Iterable[int]:
    return block.lines if block else ()


def _tag(new: Node | None) -> str:
    return "ins" if new else "del"
