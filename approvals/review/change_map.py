"""Where the changes of a text are in it: the strip beside a long one, with a link for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from approvals.review.diff_mode import Passage
from memory_app.text.worddiff import Fold, Paragraph

#: Characters of a text, and changes in it, from which on a map says more than the text does by itself.
LONG, SEVERAL = 2_000, 2
#: A line or a fold weighs something, however short; and a bar is as high as one can see, in percent.
_LINE, _LOWEST = 40, 0.8


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
