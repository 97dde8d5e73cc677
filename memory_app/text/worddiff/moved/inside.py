"""What changed inside the lines that were moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memory_app.text.worddiff.compare import diff_in_order
from memory_app.text.worddiff.layout import Paragraph
from memory_app.text.worddiff.segments import Segment


@dataclass(frozen=True, slots=True)
class MovedLine:
    """A line of a move, as it was and as it is. Line numbers are from 1.

    Attributes:
        segments: from the one text to the other, without line ends.
    """

    move: int
    before_line: int
    after_line: int
    segments: tuple[Segment, ...]


def moved_lines_of(items: Sequence[Paragraph]) -> tuple[MovedLine, ...]:
    """Return the lines with something to read that a redline's moves took and put elsewhere, in order of the moves."""
    gone: defaultdict[int, list[Paragraph]] = defaultdict(list)
    come: defaultdict[int, list[Paragraph]] = defaultdict(list)
    for item in items:
        if item.move and not item.is_blank:
            (come if item.before_line is None else gone)[item.move].append(item)
    return tuple(
        MovedLine(move, was.before_line or 0, now.after_line or 0, diff_in_order(*map(_words, (was, now))))
        for move in sorted(gone)
        for was, now in zip(gone[move], come[move], strict=True)
    )


def _words(item: Paragraph) -> str:
    return item.text.rstrip("\r\n")
