"""The versions of a block as pictures: a strip of its changes, and its text by who made it say what it says.

Reads only. The walk through the versions is `memory_app.reads.blame`; drawing is the templates'.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from math import log1p
from urllib.parse import urlencode

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.timezone import localtime
from django.utils.translation import gettext_lazy as _

from approvals.markdown.rendering import on_one_line
from approvals.markdown.sentences import SentenceLink, render_sentences
from approvals.models import Approval, Proposal
from approvals.pages.blocks import HistoryEntry, history_entries
from approvals.services import BlockFields
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads import Block, BlockBlame, BlockNotFound
from memory_app.text import worddiff
from memory_app.text.blame import SentenceOrigin, WordCount, Wording
from memory_app.text.merge import Conflicted, merge, merge_fields
from memory_app.text.worddiff import Segment

# -- Whose a change of the memory is, for pictures that tell changes apart.


class ChangeBy(StrEnum):
    """Who made a change; the value is part of a class of the style sheet."""

    PERSON = "person"
    AGENT = "agent"
    AUTOMATIC = "automatic"
    UNKNOWN = "unknown"

    @classmethod
    def of(cls, change: Change | None) -> ChangeBy:
        """Return whose a change is; of None, a version the ledger does not know, nobody knows."""
        if change is None or change.action == Change.Action.RECOVERED:
            return cls.UNKNOWN
        if change.action == Change.Action.APPLIED:
            return cls.AUTOMATIC
        return cls.AGENT if change.action == Change.Action.APPROVED else cls.PERSON

    @property
    def name_shown(self) -> Promise:
        return _NAMES[self]


_NAMES = {
    ChangeBy.PERSON: _("Written by a person"),
    ChangeBy.AGENT: _("Proposed by an agent, approved"),
    ChangeBy.AUTOMATIC: _("Automatic"),
    ChangeBy.UNKNOWN: _("Author unknown"),
}


# -- The text of a block, each sentence by who proposed it, who approved it, when and why.

#: Days up to which a change has each age; what is older has the next one.
_AGES = (7, 30, 365)
_AGE_NAMES = (_("Last 7 days"), _("Last 30 days"), _("Last year"), _("Older"))


@dataclass(frozen=True)
class BlamedChange:
    """A change that some sentences come from.

    Args:
        version: its number, counted from 0.
        entry: None where the ledger does not know the version.
        age: 0 for the latest, up to 3.
        sentences: their numbers.
    """

    version: int
    by: ChangeBy
    age: int
    entry: HistoryEntry | None = None
    sentences: tuple[tuple[int, str], ...] = ()
    letters: int = 0


@dataclass(frozen=True)
class ShownWording:
    """What a sentence said from one change on, as a difference to what it said before."""

    change: BlamedChange
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class ChosenSentence:
    """A sentence that was pointed at.

    Args:
        wordings: the present one, then those before.
    """

    number: int
    change: BlamedChange
    wordings: tuple[ShownWording, ...]


@dataclass(frozen=True)
class Share:
    """A line of the legend: how much of the text is of one kind, in letters."""

    css: str
    name: str | Promise
    letters: int


@dataclass(frozen=True)
class BlamedText:
    """All that the page shows.

    Args:
        changes: those that sentences come from, the newest first.
        by_author, by_age: the two legends, without what does not occur.
    """

    html: SafeString
    changes: tuple[BlamedChange, ...]
    by_author: tuple[Share, ...]
    by_age: tuple[Share, ...]
    letters: int
    chosen: ChosenSentence | None = None


def blamed_text(found: BlockBlame, *, chosen: int | None, now: datetime, query: str = "") -> BlamedText:
    """Return the text with where its sentences come from.

    Args:
        chosen: the number of a sentence; one that is not there chooses none.
        query: kept in the sentences' links.
    """
    origin = found.origins[chosen] if chosen is not None and chosen < len(found.origins) else None
    changes = _changes(found, origin, now)
    links = []
    for number, each in enumerate(found.origins):
        change = changes[each.said.version]
        links.append(
            SentenceLink(
                text=found.text[each.start : each.end],
                href=f"?s={number}{query}#s{number}",
                css=f"said by-{change.by} age-{change.age}",
                origin=str(change.version),
                is_current=each is origin,
            )
        )
    owning = tuple(sorted((each for each in changes.values() if each.sentences), key=lambda each: -each.version))
    return BlamedText(
        html=render_sentences(links, top=2),
        changes=owning,
        by_author=tuple(
            _shares(owning, [(f"by-{by}", by.name_shown) for by in ChangeBy], lambda each: f"by-{each.by}")
        ),
        by_age=tuple(
            _shares(
                owning, [(f"age-{age}", name) for age, name in enumerate(_AGE_NAMES)], lambda each: f"age-{each.age}"
            )
        ),
        letters=sum(each.letters for each in owning),
        chosen=_chosen(found, chosen, origin, changes) if chosen is not None and origin else None,
    )


def _changes(found: BlockBlame, chosen: SentenceOrigin | None, now: datetime) -> dict[int, BlamedChange]:
    """Return the changes that sentences, and earlier wordings of the chosen one, come from, by version."""
    sentences: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    letters: defaultdict[int, int] = defaultdict(int)
    for number, each in enumerate(found.origins):
        words = found.text[each.start : each.end].strip()
        letters[each.said.version] += len(words)
        if any(map(str.isalnum, words)):
            sentences[each.said.version].append((number, on_one_line(words)))
    wanted = {*letters, *(wording.version for wording in (chosen.earlier if chosen else ()))}
    known = [version for version in sorted(wanted) if found.change(version)]
    entries = history_entries([found.changes[version] for version in known])
    shown = {}
    for version, entry in zip(known, entries, strict=True):
        previous = found.changes[version - 1].commit if version else ""
        shown[version] = BlamedChange(
            version=version,
            by=ChangeBy.of(entry.change),
            age=_age(entry.change.at, now),
            entry=replace(entry, previous=previous),
            sentences=tuple(sentences[version]),
            letters=letters[version],
        )
    for version in wanted - shown.keys():
        shown[version] = BlamedChange(
            version, ChangeBy.UNKNOWN, age=0, sentences=tuple(sentences[version]), letters=letters[version]
        )
    return shown


def _age(at: datetime, now: datetime) -> int:
    days = (now - at).days
    return sum(days >= most for most in _AGES)


def _shares(
    changes: Sequence[BlamedChange], kinds: Sequence[tuple[str, str | Promise]], kind_of: Callable[[BlamedChange], str]
) -> Iterator[Share]:
    for css, name in kinds:
        if letters := sum(each.letters for each in changes if kind_of(each) == css):
            yield Share(css, name, letters)


def _chosen(found: BlockBlame, number: int, origin: SentenceOrigin, changes: dict[int, BlamedChange]) -> ChosenSentence:
    wordings: tuple[Wording, ...] = (origin.said, *origin.earlier)
    said = [on_one_line(found.text[origin.start : origin.end])]
    said += [on_one_line(found.said_in(each)) for each in origin.earlier]
    shown = [
        ShownWording(changes[wording.version], worddiff.diff(before, after))
        for wording, (after, before) in zip(wordings, pairwise([*said, said[-1]]), strict=True)
    ]
    return ChosenSentence(number, changes[origin.said.version], tuple(shown))


# -- The changes of a block as a strip: a bar for each, as high as it changed words, by who made it.

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


# -- What somebody typed into the form of a block, put together with what changed in the block meanwhile.

#: Versions looked through for the one that a form was filled from, the newest first; each costs a read.
MOST_LOOKED_THROUGH = 20


@dataclass(frozen=True)
class PutTogether:
    """Both changes in one.

    Args:
        conflicts: in how many places both changed the same, and what was typed is kept.
    """

    fields: BlockFields
    conflicts: int


def block_as_loaded(owner: str, label: str, sha256: str) -> Block | None:
    """Return the block as it was when a form was filled from it; None where that is not among its last versions."""
    for change in reads.history(owner, TargetKind.BLOCK, label, limit=MOST_LOOKED_THROUGH) if sha256 else ():
        try:
            block = reads.block_at(owner, label, change.commit)
        except (BlockNotFound, RevisionNotFound):  # deleted and made again, or older than what is kept
            return None
        if block.sha256 == sha256:
            return block
    return None


def put_together(base: Block, typed: BlockFields, now: Block) -> PutTogether:
    """Return what was typed with what changed since `base`; where both changed the same, what was typed."""
    body = merge(base.body, typed.body, now.body)
    places = 0
    if isinstance(body, Conflicted):
        places = len(body.conflicts)
        body = body.resolved([conflict.ours for conflict in body.conflicts])
    others = ("title", "description", "limit", "read_only")
    merged = merge_fields(*({name: getattr(each, name) for name in others} for each in (base, typed, now)))
    return PutTogether(replace(typed, body=body, **merged.values), places + len(merged.conflicts))
