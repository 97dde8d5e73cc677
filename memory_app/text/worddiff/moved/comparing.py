"""Comparing two texts of which lines may have been moved: the others are compared in order, and these put back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import dropwhile, pairwise, takewhile
from typing import NamedTuple

from memory_app.text.worddiff.closing import closed
from memory_app.text.worddiff.compare import diff_in_order
from memory_app.text.worddiff.ends import common_ends
from memory_app.text.worddiff.moved.lines import moved_lines
from memory_app.text.worddiff.segments import Kind, Segment, joined


def diff(before: str, after: str) -> tuple[Segment, ...]:
    """Return the segments that lead from `before` to `after`, in reading order.

    Between two that are the same, what was moved stands first, then what was removed, then what was added. The same
    and removed segments joined are `before`; the same and added ones joined are `after`; none is empty and no two
    neighbours are of one kind and one move. A move has one segment of either kind, which is whole lines. The same texts
    always give the same segments.
    """
    head, tail = common_ends(before, after)
    old, new = _lines(before[head : len(before) - tail]), _lines(after[head : len(after) - tail])
    moves = moved_lines(old, new) if len(old) > 1 and len(new) > 1 else []
    if not moves:
        return diff_in_order(before, after)
    gone = [_Lines(move.start, move.length, number) for number, move in enumerate(moves, 1)]
    come = sorted(_Lines(move.new_start, move.length, number) for number, move in enumerate(moves, 1))
    rest, taken = _taken_out(old, gone, head, "removed")
    new_rest, put = _taken_out(new, come, head, "added")
    ends = before[:head], before[len(before) - tail :]
    segments = diff_in_order(rest.join(ends), new_rest.join(ends))
    return _with_whole_moves(_put_back(segments, taken, put))


class _Lines(NamedTuple):
    first: int
    length: int
    move: int


class _Piece(NamedTuple):
    """Moved lines, and where they stood among those that were not: before which character."""

    at: int
    segment: Segment


def _lines(text: str) -> list[str]:
    """Return the lines with their ends; the last one has none when the text ends without."""
    *lines, last = text.split("\n")
    return [*(f"{line}\n" for line in lines), *([last] if last else [])]


def _taken_out(lines: Sequence[str], moved: Sequence[_Lines], head: int, kind: Kind) -> tuple[str, list[_Piece]]:
    """Return the text of the lines that were not moved, and those that were; `head` characters stand in front."""
    rest: list[str] = []
    pieces: list[_Piece] = []
    at = 0
    for first, length, move in moved:
        rest += lines[at:first]
        head += sum(map(len, lines[at:first]))
        at = first + length
        pieces.append(_Piece(head, Segment(kind, "".join(lines[first:at]), move)))
    return "".join((*rest, *lines[at:])), pieces


def _put_back(segments: Iterable[Segment], gone: Sequence[_Piece], come: Sequence[_Piece]) -> tuple[Segment, ...]:
    """Return the segments with the moved lines where they were and where they are."""
    found: list[Segment] = []
    removed, added = _Run(gone), _Run(come)
    for segment in segments:
        if segment.kind == "removed":
            removed.add(segment)
        elif segment.kind == "added":
            added.add(segment)
        else:
            length = len(segment.text)
            cuts = sorted({0, length, *removed.cuts(length), *added.cuts(length)})
            for start, end in pairwise(cuts):
                found += (*_in_order(removed.taken(), added.taken()), Segment("same", segment.text[start:end]))
                removed.at += end - start
                added.at += end - start
    return joined((*found, *_in_order(removed.taken(), added.taken())))


def _in_order(removed: Sequence[Segment], added: Sequence[Segment]) -> Iterator[Segment]:
    """Yield what was moved from and to the beginning of a run first: the line after it may be changed inside."""
    for first in (removed, added):
        yield from takewhile(lambda part: part.move, first)
    for rest in (removed, added):
        yield from dropwhile(lambda part: part.move, rest)


class _Run:
    """What was removed, or what was added, between two stretches that are the same.

    Attributes:
        at: how many characters of the text without the moved lines were seen.
    """

    def __init__(self, moved: Sequence[_Piece]) -> None:
        self.at = 0
        self._moved = deque(moved)
        self._parts: list[Segment] = []

    def add(self, segment: Segment) -> None:
        """Add a part, with the lines that were moved from or to places in it."""
        cuts = [*self.cuts(len(segment.text)), len(segment.text)]
        start = 0
        for end in cuts:
            self._put_in()
            self._parts.append(Segment(segment.kind, segment.text[start:end]))
            self.at += end - start
            start = end

    def cuts(self, length: int) -> list[int]:
        """Return the places inside the next characters from or to which lines were moved."""
        near = takewhile(lambda piece: piece.at < self.at + length, self._moved)
        return sorted({piece.at - self.at for piece in near} - {0})

    def taken(self) -> Sequence[Segment]:
        """Return the parts up to here, blank lines as part of the move beside them, and forget them."""
        self._put_in()
        parts = joined(self._parts)
        self._parts = []
        for number, part in enumerate(parts):
            if not part.move and part.text.endswith("\n") and not part.text.strip():
                beside = (*parts[:number][-1:], *parts[number + 1 : number + 2])
                move = next((each.move for each in beside if each.move), 0)
                parts = (*parts[:number], replace(part, move=move), *parts[number + 1 :])
        return joined(parts)

    def _put_in(self) -> None:
        while self._moved and self._moved[0].at <= self.at:
            self._parts.append(self._moved.popleft().segment)


def _with_whole_moves(segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
    """Return the segments with those moves only of which both halves stand on lines of their own, apart.

    The others are removals and additions: one could not be taken without what stands on the same line. Where nothing is
    left between both halves, since the lines there were added or removed themselves, the line was changed in its place.
    """
    torn: set[int] = set()
    at_start = {"removed": True, "added": True}
    for paragraph in closed(segments)[0]:
        if not (paragraph.move and all(at_start.values())):
            torn.update(segment.move for segment in paragraph.segments)
        for segment in paragraph.segments:
            for side in at_start:
                if segment.kind in ("same", side):
                    at_start[side] = segment.text.endswith("\n")
    in_place = {one.move for one, other in pairwise(segments) if one.move == other.move} - {0}
    torn -= {0}
    if not torn and not in_place:
        return segments
    found: list[Segment] = []
    for segment in segments:
        if segment.move not in torn | in_place:
            found.append(segment)
        elif segment.move in in_place and found and segment.kind == "added" and found[-1].kind == "removed":
            found += diff_in_order(found.pop().text, segment.text)
        else:
            found.append(replace(segment, move=0))
    return joined(found)
