"""A proposal's change laid out for one of the page's views: plain values for the templates to draw.

What the change is comes from `review`; comparing texts is `memory_app.text.worddiff`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from approvals.markdown.passages import RenderedPassage
from approvals.markdown.redline import TooLong, rendered_redline
from approvals.models import Mergeability
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
    """A paragraph or a fold of the redline. `change` numbers the first paragraph of each hunk, from 1."""

    item: Paragraph | Fold
    change: int | None = None

    @property
    def is_fold(self) -> bool:
        return isinstance(self.item, Fold)


@dataclass(frozen=True)
class TableRow:
    """A row of the side-by-side table; `skipped` of them stand in this one's place when it is not zero."""

    row: DiffRow | None
    skipped: int = 0
    change: int | None = None


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
    line = redline(review.segments)
    if view is DiffMode.RESULT:
        return ChangeShown(view, text=review.after_text, changes=line.changes)
    if view is DiffMode.SIDE:
        segments = worddiff.with_replaced_paragraphs(review.segments)
        table = _table(worddiff.side_by_side(segments), _places(segments), unfolded=unfolded)
        return ChangeShown(view, redline=line, table=table, changes=line.changes)
    if view is DiffMode.SOURCE:
        return ChangeShown(view, redline=line, since=_since(review), changes=line.changes)
    line = with_rendered(line, review.before_text, review.after_text, unfolded=unfolded)
    since = _since(review)
    if since and review.block:
        since = with_rendered(since, review.revision.base_text, review.block.body, unfolded=unfolded)
    return ChangeShown(view, redline=line, since=since, changes=line.changes)


def with_rendered(line: Redline, before: str, after: str, *, unfolded: bool) -> Redline:
    """Return a redline with the same laid out as Markdown, unless a text is too long for it.

    Args:
        unfolded: show the unchanged rows of tables too.
    """
    items: list[Paragraph] = []
    numbers: list[int] = []
    number = 0
    for passage in line.passages:
        number = passage.change or number
        paragraphs = passage.item.paragraphs if isinstance(passage.item, Fold) else (passage.item,)
        items += paragraphs
        numbers += (number if paragraph.changed else 0 for paragraph in paragraphs)
    try:
        return replace(line, rendered=rendered_redline(before, after, items, numbers, unfolded=unfolded))
    except TooLong:
        return line


def redline(segments: Iterable[Segment]) -> Redline:
    """Return the changed paragraphs with one unchanged one around each; the others folded."""
    items = worddiff.redlined(segments)
    numbers = worddiff.hunk_numbers(items)
    passages: list[Passage] = []
    changes = at = 0
    for item in worddiff.fold(items):
        passages.append(Passage(item, numbers[at] if numbers[at] > changes else None))
        changes = max(changes, numbers[at])
        at += len(item.paragraphs) if isinstance(item, Fold) else 1
    return Redline(tuple(passages), changes)


@dataclass(frozen=True)
class _Places:
    """Return the numbers of the redline's changes by line of the text before and of the text after."""

    before: Mapping[int | None, int]
    after: Mapping[int | None, int]

    def of(self, row: DiffRow) -> int:
        """Return the number of the change that a row of the table belongs to, 0 for none; of two, the later one."""
        return max(self.before.get(row.left_line, 0), self.after.get(row.right_line, 0))


def _places(segments: Iterable[Segment]) -> _Places:
    before: dict[int | None, int] = {}
    after: dict[int | None, int] = {}
    items = worddiff.redlined(segments)
    for item, place in zip(items, worddiff.hunk_numbers(items), strict=True):
        if place:
            before[item.before_line] = after[item.after_line] = place
    before.pop(None, None)
    after.pop(None, None)
    return _Places(before, after)


def _since(review: Review) -> Redline | None:
    if review.proposal.is_decided or review.state != Mergeability.CONFLICT or review.block is None:
        return None
    if review.block.body == review.revision.base_text:
        return None
    return redline(worddiff.diff(review.revision.base_text, review.block.body))


def _table(rows: Sequence[DiffRow], places: _Places, *, unfolded: bool) -> tuple[TableRow, ...]:
    near: set[int] = set()
    for index, row in enumerate(rows):
        if row.changed or unfolded:
            near.update(range(index - _CONTEXT_ROWS, index + _CONTEXT_ROWS + 1))
    shown: list[TableRow] = []
    changes, skipped = 0, 0
    for index, row in enumerate(rows):
        if index not in near:
            skipped += 1
            continue
        if skipped:
            shown.append(TableRow(None, skipped))
            skipped = 0
        place = places.of(row) if row.changed else 0
        shown.append(TableRow(row, change=place if place > changes else None))
        changes = max(changes, place)
    if skipped:
        shown.append(TableRow(None, skipped))
    return tuple(shown)


# -- where the changes are ----------------------------------------------------------------------------


@dataclass(frozen=True)
class ChangeMark:
    """A change in the map: where it begins and how high it is, in percent of the whole, and what it does."""

    number: int
    top: float
    height: float
    adds: bool
    removes: bool


def change_map(passages: Sequence[Passage]) -> tuple[ChangeMark, ...]:
    """Return the marks of a redline's changes; none for a short text."""
    found: dict[int, tuple[int, int, set[str]]] = {}
    at = number = length = 0
    for passage in passages:
        number = passage.change or number
        paragraphs = passage.item.paragraphs if isinstance(passage.item, Fold) else (passage.item,)
        start = at
        at += sum(map(_weight, paragraphs))
        length += sum(len(paragraph.text) for paragraph in paragraphs)
        if isinstance(passage.item, Paragraph) and passage.item.changed:
            begun, _end, kinds = found.get(number, (start, at, set[str]()))
            found[number] = (begun, at, kinds | {segment.kind for segment in passage.item.segments})
    if length < LONG or len(found) < SEVERAL:
        return ()
    return tuple(
        ChangeMark(
            number=number,
            top=round(min(100 * start / at, 100 - _LOWEST), 2),
            height=round(max(100 * (end - start) / at, _LOWEST), 2),
            adds="added" in kinds,
            removes="removed" in kinds,
        )
        for number, (start, end, kinds) in found.items()
    )


def _weight(paragraph: Paragraph) -> int:
    return len(paragraph.text) + _LINE
