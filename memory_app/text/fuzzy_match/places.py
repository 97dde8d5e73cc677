"""Where in a folded text something like a folded needle may be, and where exactly it begins and ends there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

# What the text is searched for: at most so many pieces of the needle, of which the rarest few are used.
_MOST_TRIED = 48
_MOST_ANCHORS = 16
_MOST_HITS = 300

# So much of the needle's head and tail is laid on the text to find where the passage begins and ends.
_EDGE = 48
_MOST_SLACK = 120


@dataclass(frozen=True, slots=True)
class Anchor:
    """A piece of the needle, and where in the needle it is."""

    text: str
    offset: int


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


def runs(needle: str, length: int) -> list[Anchor]:
    """Runs of so many characters, from all over the needle."""
    last = len(needle) - length
    if last < 0:
        return []
    step = max(last // _MOST_TRIED, 1)
    return [Anchor(needle[at : at + length], at) for at in range(0, last + 1, step)]


def longest_and_spread(words: Iterable[Anchor]) -> list[Anchor]:
    """Some of the words: the longest, which are likely to be rare, and some from everywhere."""
    distinct = list({word.text: word for word in words}.values())
    if len(distinct) <= _MOST_TRIED:
        return distinct
    half = _MOST_TRIED // 2
    longest = sorted(distinct, key=lambda word: -len(word.text))[:half]
    return longest + distinct[:: len(distinct) // half]


def places(text: str, needle: str, anchors: Iterable[Anchor]) -> Iterator[MatchSpan]:
    """Where several of the rarest anchors lie as they do in the needle, the likeliest place first."""
    hits = _hits(text, anchors)
    # An insertion shifts what follows, so anchors need not agree exactly on where the needle would begin. Each counts
    # for two neighbouring stretches, or two that nearly agree could fall on either side of a border.
    width = max(len(needle) // 4, 12)
    votes: dict[int, float] = defaultdict(float)
    agreeing: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for at, offset, weight in hits:
        stretch = (at - offset) // width
        for each in (stretch, stretch - 1):
            votes[each] += weight
            agreeing[each].append((offset, at))
    seen = set()
    for stretch in sorted(votes, key=lambda each: (-votes[each], each)):
        first, last = min(agreeing[stretch]), max(agreeing[stretch])
        if (first, last) not in seen:
            seen.add((first, last))
            rest = len(needle) - last[0]
            yield MatchSpan(
                start=first[1] - first[0],
                start_slack=min(12 + first[0] // 2, _MOST_SLACK),
                end=last[1] + rest,
                end_slack=min(12 + rest // 2, _MOST_SLACK),
            )


def _hits(text: str, anchors: Iterable[Anchor]) -> Iterator[tuple[int, int, float]]:
    """Occurrences of the rarest anchors: where, the anchor's offset in the needle, and what the hit is worth."""
    counted = [(text.count(anchor.text), -len(anchor.text), anchor.offset, anchor.text) for anchor in anchors]
    left = _MOST_HITS
    for count, _, offset, wanted in sorted(item for item in counted if item[0])[:_MOST_ANCHORS]:
        for at in islice(_occurrences(text, wanted), left):
            left -= 1
            yield at, offset, 1 / count


def _occurrences(text: str, wanted: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + len(wanted))


def best_start(text: str, needle: str, place: MatchSpan) -> int:
    """Where the passage begins: where the needle's head fits best."""
    low = max(place.start - place.start_slack, 0)
    window = text[low : max(place.start, 0) + _EDGE + place.start_slack]
    from_end = _best_end(window[::-1], needle[:_EDGE][::-1], low + len(window) - place.start)
    return low + len(window) - from_end


def best_end(text: str, needle: str, place: MatchSpan) -> int:
    """Where the passage ends: where the needle's tail fits best."""
    low = max(place.end - _EDGE - place.end_slack, 0)
    window = text[low : max(place.end + place.end_slack, 0)]
    return low + _best_end(window, needle[-_EDGE:], place.end - low)


def _best_end(window: str, wanted: str, expected: int) -> int:
    """Where in `window` the substring ends that takes fewest edits to become `wanted` (Sellers' algorithm).

    Of equally good ends one that is a letter of both, and closest to `expected`.
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
