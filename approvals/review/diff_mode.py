"""A proposal's change laid out for one of the page's views: plain values for the templates to draw.

What the change is comes from `review`; comparing texts is `memory_app.text.worddiff`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache
from itertools import groupby
from typing import Any

from django.utils.translation import get_language

from approvals.markdown.fragments import drawn_in
from approvals.markdown.redline import RenderedPassage, rendered_redline
from approvals.markdown.words import TooLong
from approvals.models import Mergeability
from approvals.review.presentation import CACHES_OF_TEXTS, TEXTS_KEPT, Review, compared
from memory_app.text import worddiff
from memory_app.text.worddiff import Fold, Paragraph, Segment

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
class Redline:
    """One text become another, as passages; `changes` counts its hunks.

    Args:
        rendered: the same laid out as Markdown; None where it was not asked for, or a text is too long for it.
    """

    passages: tuple[Passage, ...]
    changes: int
    rendered: tuple[RenderedPassage, ...] | None = None


def change_shown(review: Review, view: DiffMode, *, unfolded: bool = False) -> dict[str, Any]:
    """Return what the page shows of the change in one view: how many `changes` it has, and what that view needs.

    `redline` is the change; `since`, for a conflict, what became of the block since the proposal's base. Both
    are shown as Markdown, or neither is: one alone would be hard to compare.

    Args:
        unfolded: show the unchanged lines of the table too.
    """
    if view is DiffMode.INLINE:
        line, since = laid_out(review.before_text, review.after_text), _since(review)
        is_laid_out = all(each.rendered is not None for each in (line, since) if each)
        return {"view": view, "redline": line, "since": since, "is_laid_out": is_laid_out, "changes": line.changes}
    line = redline(review.segments)
    if view is DiffMode.RESULT:
        return {"view": view, "text": review.after_text, "changes": line.changes}
    shown = {"view": view, "redline": line, "changes": line.changes}
    if view is DiffMode.SIDE:
        return shown | {"table": list(_table(review.segments, unfolded=unfolded))}
    return shown | {"since": _since(review)}


def laid_out(before: str, after: str) -> Redline:
    """Return the redline of two texts with the same laid out as Markdown, unless a text is too long for it."""
    return _laid_out(before, after, get_language())  # tables are named in the language of the page


@lru_cache(maxsize=TEXTS_KEPT)
def _laid_out(before: str, after: str, _language: str | None) -> Redline:
    segments = compared(before, after)
    line, items = redline(segments), worddiff.redlined(segments)
    try:
        return replace(line, rendered=rendered_redline(before, after, items, worddiff.hunk_numbers(items)))
    except TooLong:
        return line


def forget_texts() -> None:
    """Keep none of the texts any longer: the process removes texts."""
    for kept in (*CACHES_OF_TEXTS, _laid_out, drawn_in):
        kept.cache_clear()


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


def _since(review: Review) -> Redline | None:
    """Return what became of the block since the base of a proposal that no longer fits."""
    if review.proposal.is_decided or review.state != Mergeability.CONFLICT or review.block is None:
        return None
    base, now = review.revision.base_text, review.block.body
    return laid_out(base, now) if base != now else None


def _table(segments: Iterable[Segment], *, unfolded: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of the side-by-side table.

    Each is a `row` with the numbers of the `changes` that begin in it, and, of a line that was moved here, what changed
    `inside`; or it says how many unchanged rows are `skipped`.
    """
    segments = worddiff.with_replaced_paragraphs(segments)
    items = worddiff.redlined(segments)
    inside = worddiff.changes_inside(items)
    left: dict[int | None, int] = {}
    right: dict[int | None, int] = {}
    for item, number in zip(items, worddiff.hunk_numbers(items), strict=True):
        if number:
            left[item.before_line] = right[item.after_line] = number
    left[None] = right[None] = 0
    rows = worddiff.side_by_side(segments)
    near = {
        index + distance
        for index, row in enumerate(rows)
        if row.changed or unfolded
        for distance in range(-_CONTEXT_ROWS, _CONTEXT_ROWS + 1)
    }
    begun: set[int] = {0}
    for is_near, group in groupby(enumerate(rows), key=lambda each: each[0] in near):
        if not is_near:
            yield {"skipped": len(list(group))}
            continue
        for _index, row in group:
            # The two sides of a row may be of two changes.
            numbers = {left.get(row.left_line, 0), right.get(row.right_line, 0)} if row.changed else set()
            yield {"row": row, "changes": sorted(numbers - begun), "inside": inside.get(row.right_line, ())}
            begun |= numbers


def change_map(passages: Sequence[Passage]) -> list[dict[str, Any]]:
    """Return the marks of a redline's changes beside it, from top to bottom; none for a short text.

    Each has the `number` of its change, where it begins and how high it is in percent of the whole, and whether it
    `adds`, `removes` or `moves`. Of what was moved there are two with one number; `is_again` is the lower one.
    """
    found: dict[tuple[int, str, bool], tuple[int, int, set[str]]] = {}
    at = length = 0
    for passage in passages:
        paragraphs = passage.item.paragraphs if isinstance(passage.item, Fold) else (passage.item,)
        start = at
        length += sum(len(paragraph.text) for paragraph in paragraphs)
        at = start + sum(len(paragraph.text) + _LINE for paragraph in paragraphs)
        if isinstance(passage.item, Paragraph) and passage.number and not (passage.item.move and passage.item.is_blank):
            place = passage.number, passage.moved, passage.is_again
            begun, _end, kinds = found.get(place, (start, at, set[str]()))
            found[place] = (begun, at, kinds | {segment.kind for segment in passage.item.segments})
    if length < LONG or len(found) < SEVERAL:
        return []
    return [
        {
            "number": number,
            "top": round(min(100 * start / at, 100 - _LOWEST), 2),
            "height": round(max(100 * (end - start) / at, _LOWEST), 2),
            "adds": "added" in kinds,
            "removes": "removed" in kinds,
            "moves": bool(moved),
            "is_again": is_again,
        }
        for (number, moved, is_again), (start, end, kinds) in found.items()
    ]
