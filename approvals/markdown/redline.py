"""A change of a Markdown text as a person reads it: headings, lists and tables as such, what changed marked in them.

Both texts are read into blocks, blocks are paired by the lines they share, and the words of each pair are compared as
they are seen. Where the layout itself changes, the old block stands struck before the new one. What was moved is struck
where it was and new where it is, each below a place that says so. Nothing that changed is left out: what was drawn is
counted, and lines of the source with a change that was not drawn are handed back as such.
"""

from __future__ import annotations

import re
import secrets
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import nh3
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from approvals.markdown import rendering, words
from approvals.markdown.rendering import ATTRIBUTES, SCHEMES, TOP
from approvals.markdown.words import ParsedText, Piece, opening_of, span_of
from memory_app.text import worddiff
from memory_app.text.worddiff import Paragraph

TAGS = rendering.TAGS | {"ins", "wbr"}
#: Classes of what is marked within words.
SPANS = {"mark", "stray", "stray-script", "visually-hidden", "space", "trailing", "sign", "marker", "drawn"}
_CLEANER = nh3.Cleaner(
    tags=TAGS,
    attributes={
        **ATTRIBUTES,
        "div": ATTRIBUTES["div"] - {"class"} | {"dir"},
        "span": {"title", "dir"},
        "td": {"dir", "colspan"},
        **{tag: {"dir", "aria-level"} for tag in ("h3", "h4", "h5", "h6")},
    },
    allowed_classes={
        "div": {"table-box", "changed", "lines"},
        "tr": {"changed", "change-row"},
        "span": SPANS | {"slot"},
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
#: What each side of a change, the text before and the one after, has not.
_OTHER: Sequence[worddiff.Kind] = ("added", "removed")
#: Characters of HTML up to which a block is context: below a whole table the change would begin off a phone's screen.
_BRIEF = 300
_WORD = re.compile(r"\S+|[^\S\n]+")
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
        source: lines of which no page draws all that changes.
        number: the number of their change, where nothing else is shown of it; 0 otherwise.
    """

    parts: tuple[RedlinePart, ...] = ()
    folded: int = 0
    source: tuple[Paragraph, ...] = ()
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
    source: tuple[Paragraph, ...] = ()
    number: int = 0


def rendered_redline(
    before: str, after: str, paragraphs: Sequence[Paragraph], numbers: Sequence[int]
) -> tuple[RenderedPassage, ...]:
    """Return the change from one text to another; each number of a change stands in it once.

    Args:
        paragraphs: of the redline of the source.
        numbers: the number of each one's change, from 1; 0 for an unchanged one.

    Raises:
        TooLong: a text is not read as Markdown.
    """
    alignment = _Alignment(paragraphs, numbers)
    drawing = _Drawing(ParsedText(before), ParsedText(after), alignment)
    headed = drawing.headed
    entries: list[_Entry] = []
    for entry in drawing.entries():
        # Where lines of both texts lie crosswise, a block goes on from the one above it.
        entries.append(replace(entry, place=max(entry.place, entries[-1].place if entries else 0)))
    unseen = [at for at, number in enumerate(numbers) if number and not (number in headed and alignment.is_drawn(at))]
    # What is beside something drawn stands there; of a change of which nothing is drawn, all stands together.
    runs = [(numbers[place], place - at if numbers[place] in headed else 0) for at, place in enumerate(unseen)]
    for (number, _run), group in groupby(zip(runs, unseen, strict=True), key=itemgetter(0)):
        places = [place for _run, place in group]
        shown = tuple(paragraphs[place] for place in places)
        entries.append(_Entry("", places[0], True, source=shown, number=0 if number in headed else number))
    return tuple(_folded(sorted(entries, key=lambda entry: entry.place)))


class _Drawing:
    """The blocks of both texts while they are drawn, in reading order.

    Attributes:
        headed: changes whose heading is placed.
    """

    def __init__(self, before: ParsedText, after: ParsedText, alignment: _Alignment) -> None:
        self._texts, self.alignment = (before, after), alignment
        self._links_stay = before.references == after.references
        #: Up to which line each text is drawn.
        self._done = [0, 0]
        self._levels: list[int] = []
        self._env: dict[str, Any] = {}
        self.headed: set[int] = set()
        self._noted: set[tuple[int, str]] = set()

    def entries(self) -> Iterator[_Entry]:
        for old, new in self.alignment.pairs(*(text.pieces for text in self._texts)):
            block = _either(old, new)
            if block.type == "paragraph":
                yield from self._lines(old, new)
            else:
                html = rendering.drawn(self._tokens(old, new), self._env)
                around = block.parent.type if block.type == "list_item" and block.parent else ""
                place = self.alignment.place(_first(old), _first(new))
                yield _Entry(html, place, bool(_MARKED.search(html)), (around, 0))

    def _lines(self, old: Block | None, new: Block | None) -> Iterator[_Entry]:
        """Yield a paragraph's lines: many a text has one thing on each."""
        at, new_at = _first(old), _first(new)
        (parts,), _lines_of_both = self._parts(old, new)
        lines = words.by_line(parts)
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
            yield _Entry(drawn, self.alignment.place(at, new_at), is_changed, around)
            if ends:
                at = at + 1 if at is not None and last.kind != "added" else at
                new_at = new_at + 1 if new_at is not None and last.kind != "removed" else new_at

    def _tokens(self, old: Block | None, new: Block | None) -> Iterator[Token]:
        """Yield what a block became, to be rendered; one of the two is missing where it came or went."""
        block = _either(old, new)
        if block.type == "tr":
            yield from self._row(old, new)
        elif not block.children or block.type in ("paragraph", "heading"):
            if block.type == "heading":
                rendering.number_heading(opening_of(block), _closing_of(block), self._levels)
            (pieces,), lines = self._parts(old, new)
            drawn = self._leaf(old, new, words.html_of(pieces))
            if any(piece.kind != "same" for piece in pieces):
                drawn = (_html(f'<div class="changed">{self._slots(*lines)}'), *drawn, _html("</div>"))
            is_empty = block.type in ("list_item", "blockquote")
            yield from (opening_of(block), *drawn, _closing_of(block)) if is_empty else drawn
        else:
            yield opening_of(block)
            for pair in self.alignment.pairs(*(each.children if each else () for each in (old, new))):
                yield from self._tokens(*pair)
            yield _closing_of(block)

    def _leaf(self, old: Block | None, new: Block | None, shown: str) -> Iterable[Token]:
        """Return a block that has no other in it, with the words it shows."""
        block = _either(old, new)
        # In front of a token of another type the renderer ends the line.
        inline = Token("inline", "", 0, children=[_html(shown)])
        if block.type in ("fence", "code_block"):
            return [_html(f"<pre><code>{shown}\n</code></pre>")]
        if block.type in ("paragraph", "heading"):
            return opening_of(block), inline, _closing_of(block)
        if block.type != "hr":
            return [inline]
        tag = "ins" if new else "del"
        rule = _html("<hr>" if old and new else f"<{tag}><hr></{tag}>")
        return [rule, *((_html('<p dir="auto">'), inline, _html("</p>")) if shown else ())]

    def _row(self, old: Block | None, new: Block | None) -> Iterator[Token]:
        """Yield a row, below the heading of the change that begins with it, and the line below a table's head."""
        row = _either(old, new)
        parts, lines = self._parts(old, new)
        is_marked = any(piece.kind != "same" for pieces in parts for piece in pieces)
        slots = self._slots(*lines) if is_marked else ""
        across = f'<td colspan="{len(row.children)}">'
        if slots:
            yield _html(f'<tr class="change-row">{across}{slots}</td></tr>')
        yield _html('<tr class="changed">' if is_marked else "<tr>")
        for cell, pieces in zip(row.children, parts, strict=False):
            inline = Token("inline", "", 0, children=[_html(words.html_of(pieces))])
            yield from (opening_of(cell), inline, _closing_of(cell))
        yield _html("</tr>")
        for pieces in filter(None, parts[len(row.children) :]):
            yield _html(f"<tr>{across}{words.html_of(pieces)}</td></tr>")

    def _slots(self, old: Sequence[int], new: Sequence[int]) -> str:
        """Return the places of the headings of the changes that begin in these lines, as HTML to be sanitised."""
        side = "from" if not new else "to" if not old else ""
        places: list[str] = []
        for number in self.alignment.numbers(old, new):
            is_again = number in self.headed
            if not is_again:
                self.headed.add(number)
                places.append(f"change-{number}")
            if side and number in self.alignment.moves and (number, side) not in self._noted:
                self._noted.add((number, side))
                places.append(f"{side}-{number}{'-again' if is_again else ''}")
        return "".join(f'<span class="slot">{_SECRET}-{place}</span>' for place in places)

    def _parts(self, old: Block | None, new: Block | None) -> tuple[list[list[Piece]], list[range]]:
        """Return what a block shows, or each cell of a row, and its lines in both texts.

        It has all of its signs where that is needed to show a change.
        """
        lines = [range(0), range(0)]
        for side, block in enumerate((old, new)):
            if block:
                lines[side] = self._texts[side].lines_of(block, self._done[side])
                self._done[side] = lines[side].stop
        sides = list(zip(self._texts, (old, new), lines, strict=True))
        one, other = (text.lines[its.start : its.stop] for text, _block, its in sides)
        if self._links_stay and one == other:
            return [words.whole("same", runs) for runs in self._texts[1].parts_of(new, lines[1])], lines
        before, after = (text.parts_of(block, its) for text, block, its in sides)
        if before and after:
            with_signs = [words.compared(*both) for both in zip(before, after, strict=True)]
            parts = [words.without_signs(pieces) for pieces in with_signs]
        else:
            parts = with_signs = [words.whole("added" if new else "removed", runs) for runs in before or after]
        shown = self.alignment.shown(lines, parts)
        if len(shown) < len(lines) and parts != with_signs:
            shown_with_signs = self.alignment.shown(lines, with_signs)
            if len(shown_with_signs) == len(lines):
                parts, shown = with_signs, shown_with_signs
        for side in shown:
            self.alignment.drawn[side].update(lines[side])
        return parts, lines


class _Alignment:
    """The lines of a change, from 0, and what each says of the blocks it belongs to.

    Args:
        paragraphs: of the change's redline.
        numbers: for each, the number of its change; 0 for an unchanged one.
    """

    def __init__(self, paragraphs: Sequence[Paragraph], numbers: Sequence[int]) -> None:
        #: Lines that stand in both texts, and how many letters and signs each kept.
        self._shared: list[tuple[int, int, int]] = []
        self._places: tuple[dict[int, int], dict[int, int]] = ({}, {})
        self._numbers = numbers
        self._paragraphs = paragraphs
        #: For each line of either text, all its paragraphs of the redline; and the lines of which all is drawn.
        self._of_line: tuple[dict[int, list[Paragraph]], ...] = (defaultdict(list), defaultdict(list))
        self.drawn: tuple[set[int], set[int]] = (set(), set())
        #: The changes that are moves.
        self.moves = {number for paragraph, number in zip(paragraphs, numbers, strict=True) if paragraph.move}
        for place, paragraph in enumerate(paragraphs):
            before, after = paragraph.before_line, paragraph.after_line
            for side, (line, places) in enumerate(zip((before, after), self._places, strict=True)):
                if line is not None:
                    places.setdefault(line - 1, place)
                    self._of_line[side][line - 1].append(paragraph)
            kept = "".join(segment.text for segment in paragraph.segments if segment.kind == "same")
            if before is not None and after is not None and (letters := len(kept.translate(_NO_BLANKS))):
                self._shared.append((before - 1, after - 1, letters))

    def shown(self, lines: Sequence[range], parts: Iterable[Sequence[Piece]]) -> list[int]:
        """Return the sides, 0 and 1, of which these parts show all that changes in their lines."""
        pieces = [piece for part in parts for piece in part if words.DRAWN not in piece.style]
        return [
            side
            for side, other in enumerate(_OTHER)
            if _shows(
                "".join(piece.text for piece in pieces if piece.kind != other),
                (each for line in lines[side] for each in self._of_line[side].get(line, ())),
                other,
            )
        ]

    def is_drawn(self, place: int) -> bool:
        """Whether all that changes in a paragraph is drawn, of both texts."""
        paragraph = self._paragraphs[place]
        sides = zip((paragraph.before_line, paragraph.after_line), self.drawn, _OTHER, strict=True)
        return not any(
            line and line - 1 not in drawn and any(must for _word, must in _words(paragraph, other))
            for line, drawn, other in sides
        )

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
        start = bisect_left(self._shared, (span_of(before[0]).start,))
        end = bisect_left(self._shared, (span_of(before[-1]).stop,))
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


def _shows(shown: str, paragraphs: Iterable[Paragraph], other: str) -> bool:
    """Whether all that changes in paragraphs, but what only the `other` text has, stands in what is shown, in order."""
    at = 0
    for paragraph in paragraphs:
        for word, must in _words(paragraph, other):
            # A word is there as a whole, or its signs one by one, of which those that stay may be missing.
            for sign in [word] if shown.startswith(word, at) else word:
                while not sign.isspace() and shown[at : at + 1].isspace():
                    at += 1
                if shown.startswith(sign, at):
                    at += len(sign)
                elif must:
                    return False
    return True


def _words(paragraph: Paragraph, other: str) -> Iterator[tuple[str, bool]]:
    """Yield the words and blanks of one text's side, and whether each has to be seen: that it changes.

    Blanks are seen by what stands around them, unless they are all that changes at a place.
    """
    kinds = {segment.kind for segment in paragraph.segments if segment.text.strip()}
    for segment in paragraph.segments:
        if segment.kind != other:
            are_blanks_seen = "same" not in kinds or bool(segment.text.strip())
            for word in _WORD.findall(segment.text):
                yield word, segment.kind != "same" and not (are_blanks_seen and word.isspace())


def _fit(old: Block, new: Block) -> bool:
    """Whether the one can be shown as the other with some words changed."""
    if old.type != new.type:
        return False
    if old.type == "heading":
        return old.tag == new.tag
    if old.type == "list_item" and old.parent and new.parent:
        return old.parent.type == new.parent.type
    if old.type == "table":
        return len(old.children[0].children[0].children) == len(new.children[0].children[0].children)
    return True


def _by_line(blocks: Sequence[Block]) -> dict[int, int]:
    return {line: number for number, block in enumerate(blocks) for line in span_of(block)}


def _first(block: Block | None) -> int | None:
    return span_of(block).start if block else None


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
            beside = range(max(0, number - _CONTEXT), min(len(entries), number + _CONTEXT + 1))
            near.update(each for each in beside if entries[each].is_changed or len(entries[each].html) <= _BRIEF)
    above = TOP - 1  # the level of the heading before, the page's own at first

    def labelled(tag: re.Match[str]) -> str:
        nonlocal above
        level = int(tag["level"])
        above = min(level, above + 1)
        return tag[0] if above == level else f'{tag[0]} aria-level="{above}"'

    shown: list[_Entry] = []
    for is_near, group in groupby(range(len(entries)), key=near.__contains__):
        together = [entries[number] for number in group]
        is_brief = all(len(entry.html) <= _BRIEF for entry in together)
        if is_near or (is_brief and len(together) < _WORTH_FOLDING):
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
