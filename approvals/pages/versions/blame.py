"""The text of a block, each sentence by who proposed it, who approved it, when and why."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise

from django.utils.functional import Promise
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from approvals.markdown.rendering import on_one_line
from approvals.markdown.sentences import SentenceLink, render_sentences
from approvals.pages.blocks import HistoryEntry, history_entries
from approvals.pages.versions.authors import ChangeBy
from memory_app.reads import BlockBlame
from memory_app.text import worddiff
from memory_app.text.blame import SentenceOrigin, Wording
from memory_app.text.worddiff import Segment

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
