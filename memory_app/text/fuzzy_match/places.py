"""Where in a folded text something like a folded needle may be, and where exactly it begins and ends there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel

# What the text is searched for: up to 64 letters rapidfuzz compares with 300,000 in 2 ms, longer ones take up to 100.
_PROBE = 64
# Parts of the text, each with its most similar place; they overlap, so that every place is whole in one of them.
_PART = 1_000
_MOST_OF_A_PROBE = 4
# Letters in a row that are no coincidence.
_RUN = 3

# So much of the needle's head and tail is laid on the text to find where the passage begins and ends.
_EDGE = 48
_MOST_SLACK = 120


@dataclass(frozen=True, slots=True)
class MatchSpan:
    """Where a passage should begin and end, each give or take some characters."""

    start: int
    start_slack: int
    end: int
    end_slack: int

    @property
    def window(self) -> slice:
        """The part of the text the passage is in."""
        return slice(max(self.start - self.start_slack, 0), max(self.end + self.end_slack, 0))

    def is_near(self, other: MatchSpan) -> bool:
        """Whether both are about the same passage."""
        return abs(self.start - other.start) <= 12 and abs(self.end - other.end) <= 12


def places(text: str, needle: str) -> Iterator[MatchSpan]:
    """Yield the places most similar to the needle; of a long needle, to its beginning, its middle and its end."""
    parts = [text[at : at + _PART + 2 * _PROBE] for at in range(0, len(text), _PART)]
    last = max(len(needle) - _PROBE, 0)
    for offset in dict.fromkeys((0, last // 2, last)):
        probe = needle[offset : offset + _PROBE]
        for part, _, number in process.extract(probe, parts, scorer=fuzz.partial_ratio, limit=_MOST_OF_A_PROBE):
            found = fuzz.partial_ratio_alignment(probe, part)
            if found is None or found.dest_start == found.dest_end:
                continue
            common = Indel.opcodes(
                probe[found.src_start : found.src_end], part[found.dest_start : found.dest_end]
            ).as_matching_blocks()
            runs = [run for run in common if run.size >= min(max(run.size for run in common), _RUN)]
            before = offset + found.src_start + runs[0].a
            rest = len(needle) - offset - found.src_start - runs[-1].a - runs[-1].size
            start = number * _PART + found.dest_start
            # What the needle has before its first run and after its last may be longer or shorter in the text.
            yield MatchSpan(
                start=start + runs[0].b - before,
                start_slack=min(12 + before // 2, _MOST_SLACK),
                end=start + runs[-1].b + runs[-1].size + rest,
                end_slack=min(12 + rest // 2, _MOST_SLACK),
            )


def best_start(text: str, needle: str, place: MatchSpan) -> int:
    """Return where the passage begins: where the needle's head fits best."""
    low = max(place.start - place.start_slack, 0)
    window = text[low : max(place.start, 0) + _EDGE + place.start_slack]
    from_end = _best_end(window[::-1], needle[:_EDGE][::-1], low + len(window) - place.start)
    return low + len(window) - from_end


def best_end(text: str, needle: str, place: MatchSpan) -> int:
    """Return where the passage ends: where the needle's tail fits best."""
    low = max(place.end - _EDGE - place.end_slack, 0)
    window = text[low : max(place.end + place.end_slack, 0)]
    return low + _best_end(window, needle[-_EDGE:], place.end - low)


def _best_end(window: str, wanted: str, expected: int) -> int:
    """Return where in `window` the substring ends that takes fewest edits to become `wanted` (Sellers' algorithm).

    Of equally good ends, one where the last letters agree, and the closest to `expected`.
    """
    previous = [0] * (len(window) + 1)
    for row, char in enumerate(wanted, start=1):
        left = row
        current = [left]
        for column, other in enumerate(window, start=1):
            best = previous[column - 1] + 2 * (char != other)
            if previous[column] < best:
                best = previous[column] + 1
            if left < best:
                best = left + 1
            left = best
            current.append(best)
        previous = current
    return min(
        range(len(previous)),
        key=lambda at: (previous[at], at == 0 or window[at - 1] != wanted[-1], abs(at - expected)),
    )
