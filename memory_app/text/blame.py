"""Which version of a text each of its sentences comes from, and what the sentence said before.

Pure: versions go in, in order, and a state comes out that later versions can be added to. It contains no text, only
places in texts. Not here: reading the versions, and who made them.

A sentence comes from the version that made it say what it says. Moved, wrapped or numbered anew it keeps its origin;
reworded, also by leaving out a word, it comes from the version that did so, and its wordings before are listed. A
sentence that comes back after it was gone comes from the version that brought it back. No time limit is involved: one
version after the other or all at once give the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from itertools import accumulate
from typing import Any, NamedTuple

from memory_app.text.sentences import key, sentences
from memory_app.text.worddiff.compare import words

#: Wordings before the present one that are remembered of a sentence.
MOST_EARLIER = 10
#: Sentences that are gone and remembered, the latest ones, and how many letters are worth remembering.
MOST_GONE = 2_000
_WORTH_REMEMBERING = 8
#: Of two sentences' letters, the share of the longer one that stays when one is a rewording of the other, and the share
#: of the shorter one when it was split off or joined, with at least so many letters.
_REWORDED, _CONTAINED, _LETTERS_CONTAINED = 0.5, 0.75, 12
#: A word that more of the sentences have says nothing about which of them it is; of the others so many are compared.
_COMMON, _COMPARED = 50, 8


class Wording(NamedTuple):
    """Where a wording stands: characters `[start:end]` in the text of a version, counted from 0."""

    version: int
    start: int
    end: int


class SentenceOrigin(NamedTuple):
    """A sentence of the last text.

    Attributes:
        start, end: its place there, with the white space after it.
        said: the version that made it say this, and its place in that version's text.
        earlier: what it said before, the latest first.
    """

    start: int
    end: int
    said: Wording
    earlier: tuple[Wording, ...] = ()


class WordCount(NamedTuple):
    """How many words a version added and removed; a sentence that was only moved has neither."""

    added: int
    removed: int


@dataclass
class BlameState:
    """The versions up to one of them: `follow` adds the next ones. It holds places and hashes, and no text.

    Attributes:
        versions: how many there were.
        origins: the sentences of the last one.
        counts: the words each version changed.
        gone: by a hash of what it said, where a sentence stood that is no longer there, and its wordings before.
        digest: a hash of the last text.
    """

    versions: int = 0
    origins: tuple[SentenceOrigin, ...] = ()
    counts: list[WordCount] = field(default_factory=list)
    gone: dict[str, tuple[Wording, ...]] = field(default_factory=dict)
    digest: str = ""

    def is_at(self, text: str) -> bool:
        """Whether this is the text of the last version."""
        return self.digest == (_hash(text) if text else "")

    def follow(self, last: str, texts: Iterable[str]) -> None:
        """Add versions.

        Args:
            last: the text of the last version that was added; empty for none.
            texts: those of the next ones, in order; empty where there was no text.
        """
        known: dict[str, tuple[str, ...]] = {}
        key_of = cache(key)

        def cut(text: str) -> _CutText:
            pieces = sentences(text, known)
            return _CutText(pieces, [*map(key_of, pieces)])

        before = cut(last)
        for text in texts:
            if text == last:
                self.counts.append(WordCount(0, 0))
            else:
                after = cut(text)
                self._add(before, after)
                before, last = after, text
            self.versions += 1
        self.digest = _hash(last) if last else ""

    def _add(self, before: _CutText, after: _CutText) -> None:
        matches = _matched(before.keys, after.keys)
        kept = {old for old in matches if old is not None}
        lost = [index for index in range(len(before.keys)) if index not in kept]
        new = [index for index, old in enumerate(matches) if old is None]
        parents = _parents(before, lost, after, new)
        ends = list(accumulate(map(len, after.pieces), initial=0))
        origins = []
        for index, old in enumerate(matches):
            start, end = ends[index], ends[index + 1]
            if old is None:
                earlier = self._earlier(parents.get(index, ()), after.keys[index])
                origins.append(SentenceOrigin(start, end, Wording(self.versions, start, end), earlier))
            else:
                was = self.origins[old]
                origins.append(SentenceOrigin(start, end, was.said, was.earlier))
        self.counts.append(_count(before, lost, after, new))
        self._remember(before, lost)
        self.origins = tuple(origins)

    def _earlier(self, parents: Sequence[int], said: str) -> tuple[Wording, ...]:
        lists = [(self.origins[parent].said, *self.origins[parent].earlier) for parent in parents]
        if not lists and (found := self.gone.get(_hash(said))):
            lists = [found]
        wordings = dict.fromkeys(wording for each in lists for wording in each)
        if len(lists) > 1:
            wordings = dict.fromkeys(sorted(wordings, key=lambda wording: (-wording.version, wording.start)))
        return tuple(wordings)[:MOST_EARLIER]

    def _remember(self, before: _CutText, lost: Sequence[int]) -> None:
        for index in lost:
            if len(before.keys[index]) >= _WORTH_REMEMBERING:
                was = self.origins[index]
                self.gone.pop(hashed := _hash(before.keys[index]), None)
                self.gone[hashed] = (was.said, *was.earlier)[:MOST_EARLIER]
        for hashed in list(self.gone)[: max(0, len(self.gone) - MOST_GONE)]:
            del self.gone[hashed]

    @classmethod
    def of_json(cls, data: Mapping[str, Any]) -> BlameState:
        """Return the state whose fields (`vars`) were written as JSON, for a cache."""
        origins = ((*places, Wording(*said), _wordings(earlier)) for *places, said, earlier in data["origins"])
        return cls(
            versions=data["versions"],
            origins=tuple(SentenceOrigin(*each) for each in origins),
            counts=[WordCount(*each) for each in data["counts"]],
            gone={hashed: _wordings(earlier) for hashed, earlier in data["gone"].items()},
            digest=data["digest"],
        )


def _wordings(written: Iterable[Sequence[int]]) -> tuple[Wording, ...]:
    return tuple(Wording(*each) for each in written)


@dataclass(frozen=True)
class _CutText:
    """A text as its sentences, and what each says."""

    pieces: tuple[str, ...]
    keys: list[str]


# -- the same sentence ----------------------------------------------------------------------------


def _matched(old: Sequence[str], new: Sequence[str]) -> list[int | None]:
    """Return for each of the new sentences the old one that says the same, if any, wherever it stood.

    What occurs once in both first; then what stands beside a match in both; then the rest in order.
    """
    matches: list[int | None] = [None] * len(new)
    free: defaultdict[str, dict[int, None]] = defaultdict(dict)
    for index, said in enumerate(old):
        free[said][index] = None
    wanted = Counter(new)
    for index, said in enumerate(new):
        if wanted[said] == len(free[said]) == 1:
            matches[index] = free[said].popitem()[0]
    for by in (1, -1):
        beside: int | None = -1 if by > 0 else len(old)  # the texts' edges match each other
        for index in range(len(new))[::by]:
            if matches[index] is None and beside is not None and beside + by in free[new[index]]:
                matches[index] = beside + by
                del free[new[index]][beside + by]
            beside = matches[index]
    for index, said in enumerate(new):
        if matches[index] is None and free[said]:
            matches[index] = first = next(iter(free[said]))
            del free[said][first]
    return matches


# -- a sentence reworded --------------------------------------------------------------------------


def _parents(before: _CutText, lost: Sequence[int], after: _CutText, new: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """Return for new sentences the lost ones that they say in other words, the closest first."""
    if not lost or not new:
        return {}
    bags = {index: _bag(before.keys[index]) for index in lost}
    weights = {index: _weight(bag) for index, bag in bags.items()}
    having: defaultdict[str, list[int]] = defaultdict(list)
    for index, bag in bags.items():
        for word in bag:
            having[word].append(index)
    shift = len(before.keys) / max(1, len(after.keys))
    found = {}
    for index in new:
        bag = _bag(after.keys[index])
        scores: Counter[int] = Counter()
        for word, count in bag.items():
            if len(having.get(word, ())) <= _COMMON:
                for other in having.get(word, ()):
                    scores[other] += len(word) * min(count, bags[other][word])
        place = index * shift
        likely = sorted(scores, key=lambda other: (-scores[other], abs(other - place), other))[:_COMPARED]
        weight = _weight(bag)
        shared = {other: _weight(bag & bags[other]) for other in likely}
        found[index] = tuple(other for other in likely if _is_reworded(shared[other], weight, weights[other]))
    return found


def _is_reworded(shared: int, new: int, old: int) -> bool:
    """Whether so many shared letters make one sentence a rewording, a part or a whole of the other."""
    shorter, longer = sorted((new, old))
    return shared >= _REWORDED * longer or (shorter >= _LETTERS_CONTAINED and shared >= _CONTAINED * shorter)


def _bag(sentence: str) -> Counter[str]:
    return Counter(map(str.casefold, words(sentence)))


def _weight(bag: Counter[str]) -> int:
    return sum(len(word) * count for word, count in bag.items())


def _count(before: _CutText, lost: Iterable[int], after: _CutText, new: Iterable[int]) -> WordCount:
    old_words, new_words = (
        Counter(word for index in changed for word in words(text.keys[index]))
        for text, changed in ((before, lost), (after, new))
    )
    return WordCount(added=(new_words - old_words).total(), removed=(old_words - new_words).total())


def _hash(said: str) -> str:
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=9).hexdigest()
