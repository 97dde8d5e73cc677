"""A proposal's change laid out for one of the page's views: plain values for the templates to draw.

What the change is comes from `review`; comparing texts is `memory_app.text.worddiff`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from django.utils.translation import get_language

from approvals.markdown.redline import RenderedPassage, rendered_redline
from approvals.markdown.words import TooLong
from approvals.models import Mergeability
from approvals.review.compared import compared
from approvals.review.presentation import Review
from memory_app.text import worddiff
from memory_app.text.worddiff import DiffRow, Fold, Paragraph, Segment

#: Unchanged lines left standing above and below a change in the table.
_CONTEXT_ROWS = 2

#: Characters of a text, and changes in it, from which on a map says more than the text does by itself.
LONG, SEVERAL = 2_000, 2
#: A line or a fold weighs something, however short; and a bar is as high as one can see, in percent.
_LINE, _LOWEST = 40, 0.8


class DiffMode(StrEnum):
    """How the change is shown; the value is the word in the URL."""

    INLINE = "inline"
    SIDE = "side"
    RESULT = "result"
    SOURCE = "source"


@dataclass(frozen=True)
class Passage:
    """A paragraph or a fold of the redline.

    Args:
        number: of its change, from 1; 0 for what did not change.
        is_first: it is the first paragraph of its change; of what was moved, of either of its two places.
        is_again: it is in the second of these places.
        inside: of a line that was moved here, what changed in it.
    """

    item: Paragraph | Fold
    number: int = 0
    is_first: bool = False
    is_again: bool = False
    inside: tuple[Segment, ...] = ()

    @property
    def is_fold(self) -> bool:
        return isinstance(self.item, Fold)

    @property
    def change(self) -> int:
        """Return the number of the change that begins here; 0 elsewhere."""
        return self.number if self.is_first and not self.is_again else 0

    @property
    def moved(self) -> str:
        """Return whether its line was moved `from` here or `to` here; empty for all others."""
        if not isinstance(self.item, Paragraph) or not self.item.move or self.item.is_blank:
            return ""
        return "from" if self.item.after_line is None else "to"


@dataclass(frozen=True)
class TableRow:
    """A row of the side-by-side table; `skipped` of them stand in this one's place when it is not zero.

    Args:
        inside: of a line that was moved here, what changed in it.
    """

    row: DiffRow | None
    skipped: int = 0
    changes: tuple[int, ...] = ()
    inside: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Redline:
    """One text become another, as passages; `changes` counts its hunks.

    Args:
        rendered: the same laid out as Markdown; None where it was not asked for, or a text is too long for it.
    """

    passages: tuple[Passage, ...]
    changes: int
    rendered: tuple[RenderedPassage, ...] | None = None


@dataclass(frozen=True)
class ChangeShown:
    """The change in one view; only what that view needs is filled in.

    Args:
        since: for a conflict, what became of the block since the proposal's base.
    """

    view: DiffMode
    redline: Redline | None = None
    since: Redline | None = None
    table: tuple[TableRow, ...] = ()
    text: str = ""
    changes: int = 0

    @property
    def is_laid_out(self) -> bool:
        """Whether both redlines are shown as Markdown: one of the two alone would be hard to compare."""
        return all(each.rendered is not None for each in (self.redline, self.since) if each)


def change_shown(review: Review, view: DiffMode, *, unfolded: bool = False) -> ChangeShown:
    """Lay the change of `review` out.

    Args:
        unfolded: show the unchanged lines of the table too.
    """
    if view is DiffMode.INLINE:
        line = laid_out(review.before_text, review.after_text)
        since = _since(review)
        if since and review.block:
            since = laid_out(review.revision.base_text, review.block.body)
        return ChangeShown(view, redline=line, since=since, changes=line.changes)
    line = redline(review.segments)
    if view is DiffMode.RESULT:
        return ChangeShown(view, text=review.after_text, changes=line.changes)
    if view is DiffMode.SIDE:
        segments = worddiff.with_replaced_paragraphs(review.segments)
        table = _table(worddiff.side_by_side(segments), _places(segments), unfolded=unfolded)
        return ChangeShown(view, redline=line, table=table, changes=line.changes)
    return ChangeShown(view, redline=line, since=_since(review), changes=line.changes)


def laid_out(before: str, after: str) -> Redline:
    """Return the redline of two texts with the same laid out as Markdown, unless a text is too long for it."""
    # Tables are named in the language of the page.
    return compared(before, after).once(("laid out", get_language()), lambda: _laid_out(before, after))


def _laid_out(before: str, after: str) -> Redline:
    line = redline(compared(before, after).segments)
    items: list[Paragraph] = []
    numbers: list[int] = []
    for passage in line.passages:
        paragraphs = passage.item.paragraphs if isinstance(passage.item, Fold) else (passage.item,)
        items += paragraphs
        numbers += [passage.number] * len(paragraphs)
    try:
        return replace(line, rendered=rendered_redline(before, after, items, numbers))
    except TooLong:
        return line


def redline(segments: Iterable[Segment]) -> Redline:
    """Return the changed paragraphs with one unchanged one around each; the others folded."""
    items = worddiff.redlined(segments)
    numbers = worddiff.hunk_numbers(items)
    inside = worddiff.changes_inside(items)
    passages: list[Passage] = []
    changes = at = 0
    of_moves: set[tuple[int, bool]] = set()
    for item in worddiff.fold(items):
        if isinstance(item, Fold):
            passages.append(Passage(item))
            at += len(item.paragraphs)
            continue
        number, is_from = numbers[at], item.after_line is None
        is_again = bool(item.move) and (number, not is_from) in of_moves
        is_first = number > changes
        if item.move:
            is_first = not item.is_blank and (number, is_from) not in of_moves
        if item.move and not item.is_blank:
            of_moves.add((number, is_from))
        passages.append(Passage(item, number, is_first, is_again, inside.get(item.after_line, ()) if item.move else ()))
        changes = max(changes, number)
        at += 1
    return Redline(tuple(passages), changes)


@dataclass(frozen=True)
class _Places:
    """Return the numbers of the redline's changes by line of the text before and of the text after."""

    before: Mapping[int | None, int]
    after: Mapping[int | None, int]
    inside: Mapping[int | None, tuple[Segment, ...]]

    def of(self, row: DiffRow) -> set[int]:
        """Return the numbers of the changes that a row of the table belongs to: its two sides may be of two."""
        return {self.before.get(row.left_line, 0), self.after.get(row.right_line, 0)} - {0}


def _places(segments: Iterable[Segment]) -> _Places:
    before: dict[int | None, int] = {}
    after: dict[int | None, int] = {}
    items = worddiff.redlined(segments)
    for item, place in zip(items, worddiff.hunk_numbers(items), strict=True):
        if place:
            before[item.before_line] = after[item.after_line] = place
    before.pop(None, None)
    after.pop(None, None)
    return _Places(before, after, worddiff.changes_inside(items))


def _since(review: Review) -> Redline | None:
    if review.proposal.is_decided or review.state != Mergeability.CONFLICT or review.block is None:
        return None
    if review.block.body == review.revision.base_text:
        return None
    return redline(compared(review.revision.base_text, review.block.body).segments)


def _table(rows: Sequence[DiffRow], places: _Places, *, unfolded: bool) -> tuple[TableRow, ...]:
    near: set[int] = set()
    for index, row in enumerate(rows):
        if row.changed or unfolded:
            near.update(range(index - _CONTEXT_ROWS, index + _CONTEXT_ROWS + 1))
    shown: list[TableRow] = []
    skipped = 0
    begun: set[int] = set()
    for index, row in enumerate(rows):
        if index not in near:
            skipped += 1
            continue
        if skipped:
            shown.append(TableRow(None, skipped))
            skipped = 0
        numbers = places.of(row) if row.changed else set()
        inside = places.inside.get(row.right_line, ())
        shown.append(TableRow(row, changes=tuple(sorted(numbers - begun)), inside=inside))
        begun |= numbers
    if skipped:
        shown.append(TableRow(None, skipped))
    return tuple(shown)


# -- where the changes are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangeMark:
    """A change in the map: where it begins and how high it is, in percent of the whole, and what it does.

    Of what was moved there are two with one number, and `is_again` is the lower one.
    """

    number: int
    top: float
    height: float
    adds: bool
    removes: bool
    moves: bool = False
    is_again: bool = False


def change_map(passages: Sequence[Passage]) -> tuple[ChangeMark, ...]:
    """Return the marks of a redline's changes; none for a short text."""
    found: dict[tuple[int, str, bool], tuple[int, int, set[str]]] = {}
    at = length = 0
    for passage in passages:
        paragraphs = passage.item.paragraphs if isinstance(passage.item, Fold) else (passage.item,)
        start = at
        at += sum(map(_weight, paragraphs))
        length += sum(len(paragraph.text) for paragraph in paragraphs)
        if isinstance(passage.item, Paragraph) and passage.number and not (passage.item.move and passage.item.is_blank):
            place = passage.number, passage.moved, passage.is_again
            begun, _end, kinds = found.get(place, (start, at, set[str]()))
            found[place] = (begun, at, kinds | {segment.kind for segment in passage.item.segments})
    if length < LONG or len(found) < SEVERAL:
        return ()
    return tuple(
        ChangeMark(
            number=number,
            top=round(min(100 * start / at, 100 - _LOWEST), 2),
            height=round(max(100 * (end - start) / at, _LOWEST), 2),
            adds="added" in kinds,
            removes="removed" in kinds,
            moves=bool(moved),
            is_again=is_again,
        )
        for (number, moved, is_again), (start, end, kinds) in found.items()
    )


def _weight(paragraph: Paragraph) -> int:
    return len(paragraph.text) + _LINE
