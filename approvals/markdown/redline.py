"""A change of a Markdown text as a person reads it: headings, lists and tables as such, what changed marked in them.

Both texts are read into blocks, blocks are paired by the lines they share, and the words of each pair are compared as
they are seen. Where the layout itself changes, the old block stands struck before the new one. Nothing that changed is
left out: a change of which none of this shows anything is handed back as lines of the source.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from django.utils.translation import gettext as _

from approvals.markdown.alignment import Alignment
from approvals.markdown.blocks import Node, ParsedText, TooLong
from approvals.markdown.passages import (
    CONTAINERS,
    Entry,
    RenderedPassage,
    beside_changes,
    folded,
    heading_slots,
    rows_slot,
    tags,
)
from approvals.markdown.rendering import TOP
from approvals.markdown.words import Marker, Piece, lines_of
from memory_app.text import worddiff
from memory_app.text.worddiff import Paragraph

__all__ = ["TooLong", "rendered_redline"]

_WORDS = {"paragraph", "heading", "th", "td"}


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
    drawing = _Drawing(ParsedText(before), ParsedText(after), Alignment(paragraphs, numbers), unfolded)
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
    unfolded: bool
    headed: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._marker = Marker(has_references=self.before.has_references or self.after.has_references)
        self._levels: list[int] = []
        self._tables = 0
        self._links_stay = self.before.references == self.after.references

    def entries(self) -> Iterator[Entry]:
        for old, new in self.alignment.pairs(self.before.pieces, self.after.pieces, _fit):
            block = new or old
            if block and block.kind == "paragraph":
                yield from self._lines(block, old, new)
            else:
                yield self._entry(old, new)

    def _lines(self, block: Node, old: Node | None, new: Node | None) -> Iterator[Entry]:
        """Yield a paragraph's lines: many a text has one thing on each."""
        at, new_at = (of.first if of else None for of in (old, new))
        lines = lines_of(self._pieces(old, new))
        for pieces in lines:
            last = pieces[-1]
            if last.text.endswith("\n") and last.kind == "same":
                pieces[-1] = Piece("same", last.text[:-1], last.style)
            is_changed = any(piece.kind != "same" for piece in pieces)
            its = tuple(() if line is None else (line,) for line in (at, new_at))
            heading = self._slots(*its) if is_changed else ""
            opening, closing = ('<p dir="auto">', "</p>") if len(lines) == 1 else ("<div>", "</div>")
            drawn = f"{opening}{self._marker.html(pieces)}{closing}"
            if is_changed:
                drawn = f'<div class="changed">{heading}{drawn}</div>'
            yield Entry(
                drawn, self.alignment.place_of(at, new_at), is_changed, f"lines {id(block)}" if len(lines) > 1 else ""
            )
            if last.text.endswith("\n"):
                at = at + 1 if at is not None and last.kind != "added" else at
                new_at = new_at + 1 if new_at is not None and last.kind != "removed" else new_at

    def _entry(self, old: Node | None, new: Node | None) -> Entry:
        written = self._block(old, new)
        is_changed = "<ins>" in written or "<del>" in written
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
            drawn = "<hr>" if old and new else f"<{_tag(new)}><hr></{_tag(new)}>"
            return self._with_headings(old, new, drawn, is_marked=not (old and new))
        if block.is_code:
            return self._leaf(old, new, "<pre><code>", "</code></pre>")
        if block.kind in _WORDS:
            tight = block.is_tight
            return self._leaf(old, new, "" if tight else '<p dir="auto">', "" if tight else "</p>")
        return self._inside(old, new)

    def _inside(self, old: Node | None, new: Node | None) -> str:
        pairs = self.alignment.pairs(_inner(old), _inner(new), _fit)
        return "".join(self._block(*pair) for pair in pairs)

    def _leaf(self, old: Node | None, new: Node | None, opening: str, closing: str) -> str:
        words, is_marked = self._words(old, new)
        return self._with_headings(old, new, f"{opening}{words}{closing}", is_marked=is_marked)

    def _with_headings(self, old: Node | None, new: Node | None, drawn: str, *, is_marked: bool) -> str:
        if not is_marked:
            return drawn
        return f'<div class="changed">{self._slots(_lines(old), _lines(new))}{drawn}</div>'

    def _slots(self, old: Iterable[int], new: Iterable[int]) -> str:
        numbers = [number for number in self.alignment.numbers(old, new) if number not in self.headed]
        self.headed.update(numbers)
        return heading_slots(numbers)

    def _words(self, old: Node | None, new: Node | None) -> tuple[str, bool]:
        """Return the words of a block and whether any of them is marked."""
        block = new or old
        if block and block.is_code:
            segments = worddiff.diff(old.content or "" if old else "", new.content or "" if new else "")
            return self._marker.code(segments), any(segment.kind != "same" for segment in segments)
        pieces = self._pieces(old, new)
        return self._marker.html(pieces), any(piece.kind != "same" for piece in pieces)

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
        box = f'<div class="table-box" role="region" tabindex="0" aria-label="{label}">'
        return f"{box}<table>{''.join(parts)}</table></div>"

    def _rows(self, old: Node | None, new: Node | None) -> str:
        """Return rows. Where some of them changed, most of the others are left out."""
        pairs = self.alignment.pairs(_inner(old), _inner(new), _fit)
        rows = [self._row(*pair) for pair in pairs]
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
        for number, cell in enumerate(_inner(new or old)):
            words, is_cell_marked = self._words(*(of.inner[number] if of else None for of in (old, new)))
            is_marked |= is_cell_marked
            cells.append(f'<{cell.kind} dir="auto">{words}</{cell.kind}>')
        heading = self._slots(_lines(old), _lines(new)) if is_marked else ""
        above = f'<tr class="change-row"><td colspan="{len(cells)}">{heading}</td></tr>' if heading else ""
        opening = '<tr class="changed">' if is_marked else "<tr>"
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
