"""What lists of notes are narrowed and paged by: every note of an owner in short, held in this process.

Follows the log of main: whoever asks gets the notes as they are now, and only what changed since is read. Not the
ledger, as the search index does: a commit whose writer died before its row is on main all the same. Asking for the
newest commit of main takes 0.1 ms, and each one between as much, once in a process.

Counting and narrowing in the database took 40 ms a page on DoltLite and 200 ms on Dolt at 10,000 notes: tags are JSON
there, which no index helps, and indices of versioned tables would be merged with each proposal. From here it is 2 ms,
and a page of notes is then read by primary key.

Also what follows from the list: memories.md with only the ids that other programs know. Not here: the notes themselves
(`memory_app.reads`), and finding by meaning (`memory_app.search`).
"""

import threading
from bisect import insort
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property, lru_cache
from itertools import chain
from sys import getsizeof, intern
from typing import TypeVar

from assent_client.text import memories_md
from memory_app.dolt.connections import dolt, dolt_of, retrying
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.placement import database_of
from memory_app.dolt.types import Commit, Row, aware
from memory_app.models import TargetKind
from memory_app.reads import NOTES, memories, rows_of_notes, tags_of
from memory_app.text.alike import near_forms, near_keys, said_by
from memory_app.text.context_budget import ContextCandidate
from memory_app.text.trailers import Trailers

T = TypeVar("T")

#: Commits that are followed; behind more of them all notes are read at once.
MANY = 100
#: Notes that changed before all is put together again, which takes 40 ms at 10,000 notes.
_CHANGED = 500
#: What all owners' entries together may take, in bytes (estimated); the least recently asked for go first.
ROOM = 128 * 1024 * 1024
#: An entry without its words, and its place in the index.
_ENTRY = 1_000


@dataclass(frozen=True, slots=True)
class NoteSummary(ContextCandidate):
    """A note in short. `words` is everything it says, folded, for finding letters in it."""

    source: str
    session_id: str | None
    confidence: float
    words: str
    updated_at: datetime

    @property
    def room(self) -> int:
        """Return the estimated bytes of memory it takes."""
        return _ENTRY + getsizeof(self.words) + getsizeof(self.said)


_Index = defaultdict[str, list[NoteSummary]]


@dataclass(frozen=True)
class NoteListCache:
    """The notes of an owner in short, no older than `commit` of main.

    Args:
        read: as they were read at once, newest first.
        changed: those that changed since, by id, the last one last; None for one that is gone. Looking a note up costs
            no pass over all of them then: after each save, three passes took 0.8 ms at 2,000 notes.
        index: all of them by `_keys`, those that changed last at the end. What follows from this catalogue shares it,
            so it has entries that were replaced, and newer ones.
        most_folded: how many notes say what another one says, at most.
    """

    read: tuple[NoteSummary, ...]
    commit: str
    nbytes: int = field(default=0, compare=False)
    changed: Mapping[str, NoteSummary | None] = field(default_factory=dict)
    index: _Index = field(default_factory=lambda: defaultdict(list), compare=False)
    most_folded: int = field(default=0, compare=False)

    @cached_property
    def entries(self) -> tuple[NoteSummary, ...]:
        """All of them, newest first."""
        kept = [entry for entry in reversed(self.read) if entry.id not in self.changed]
        for entry in filter(None, self.changed.values()):
            insort(kept, entry, key=_place)  # sorting all 20,000 again took 40 ms after each save
        return tuple(reversed(kept))

    @cached_property
    def by_id(self) -> dict[str, NoteSummary]:
        return {entry.id: entry for entry in self.entries}

    @cached_property
    def superseded(self) -> int:
        return sum(entry.is_superseded for entry in self.entries)

    @cached_property
    def types(self) -> frozenset[str]:
        return frozenset(entry.type for entry in self.entries)

    @cached_property
    def sources(self) -> frozenset[str]:
        return frozenset(entry.source for entry in self.entries)

    @cached_property
    def tags(self) -> Counter[str]:
        """Each tag and how many notes have it."""
        return Counter(tag for entry in self.entries for tag in entry.tags)

    @cached_property
    def doubled(self) -> list[list[NoteSummary]]:
        """Groups of notes that say the same, each newest first."""
        by_words = _by_key(self.entries, lambda entry: filter(None, [entry.said]))
        return [group for group in by_words.values() if len(group) > 1]

    @cached_property
    def nearly_doubled(self) -> list[list[NoteSummary]]:
        """Groups of notes that differ in one word; a note is in one group only."""
        groups, placed = list[list[NoteSummary]](), set[str]()
        for group in _by_key(self.entries, lambda entry: near_forms(entry.said)).values():
            if len({entry.said for entry in group}) > 1 and placed.isdisjoint(entry.id for entry in group):
                groups.append(group)
                placed.update(entry.id for entry in group)
        return groups

    def _with(self, *keys: str) -> Iterator[NoteSummary]:
        """Yield the notes that have one of `_keys`, for each key the last changed first, then the newest first."""
        for entry in chain.from_iterable(reversed(self.index.get(key, ())) for key in keys):
            if self.changed.get(entry.id, entry) is entry:
                yield entry

    def saying(self, said: str, *, but: str = "") -> list[NoteSummary]:
        """Return the notes that say this, newest first, without the one whose id is `but`."""
        return sorted((entry for entry in self._with(said) if entry.id != but), key=_place, reverse=True)

    def nearly_saying(self, said: str) -> Iterator[NoteSummary]:
        """Yield the notes that say this but for one word."""
        forms = near_forms(said)
        for entry in self._with(*near_keys(said, is_sought=True)):
            if entry.said != said and not forms.isdisjoint(near_forms(entry.said)):
                yield entry

    def fold(self, items: Iterable[T], id_of: Callable[[T], str | None]) -> list[tuple[T, list[str]]]:
        """Return the items without those whose note says what that of an earlier one says; with each, the ids of all
        other notes that say the same."""
        folded, seen = list[tuple[T, list[str]]](), set[str]()
        for item in items:
            id_ = id_of(item) or ""
            said = next((each.said for each in self._with(f"\0{id_}")), "")
            if said not in seen:
                folded.append((item, [each.id for each in self.saying(said, but=id_)]))
            seen |= {said} - {""}
        return folded


def _by_key(entries: Iterable[NoteSummary], keys: Callable[[NoteSummary], Iterable[str]]) -> _Index:
    by_key: _Index = defaultdict(list)
    for entry in entries:
        for key in keys(entry):
            by_key[key].append(entry)
    return by_key


def _keys(entry: NoteSummary) -> Iterable[str]:
    """Return what a note is looked up by: its id, what it says, and what it has in common with notes that are near."""
    return (f"\0{entry.id}", entry.said, *near_keys(entry.said)) if entry.said else (f"\0{entry.id}",)


class _Catalogues:
    """Owner → catalogue, least recently used out first. May be asked from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._owners: OrderedDict[str, NoteListCache] = OrderedDict()

    def of(self, owner: str) -> NoteListCache:
        # `held` first: another thread may store a newer catalogue between the two, which does not follow from an older
        # head, and all notes were read again (1.2 s for 10,000). The head before the notes are read: what is written
        # after it is then read once more, never missed.
        held = self._owners.get(owner)
        newest = retrying(lambda: dolt(owner).log(limit=1)[0])
        if held is None or held.commit != newest.hash:
            held = (held and _advance(owner, held, newest)) or _read(owner, newest.hash)
        with self._lock:
            self._owners[owner] = held
            self._owners.move_to_end(owner)
            while len(self._owners) > 1 and sum(each.nbytes for each in self._owners.values()) > ROOM:
                self._owners.popitem(last=False)
        return held

    def clear(self) -> None:
        with self._lock:
            self._owners.clear()


#: One for the process.
catalogues = _Catalogues()


def catalogue(owner: str) -> NoteListCache:
    """Return a summary of each of an owner's notes as it is now.

    Raises:
        EngineUnavailable: the memory could not be read.
    """
    return catalogues.of(owner)


def _read(owner: str, commit: str) -> NoteListCache:
    return _build(map(_entry, dolt(owner).rows(NOTES, None, {"owner": owner}, columns=("note_id", *_COLUMNS))), commit)


def _advance(owner: str, held: NoteListCache, newest: Commit) -> NoteListCache | None:
    """`held` with what the commits since then changed; None when they are too many, or do not say what."""
    ids: set[str] = set()
    try:
        before, whose, notes = _summary_of(newest)
        for _ in range(MANY):
            if whose in (owner, None):
                if notes is None:
                    return None
                ids |= notes
            if before == held.commit:
                break
            before, whose, notes = _summarise(database_of(owner), before)
        else:
            return None
    except RevisionNotFound:  # main was put back
        return None
    if not ids:
        return replace(held, commit=newest.hash)
    now = {row["note_id"]: _entry(row) for row in rows_of_notes(owner, ids, None, *_COLUMNS).values()}
    changed = {id_: entry for id_, entry in held.changed.items() if id_ not in ids} | {id_: now.get(id_) for id_ in ids}
    folded = held.most_folded
    for entry in now.values():
        folded += bool(held.saying(entry.said, but=entry.id))
        for key in _keys(entry):
            held.index[key].append(entry)
    # What was there before is not taken off: it is held until all is put together.
    nbytes = held.nbytes + sum(entry.room for entry in now.values())
    advanced = NoteListCache(held.read, newest.hash, nbytes, changed, held.index, folded)
    return advanced if len(changed) <= _CHANGED else _build(advanced.entries, newest.hash)


#: What a commit on main says of itself: the one before it, whose notes it changed (None for anybody's) and which (None
#: for any): a migration, rows found uncommitted, an import.
_CommitSummary = tuple[str, str | None, frozenset[str] | None]


@lru_cache(maxsize=10_000)  # commits never change, and every owner's catalogue comes by here
def _summarise(database: str, commit: str) -> _CommitSummary:
    return _summary_of(dolt_of(database).log(commit, limit=1)[0])


def _summary_of(commit: Commit) -> _CommitSummary:
    if not commit.parents:
        raise RevisionNotFound(f"the commit before {commit.hash}")
    said = Trailers.of(commit.message)
    notes = frozenset(target for kind, target in said.targets if kind == TargetKind.NOTE)
    return commit.parents[0], said.owner or None, notes if said.targets else None


def _build(entries: Iterable[NoteSummary], commit: str) -> NoteListCache:
    ordered = tuple(sorted(entries, key=_place, reverse=True))
    index = _by_key(reversed(ordered), _keys)
    folded = sum(len(found) - 1 for key, found in index.items() if found[0].said == key)
    return NoteListCache(ordered, commit, sum(entry.room for entry in ordered), {}, index, folded)


def _place(entry: NoteSummary) -> tuple[datetime, str]:
    return entry.created_at, entry.id


_COLUMNS = (
    *("created_at", "type", "tags", "source", "session_id", "confidence", "superseded_at", "content"),
    *("category", "rationale", "updated_at"),
)


def _entry(row: Row) -> NoteSummary:
    tags = tags_of(row["tags"])
    return NoteSummary(
        id=row["note_id"],
        created_at=aware(row["created_at"]),
        type=intern(row["type"]),
        tags=tuple(map(intern, tags)),
        source=intern(row["source"]),
        session_id=row["session_id"],
        confidence=float(row["confidence"]),
        is_superseded=row["superseded_at"] is not None,
        nbytes=len(row["content"].encode()),
        words="\n".join(
            [row["note_id"], row["content"], row["category"] or "", row["rationale"] or "", *tags]
        ).casefold(),
        said="" if row["superseded_at"] else said_by(row["content"]),
        updated_at=aware(row["updated_at"]),
    )


def portable_file(owner: str) -> str:
    """Return an owner's notes that are not outdated, as a portable memories.md (`memories_md.write_portable`)."""
    return memories_md.write_portable(memories(owner), portable_ids(owner))


def portable_ids(owner: str) -> dict[str, str]:
    """Return the ids that a portable memories.md has for the owner's notes, where they are not the notes' own."""
    return memories_md.replaced_ids((each.id, each.created_at.date()) for each in catalogue(owner).entries)
