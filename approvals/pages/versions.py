"""The versions of a block as pictures: a strip of its changes, and its text by who made it say what it says.

Reads only. The walk through the versions is `memory_app.reads.blame`; drawing is the templates'.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from math import log1p
from typing import Any

from django.db.models import TextChoices
from django.utils.translation import gettext_lazy as _

from approvals.markdown.rendering import on_one_line
from approvals.markdown.sentences import SentenceLink, render_sentences
from approvals.pages.blocks import HistoryEntry, history_entries
from approvals.services import BlockFields
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change, TargetKind
from memory_app.reads.blame import BlockBlame
from memory_app.text import worddiff
from memory_app.text.blame import SentenceOrigin, WordCount
from memory_app.text.merge import Conflicted, merge


class ChangeBy(TextChoices):
    """Who made a change; the value is part of a class of the style sheet."""

    PERSON = "person", _("Written by a person")
    AGENT = "agent", _("Proposed by an agent, approved")
    AUTOMATIC = "automatic", _("Automatic")
    UNKNOWN = "unknown", _("Author unknown")

    @classmethod
    def of(cls, change: Change | None) -> ChangeBy:
        """Return whose a change is; of None, a version the ledger does not know, nobody knows."""
        if change is None or change.action == Change.Action.RECOVERED:
            return cls.UNKNOWN
        if change.action == Change.Action.APPLIED:
            return cls.AUTOMATIC
        return cls.AGENT if change.action == Change.Action.APPROVED else cls.PERSON


# -- The text of a block, each sentence by who proposed it, who approved it, when and why.

#: Days up to which a change has each age; what is older has the next one.
_AGES = (7, 30, 365)
_AGE_NAMES = (_("Last 7 days"), _("Last 30 days"), _("Last year"), _("Older"))


@dataclass(frozen=True)
class BlamedChange:
    """A change that some sentences come from.

    Args:
        version: its number, counted from 0.
        age: 0 for the latest, up to 3.
        entry: None where the ledger does not know the version.
        sentences: their numbers and words.
    """

    version: int
    by: ChangeBy
    age: int
    entry: HistoryEntry | None
    sentences: list[tuple[int, str]]
    letters: int


def blamed_text(found: BlockBlame, *, chosen: int | None, now: datetime, query: str = "") -> dict[str, Any]:
    """Return what the page shows of where the sentences of a text come from.

    That is the text as `html`; the `changes` that sentences come from, the newest first; the legends `by_author` and
    `by_age`, each a class, its name and how many of all `letters` are of it; and what was `chosen`, a sentence's number
    and change and its `wordings`, the present one first: each the change that made it, and what it changed.

    Args:
        chosen: the number of a sentence; one that is not there chooses none.
        query: kept in the sentences' links.
    """
    origins = _runs(found)
    origin = origins[chosen] if chosen is not None and chosen < len(origins) else None
    changes = _changes(found, origins, origin, now)
    links = []
    letters: Counter[str] = Counter()
    for number, each in enumerate(origins):
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
    owning = sorted((each for each in changes.values() if each.sentences), key=lambda each: -each.version)
    for change in owning:
        letters.update({f"by-{change.by}": change.letters, f"age-{change.age}": change.letters})
    authors = [(f"by-{by}", by.label) for by in ChangeBy]
    ages = [(f"age-{age}", name) for age, name in enumerate(_AGE_NAMES)]
    return {
        "html": render_sentences(links, top=2),
        "changes": owning,
        "by_author": [(css, name, letters[css]) for css, name in authors if letters[css]],
        "by_age": [(css, name, letters[css]) for css, name in ages if letters[css]],
        "letters": sum(change.letters for change in owning),
        "chosen": {
            "number": chosen,
            "change": changes[origin.said.version],
            "wordings": [(changes[version], segments) for version, segments in _wordings(found, origin)],
        }
        if origin
        else None,
    }


def _runs(found: BlockBlame) -> list[SentenceOrigin]:
    """Return the sentences, those of one line that one change made and nothing has changed since as one."""
    runs: list[SentenceOrigin] = []
    for each in found.origins:
        last = runs[-1] if runs else None
        is_next = last and last.said.version == each.said.version and not (last.earlier or each.earlier)
        if last and is_next and "\n" not in found.text[last.start : last.end]:
            runs[-1] = last._replace(end=each.end)
        else:
            runs.append(each)
    return runs


def _changes(
    found: BlockBlame, origins: Sequence[SentenceOrigin], chosen: SentenceOrigin | None, now: datetime
) -> dict[int, BlamedChange]:
    """Return the changes that sentences, and earlier wordings of the chosen one, come from, by version."""
    sentences: defaultdict[int, list[tuple[int, str]]] = defaultdict(list)
    letters: defaultdict[int, int] = defaultdict(int)
    for number, each in enumerate(origins):
        words = found.text[each.start : each.end].strip()
        letters[each.said.version] += len(words)
        if any(map(str.isalnum, words)):
            sentences[each.said.version].append((number, on_one_line(words)))
    wanted = {*letters, *(wording.version for wording in (chosen.earlier if chosen else ()))}
    known = [version for version in sorted(wanted) if found.change(version)]
    entry_of = dict(zip(known, entries_of(found, known), strict=True))
    shown = {}
    for version in wanted:
        entry = entry_of.get(version)
        by = ChangeBy.of(entry.change if entry else None)
        age = sum((now - entry.change.at).days >= most for most in _AGES) if entry else 0
        shown[version] = BlamedChange(version, by, age, entry, sentences[version], letters[version])
    return shown


def entries_of(found: BlockBlame, versions: Sequence[int]) -> list[HistoryEntry]:
    """Return the changes that made these versions of a block, counted from 0, each with the one before it."""
    entries = history_entries([found.changes[version] for version in versions])
    previous = (found.changes[version - 1].commit if version else "" for version in versions)
    return [replace(entry, previous=commit) for entry, commit in zip(entries, previous, strict=True)]


def _wordings(found: BlockBlame, origin: SentenceOrigin) -> Iterator[tuple[int, tuple[worddiff.Segment, ...]]]:
    """Yield the versions that worded a sentence, the present one first, with what each changed in it."""
    said = [on_one_line(found.text[origin.start : origin.end])]
    said += [on_one_line(found.said_in(each)) for each in origin.earlier]
    for wording, (after, before) in zip((origin.said, *origin.earlier), pairwise([*said, said[-1]]), strict=True):
        yield wording.version, worddiff.diff(before, after)


#: Bars in a strip: the last versions of a block, or those around the one that is looked at.
MOST_BARS = 40
#: Pixels above and below the base line.
_ABOVE, _BELOW, _LEAST = 56, 28, 3


@dataclass(frozen=True)
class Bar:
    """One change in the strip of a block's changes.

    Args:
        number: of the version, counted from 1.
        above, below: pixels, for the words it added and removed.
        is_current: whether it has the version that is shown, or picked for a comparison.
        end: "a" or "b" where it has an end of the comparison.
    """

    number: int
    entry: HistoryEntry
    by: ChangeBy
    words: WordCount
    above: int
    below: int
    href: str
    is_current: bool = False
    end: str = ""

    @property
    def top(self) -> int:
        """Return the height above the base line with the head of the bar."""
        return self.above + 14

    @property
    def height(self) -> int:
        return self.top + _BELOW


def strip_of(found: BlockBlame, *, shown: str = "", picked: str = "", ends: tuple[str, str] = ("", "")) -> list[Bar]:
    """Return a block's changes as a strip, the oldest first: a bar for each, as high as it changed words.

    Heights are by logarithm: a correction of two words is seen beside a text of two thousand.

    Args:
        shown: the commit of the version that is shown; empty for none.
        picked: that of the one that the next is to be compared with.
        ends: those of the two that are compared.
    """
    commits = {change.commit: number for number, change in enumerate(found.changes)}
    last = len(commits)
    if (looked_at := shown or picked or ends[0]) in commits:
        last = min(last, max(MOST_BARS, commits[looked_at] + MOST_BARS // 2))
    first = max(0, last - MOST_BARS)
    counts = found.counts[first:last]
    most = log1p(max((max(each.added, each.removed) for each in counts), default=0)) or 1

    def height(words: int, room: int) -> int:
        return round(_LEAST + (room - _LEAST) * log1p(words) / most) if words else 0

    bars = []
    entries = entries_of(found, range(first, last))
    for number, (entry, words) in enumerate(zip(entries, counts, strict=True), first):
        commit = entry.change.commit
        href = f"?v={commit}#version"
        if picked in commits:
            older, newer = sorted((picked, commit), key=lambda each: commits[each])
            href = f"?a={older}&b={newer}#comparison"
        bars.append(
            Bar(
                number=number + 1,
                entry=entry,
                by=ChangeBy.of(entry.change),
                words=words,
                above=height(words.added, _ABOVE),
                below=height(words.removed, _BELOW),
                href=href,
                is_current=commit == (shown or picked),
                end="ab"[ends.index(commit)] if commit in ends else "",
            )
        )
    return bars


# -- What somebody typed into the form of a block, put together with what changed in the block meanwhile.

#: Versions looked through for the one that a form was filled from, the newest first; each costs a read.
MOST_LOOKED_THROUGH = 20


def block_as_loaded(owner: str, label: str, sha256: str) -> reads.Block | None:
    """Return the block as it was when a form was filled from it; None where that is not among its last versions."""
    for change in reads.history(owner, TargetKind.BLOCK, label, limit=MOST_LOOKED_THROUGH) if sha256 else ():
        try:
            block = reads.block_at(owner, label, change.commit)
        except (reads.BlockNotFound, RevisionNotFound):  # deleted and made again, or older than what is kept
            return None
        if block.sha256 == sha256:
            return block
    return None


def put_together(base: reads.Block, typed: BlockFields, now: reads.Block) -> tuple[BlockFields, int]:
    """Return what was typed with what changed since `base`, and in how many places both changed the same.

    There it is what was typed.
    """
    body = merge(base.body, typed.body, now.body)
    places = 0
    if isinstance(body, Conflicted):
        places = len(body.conflicts)
        body = body.resolved([conflict.ours for conflict in body.conflicts])
    others: dict[str, Any] = {}
    for name in ("title", "description", "limit", "read_only"):
        before, ours, theirs = (getattr(each, name) for each in (base, typed, now))
        if ours == before:
            others[name] = theirs
        places += theirs not in (before, ours) and ours != before
    return replace(typed, body=body, **others), places
