"""What lists of notes are narrowed and paged by: every note of an owner in short, held in this process.

Follows the owner's rows of the ledger: whoever asks gets the notes as they are now, only what changed since is read,
and what others change costs nothing. A commit is on main a moment before its row, and stays there when its writer dies
in between. Such writes are on record in `default` before their commit, and each look asks for them in the same
statement (0.1 ms): their notes are read until the ledger has them.

Counting and narrowing in the database took 40 ms a page on DoltLite and 200 ms on Dolt at 10,000 notes: tags are JSON
there, which no index helps, and indices of versioned tables would be merged with each proposal. From here it is 2 ms,
and a page of notes is then read by primary key.

Also what follows from the list: memories.md with only the ids that other programs know. Not here: the notes themselves
(`memory_app.reads`), and finding by meaning (`memory_app.search`).
"""

import threading
from bisect import insort
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain
from sys import getsizeof, intern
from typing import Any, NamedTuple, TypeVar

from django.db.models import BigIntegerField, F, QuerySet, Value

from assent_client.text import memories_md
from memory_app.databases.prepared import Prepared
from memory_app.dolt.connections import dolt
from memory_app.dolt.types import Row, aware
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.reads import NOTES, memories, rows_of_notes, tags_of
from memory_app.text.alike import near_forms, near_keys, said_by
from memory_app.text.context_budget import ContextCandidate

T = TypeVar("T")

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
        change_id, commit: of the owner's last row of the ledger; 0 and empty without any.
        read: as they were read at once, newest first.
        changed: those that changed since, by id, the last one last; None for one that is gone. Looking a note up costs
            no pass over all of them then: after each save, three passes took 0.8 ms at 2,000 notes.
        index: all of them by `_keys`, those that changed last at the end. What follows from this catalogue shares it,
            so it has entries that were replaced, and newer ones.
        most_folded: how many notes say what another one says, at most.
        under_way: the targets of writes that may be on main and are not in the ledger yet.
    """

    read: tuple[NoteSummary, ...]
    change_id: int
    commit: str
    nbytes: int = field(default=0, compare=False)
    changed: Mapping[str, NoteSummary | None] = field(default_factory=dict)
    index: _Index = field(default_factory=lambda: defaultdict(list), compare=False)
    most_folded: int = field(default=0, compare=False)
    under_way: Set[str] = frozenset()

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

    def find(self, id_: str) -> NoteSummary | None:
        """Return the note with this id."""
        return next(self._with(f"\0{id_}"), None)

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
            said = each.said if (each := self.find(id_)) else ""
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
        held = self._owners.get(owner)
        held = (held and _follow(owner, held)) or _read(owner)
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


class _Known(NamedTuple):
    """A row of the owner's ledger, or, with None for its id, a write that the ledger may not have yet.

    Args:
        kind: of an import, one note stands for all: it changes as they do.
    """

    id: int | None
    commit: str
    kind: str
    target: str


def unrecorded(writes: QuerySet[Any], kind: Any, target: Any) -> QuerySet[Any, Any]:
    """Return a query for writes that the ledger may not have yet, as `_Known`; `kind` and `target` are expressions."""
    return writes.order_by().values_list(Value(None, BigIntegerField()), Value(""), kind, target)


#: Queries of them by owner, beside direct writes: of each app that has the state of its writes in rows of its own.
also_under_way: list[Callable[[str], QuerySet[Any, Any]]] = []


def _known_since(owner: str, since: int) -> QuerySet[Any, Any]:
    recorded = Change.objects.filter(owner=owner, id__gte=since).order_by()
    direct = unrecorded(
        DirectWrite.objects.filter(owner=owner, pending__isnull=False), Value(TargetKind.IMPORT.value), F("pending")
    )
    others = [each(owner) for each in also_under_way]
    return recorded.values_list("id", "commit", "target_kind", "target").union(direct, *others, all=True)


_SINCE = Prepared(_known_since, owner=str, since=int)
_NEWEST = Prepared(lambda owner: Change.objects.filter(owner=owner).order_by("-id").values_list("id")[:1], owner=str)


def _look(owner: str, since: int) -> tuple[list[_Known], list[_Known]]:
    """Return the owner's rows of the ledger from this one on, in their order, and the writes it may not have yet.

    Call it before notes are read: what is committed after it is then read once more, never missed.
    """
    found = [_Known(*row) for row in _SINCE.all(owner=owner, since=since)]
    recorded = sorted((each for each in found if each.id is not None), key=lambda each: each.id or 0)
    return recorded, [each for each in found if each.id is None]


def _read(owner: str) -> NoteListCache:
    (newest,) = _NEWEST.first(owner=owner) or (0,)
    recorded, pending = _look(owner, newest)
    rows = dolt(owner).rows(NOTES, None, {"owner": owner}, columns=("note_id", *_COLUMNS))
    last = recorded[-1] if recorded else _Known(0, "", "", "")
    return _build(map(_entry, rows), last.id or 0, last.commit, {each.target for each in pending})


def _follow(owner: str, held: NoteListCache) -> NoteListCache | None:
    """Return `held` with what changed since, or None where the ledger does not say what: it was rewritten."""
    recorded, pending = _look(owner, held.change_id)
    if held.change_id and (not recorded or recorded[0][:2] != (held.change_id, held.commit)):
        return None
    last = recorded[-1] if recorded else _Known(0, "", "", "")
    if last.id == held.change_id and not pending and not held.under_way:
        return held
    ids = {each.target for each in recorded if each.kind == TargetKind.NOTE and each.id != held.change_id}
    unsure = {each.target for each in pending if each.kind != TargetKind.BLOCK}
    rows = rows_of_notes(owner, ids | unsure, None, *_COLUMNS) if ids | unsure else {}
    now = {id_: _entry(row) for id_, row in rows.items()}
    # Those in the ledger are never compared: another thread may have put them into the index that this one shares.
    moved = {id_: now.get(id_) for id_ in ids | unsure if id_ in ids or now.get(id_) != held.find(id_)}
    if any(each.kind == TargetKind.IMPORT and each.target in moved.keys() - ids for each in pending):
        return None  # it is on main, and the ledger has yet to say which notes it changed
    known = replace(held, change_id=last.id, commit=last.commit, under_way={each.target for each in pending})
    return _changed(known, moved) if moved else known


def _changed(held: NoteListCache, moved: Mapping[str, NoteSummary | None]) -> NoteListCache:
    """Return `held` with these notes as they are now; None for one that is gone."""
    changed = {id_: entry for id_, entry in held.changed.items() if id_ not in moved} | moved
    folded, nbytes = held.most_folded, held.nbytes
    for entry in filter(None, moved.values()):
        folded += bool(held.saying(entry.said, but=entry.id))
        # What was there before is not taken off: it is held until all is put together.
        nbytes += entry.room
        for key in _keys(entry):
            held.index[key].append(entry)
    advanced = replace(held, changed=changed, most_folded=folded, nbytes=nbytes)
    if len(changed) <= _CHANGED:
        return advanced
    return _build(advanced.entries, held.change_id, held.commit, held.under_way)


def _build(entries: Iterable[NoteSummary], change_id: int, commit: str, under_way: Set[str]) -> NoteListCache:
    ordered = tuple(sorted(entries, key=_place, reverse=True))
    index = _by_key(reversed(ordered), _keys)
    folded = sum(len(found) - 1 for key, found in index.items() if found[0].said == key)
    nbytes = sum(entry.room for entry in ordered)
    return NoteListCache(ordered, change_id, commit, nbytes, {}, index, folded, under_way)


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
