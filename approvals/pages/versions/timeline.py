"""The changes of a block as a strip: a bar for each, as high as it changed words, by who made it.

Belongs here: which versions are one bar, how high each is, and where it leads. Not here: markup (templates) and the
numbers of words (`memory_app.reads.blame`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import log1p
from urllib.parse import urlencode

from django.utils.timezone import localtime

from approvals.models import Approval, Proposal
from approvals.pages.blocks import HistoryEntry, history_entries
from approvals.pages.versions.authors import ChangeBy
from memory_app.models import Change
from memory_app.reads import BlockBlame
from memory_app.text.blame import WordCount

#: Bars in a strip; of more versions several share one, which leads to a strip of them alone.
MOST_BARS = 40
#: Pixels: a bar with its margins, at least as wide as a target has to be; the room above the base line and below it.
NARROWEST, WIDEST, ABOVE, BELOW = 24, 48, 56, 28
#: What a strip takes as long as its bars get no narrower, and the room for a date below it.
_FULL, _DATE = NARROWEST * MOST_BARS, 100
_HEAD, _DATES = 14, 20
_LEAST = 3
_AS_PROPOSED = (Change.Action.APPROVED, Change.Action.APPLIED)


@dataclass(frozen=True)
class BarPart:
    """The part of a bar that one kind of author has: a rectangle above the base line, and one below it."""

    by: ChangeBy
    count: int
    y: float
    above: float
    below_y: float
    below: float


@dataclass(frozen=True)
class Bar:
    """One change, or several in a row.

    Args:
        first, last: the numbers of the versions, counted from 1.
        entry: the change, where it is one.
        x: the left edge of its column.
        top: where its highest part ends.
        is_current: whether it has the version that is shown.
        end: "a" or "b" where it has an end of the comparison.
    """

    first: int
    last: int
    x: int
    width: int
    href: str
    words: WordCount
    at: datetime
    since: datetime
    parts: tuple[BarPart, ...]
    entry: HistoryEntry | None = None
    is_current: bool = False
    end: str = ""

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def top(self) -> float:
        return min(part.y for part in self.parts)

    @property
    def middle(self) -> int:
        return self.x + self.width // 2

    @property
    def by(self) -> ChangeBy:
        return self.parts[0].by


@dataclass(frozen=True)
class Tick:
    """A date below the strip."""

    x: int
    at: datetime
    anchor: str


@dataclass(frozen=True)
class Strip:
    """All bars, the oldest first.

    Args:
        versions: how many the block has.
        first, last: those that are in the strip, counted from 1.
        between: left edge and width of what is compared.
        is_one_day: whether all of it happened within a day, so that times tell more than dates.
        is_picking: whether a bar leads to a comparison with the version picked before.
    """

    bars: tuple[Bar, ...]
    versions: int
    first: int
    last: int
    kinds: tuple[ChangeBy, ...]
    ticks: tuple[Tick, ...]
    between: tuple[int, int] | None = None
    is_one_day: bool = False
    is_picking: bool = False

    @property
    def width(self) -> int:
        return sum(bar.width for bar in self.bars)

    @property
    def column(self) -> int:
        """Return the height of a column, without the dates below it."""
        return _HEAD + ABOVE + BELOW + _LEAST

    @property
    def height(self) -> int:
        return self.column + _DATES

    @property
    def base(self) -> int:
        return _HEAD + ABOVE

    @property
    def is_part(self) -> bool:
        return self.last - self.first + 1 < self.versions


@dataclass(frozen=True)
class StripChoice:
    """What an address chooses in a strip: commits of the block's versions, empty for none.

    Args:
        window: the numbers of the first and the last version to show; None for all.
        shown: the version that is shown.
        picked: the one that the next is to be compared with.
        ends: the two that are compared.
    """

    window: tuple[int, int] | None = None
    shown: str = ""
    picked: str = ""
    ends: tuple[str, str] = ("", "")


def window_of(text: str) -> tuple[int, int] | None:
    """Return the numbers of `12-40`, as addresses have them; None for anything else."""
    first, dash, last = text.partition("-")
    if not dash or not all(each.isascii() and each.isdigit() and len(each) < 7 for each in (first, last)):
        return None
    return (int(first), int(last)) if 0 < int(first) <= int(last) else None


def strip_of(found: BlockBlame, choice: StripChoice) -> Strip | None:
    """Return the strip of a block's changes; None where there is none."""
    if not found.changes:
        return None
    versions = len(found.changes)
    first, last = choice.window or (1, versions)
    if first > versions:
        first, last = 1, versions
    last = min(last, versions)
    counts = _words(found.changes, found.counts)
    commits = {change.commit: number for number, change in enumerate(found.changes, 1)}
    groups = _groups(first, last)
    heights = _Heights(max((_sum(counts, *group) for group in groups), key=lambda each: max(each.added, each.removed)))
    width = min(WIDEST, max(NARROWEST, _FULL // len(groups)))
    alone = [start for start, end in groups if start == end]
    entries = dict(zip(alone, history_entries([found.changes[start - 1] for start in alone]), strict=True))
    bars = tuple(
        _bar(
            found, choice, commits, group, (place * width, width), _sum(counts, *group), heights, entries.get(group[0])
        )
        for place, group in enumerate(groups)
    )
    ends = sorted(bar.middle for bar in bars if bar.end)
    return Strip(
        bars=bars,
        versions=versions,
        first=first,
        last=last,
        kinds=tuple(by for by in ChangeBy if any(part.by == by for bar in bars for part in bar.parts)),
        ticks=_ticks(bars),
        between=(ends[0], ends[-1] - ends[0]) if ends else None,
        is_one_day=localtime(bars[0].since).date() == localtime(bars[-1].at).date(),
        is_picking=choice.picked in commits,
    )


def _groups(first: int, last: int) -> list[tuple[int, int]]:
    """Return which versions share a bar. The newest bars are full: what happened lately is seen best."""
    size = -(-(last - first + 1) // MOST_BARS)
    starts = range(last - size + 1, first - size, -size)
    return [(max(first, start), start + size - 1) for start in reversed(starts)]


def _words(changes: Sequence[Change], counts: Sequence[WordCount]) -> list[WordCount]:
    """Return the words each change added and removed.

    What was approved as proposed has the numbers that its proposal's page has; they differ where words only moved.
    """
    asked = [change.proposal_id if change.action in _AS_PROPOSED else None for change in changes]
    as_proposed = Proposal.objects.filter(
        pk__in={each for each in asked if each is not None}, approval__in=("", Approval.AS_PROPOSED)
    )
    known = {
        proposal: WordCount(added, removed)
        for proposal, added, removed in as_proposed.values_list("pk", "words_added", "words_removed")
    }
    return [known.get(proposal or 0, count) for proposal, count in zip(asked, counts, strict=True)]


def _sum(counts: Sequence[WordCount], first: int, last: int) -> WordCount:
    some = counts[first - 1 : last]
    return WordCount(sum(each.added for each in some), sum(each.removed for each in some))


class _Heights:
    """Heights by logarithm: a correction of two words is seen beside a text of two thousand."""

    def __init__(self, largest: WordCount) -> None:
        self._scale = log1p(max(largest.added, largest.removed, 1))

    def of(self, words: int, room: int) -> float:
        return round(_LEAST + (room - _LEAST) * log1p(words) / self._scale, 1) if words else 0


def _bar(
    found: BlockBlame,
    choice: StripChoice,
    commits: dict[str, int],
    group: tuple[int, int],
    column: tuple[int, int],
    words: WordCount,
    heights: _Heights,
    entry: HistoryEntry | None,
) -> Bar:
    first, last = group
    some = found.changes[first - 1 : last]
    if entry:
        entry = replace(entry, previous=found.changes[first - 2].commit if first > 1 else "")
    ends = [name for name, commit in zip("ab", choice.ends, strict=True) if first <= commits.get(commit, 0) <= last]
    return Bar(
        first=first,
        last=last,
        x=column[0],
        width=column[1],
        href=_href(some, group, choice, commits),
        words=words,
        at=some[-1].at,
        since=some[0].at,
        parts=_parts(Counter(map(ChangeBy.of, some)), words, heights),
        entry=entry,
        is_current=first <= commits.get(choice.shown or choice.picked, 0) <= last,
        end=ends[0] if ends else "",
    )


def _href(some: Sequence[Change], group: tuple[int, int], choice: StripChoice, commits: dict[str, int]) -> str:
    kept = {"strip": "-".join(map(str, choice.window))} if choice.window else {}
    if len(some) > 1:
        chosen = {"from": choice.picked} if choice.picked else {}
        return f"?{urlencode({**chosen, 'strip': f'{group[0]}-{group[1]}'})}#strip"
    if choice.picked in commits:
        older, newer = sorted((choice.picked, some[0].commit), key=lambda commit: commits[commit])
        return f"?{urlencode({'a': older, 'b': newer, **kept})}#comparison"
    return f"?{urlencode({'v': some[0].commit, **kept})}#version"


def _parts(kinds: Counter[ChangeBy], words: WordCount, heights: _Heights) -> tuple[BarPart, ...]:
    """Return a rectangle for each kind, on top of each other, those above the base line as those below it."""
    base = _HEAD + ABOVE
    above, below = heights.of(words.added, ABOVE), heights.of(words.removed, BELOW)
    total = kinds.total()
    parts = []
    y, below_y = float(base), float(base)
    for by in ChangeBy:
        if share := kinds[by] / total:
            y -= above * share
            parts.append(
                BarPart(by, kinds[by], round(y, 1), round(above * share, 1), round(below_y, 1), round(below * share, 1))
            )
            below_y += below * share
    return tuple(parts)


def _ticks(bars: Sequence[Bar]) -> tuple[Tick, ...]:
    """Return the first date, and as many others with the last as there is room for."""
    last = len(bars) - 1
    room = min(6, sum(bar.width for bar in bars) // _DATE)
    places = sorted({round(last * step / (room - 1)) for step in range(room)}) if room > 1 else [0]
    return tuple(_tick(bars[place], is_first=place == 0, is_last=place == last) for place in places)


def _tick(bar: Bar, *, is_first: bool, is_last: bool) -> Tick:
    if is_first:
        return Tick(bar.x, bar.since, "start")
    return Tick(bar.x + bar.width, bar.at, "end") if is_last else Tick(bar.middle, bar.at, "middle")
