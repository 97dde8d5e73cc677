"""A proposal's change laid out for one of the page's views: plain values for the templates to draw.

What the change is comes from `review`; comparing texts is `memory_app.text.worddiff`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from approvals.models import Mergeability
from approvals.review.presentation import Review
from memory_app.text import worddiff
from memory_app.text.worddiff import DiffRow, Fold, Paragraph, Segment

#: Unchanged lines left standing above and below a change in the table.
_CONTEXT_ROWS = 2


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
    """One text become another, as passages; `changes` counts its hunks."""

    passages: tuple[Passage, ...]
    changes: int


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
    segments: tuple[Segment, ...] = ()
    text: str = ""
    changes: int = 0


def change_shown(review: Review, view: DiffMode, *, unfolded: bool = False) -> ChangeShown:
    """Lay the change of `review` out.

    Args:
        unfolded: show the unchanged lines of the table too.
    """
    segments = worddiff.with_replaced_paragraphs(worddiff.diff(review.before_text, review.after_text))
    line = redline(segments)
    if view is DiffMode.RESULT:
        return ChangeShown(view, text=review.after_text, changes=line.changes)
    if view is DiffMode.SIDE:
        rows = worddiff.side_by_side(segments)
        return ChangeShown(view, table=_table(rows, _places(segments), unfolded=unfolded), changes=line.changes)
    if view is DiffMode.SOURCE:
        return ChangeShown(view, segments=segments, changes=line.changes)
    return ChangeShown(view, redline=line, since=_since(review), changes=line.changes)


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
