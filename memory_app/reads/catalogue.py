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
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from itertools import chain, islice, product
from math import inf
from sys import getsizeof, intern
from typing import Any, NamedTuple, TypeVar

from django.db.models import BigIntegerField, F, QuerySet, Value

from assent_client.text import memories_md
from memory_app.databases.prepared import Prepared, batched
from memory_app.dolt.connections import dolt, require_reachable
from memory_app.dolt.types import Row, aware
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.reads import NOTES, memories, rows_of, rows_of_notes, tags_of
from memory_app.text.alike import near_forms, near_keys, said_by
from memory_app.text.context_budget import PLACES, ContextCandidate, Format, sizes_of, worth

T = TypeVar("T")

#: Notes that changed before all is put together again, which takes 40 ms at 10,000 notes.
_CHANGED = 500
#: What all owners' entries together may take, in bytes (estimated); the least recently asked for go first.
ROOM = 128 * 1024 * 1024
#: Notes that are passed over at once.
_BLOCK = 256
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
_Facet = tuple[str | None, str | None]
#: What no type is called.
_SUPERSEDED, _SOURCE = "\0superseded", "\0source"


@dataclass(frozen=True)
class NoteListCache:
    """The notes of an owner in short, no older than `commit` of main.

    Nothing in it costs a pass over all of them once they are read, but for `entries` and the groups of doubles.

    Args:
        change_id, commit: of the owner's last row of the ledger; 0 and empty without any.
        read: as they were read at once, by id, newest first.
        changed: those that changed since, by id, the last one last; None for one that is gone. Looking a note up costs
            no pass over all of them then: after each save, three passes took 0.8 ms at 2,000 notes.
        index: all of them by `_keys`, those that changed last at the end. What follows from this catalogue shares it,
            so it has entries that were replaced, and newer ones.
        facets: how many notes have each of `_facets`.
        folded: how many notes say what another one says.
        smallest: of each `_BLOCK` notes that were read, what the smallest one that holds takes, by format.
        under_way: the targets of writes that may be on main and are not in the ledger yet.
    """

    read: Mapping[str, NoteSummary]
    change_id: int
    commit: str
    nbytes: int = field(default=0, compare=False)
    changed: Mapping[str, NoteSummary | None] = field(default_factory=dict)
    index: _Index = field(default_factory=lambda: defaultdict(list), compare=False)
    facets: Counter[_Facet] = field(default_factory=Counter, compare=False)
    folded: int = field(default=0, compare=False)
    smallest: Sequence[tuple[float, float]] = ()
    under_way: Set[str] = frozenset()

    @cached_property
    def entries(self) -> tuple[NoteSummary, ...]:
        """All of them, newest first."""
        return tuple(self.newest())

    def newest(self, left: Callable[[], float] = lambda: inf, format: Format = "markdown") -> Iterator[NoteSummary]:
        """Yield all of them, newest first; take the first few where those are enough.

        Args:
            left: how many bytes a note may take at that moment (`ContextCandidate.sizes`). Most that take more, and
                those that do not hold, are passed over many at once.
        """
        changed, entries = sorted(filter(None, self.changed.values()), key=_place), iter(self.read.values())
        for smallest in self.smallest:
            block = islice(entries, _BLOCK)
            if smallest[PLACES[format]] > left():
                deque(block, maxlen=0)
            for entry in block:
                while changed and _place(changed[-1]) > _place(entry):
                    yield changed.pop()
                if entry.id not in self.changed:
                    yield entry
        yield from reversed(changed)

    def by_worth(
        self, recalled: Mapping[str, int], left: Callable[[], float] = lambda: inf, format: Format = "markdown"
    ) -> Iterator[NoteSummary]:
        """Yield all of them, the most valuable first (`context_budget.worth`); see `newest`."""
        used = sorted((*worth(each.id, each.created_at, recalled), each) for each in map(self.find, recalled) if each)
        for entry in self.newest(left, format):
            while used and used[-1][:2] > worth(entry.id, entry.created_at, {}):
                yield used.pop()[2]
            if entry.id not in recalled:
                yield entry
        yield from (entry for *_worth, entry in reversed(used) if entry.sizes[PLACES[format]] <= left())

    def find(self, id_: str) -> NoteSummary | None:
        """Return the note with this id."""
        return self.changed[id_] if id_ in self.changed else self.read.get(id_)

    @property
    def superseded(self) -> int:
        return self.facets[_SUPERSEDED, None]

    @property
    def sources(self) -> Set[str]:
        return self.tags(_SOURCE).keys()

    def tags(self, type: str | None = None) -> Counter[str]:
        """Return how many notes that hold, of a type or of all, have each tag."""
        return Counter({tag: number for (kind, tag), number in self.facets.items() if kind == type and tag and number})

    @property
    def every_tag(self) -> Set[str]:
        """Return the tags of all notes, those that no longer hold among them."""
        return self.tags().keys() | self.tags(_SUPERSEDED).keys()

    @property
    def current(self) -> int:
        """Return how many are not superseded."""
        return self.facets[None, None]

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
            if self.find(entry.id) is entry:
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

    def fold(self, items: Iterable[T], id_of: Callable[[T], str | None]) -> Iterator[tuple[T, list[str]]]:
        """Yield the items without those whose note says what that of an earlier one says; with each, the ids of all
        other notes that say the same."""
        seen = set[str]()
        for item in items:
            id_ = id_of(item) or ""
            said = note.said if (note := self.find(id_)) else ""
            if said not in seen:
                yield item, [each.id for each in self.saying(said, but=id_)]
            seen |= {said} - {""}

    def _folded(self, said: Iterable[str]) -> int:
        """Return how many notes say one of these things beside the first that does."""
        return sum(max(0, len(self.saying(each)) - 1) for each in said)


def _by_key(entries: Iterable[NoteSummary], keys: Callable[[NoteSummary], Iterable[str]]) -> _Index:
    by_key: _Index = defaultdict(list)
    for entry in entries:
        for key in keys(entry):
            by_key[key].append(entry)
    return by_key


def _keys(entry: NoteSummary) -> Iterable[str]:
    """Return what a note is looked up by: what it says, and what it has in common with notes that are near."""
    return (entry.said, *near_keys(entry.said)) if entry.said else ()


def _facets(entry: NoteSummary) -> Iterable[_Facet]:
    """Return what lists count a note by: its source, and (type, tag), either None for any; see `superseded`."""
    types = (_SUPERSEDED,) if entry.is_superseded else (None, entry.type)
    return (_SOURCE, entry.source), *product(types, {None, *entry.tags})


#: Owner → catalogue, the least recently asked for first. May be asked from any thread.
catalogues: OrderedDict[str, NoteListCache] = OrderedDict()
_lock = threading.Lock()


def catalogue(owner: str) -> NoteListCache:
    """Return a summary of each of an owner's notes as it is now.

    Raises:
        EngineUnavailable: the memory could not be read.
    """
    require_reachable(owner)  # what is held is no answer while the memory is away
    held = catalogues.get(owner)
    held = (held and _follow(owner, held)) or _read(owner)
    with _lock:
        catalogues[owner] = held
        catalogues.move_to_end(owner)
        while len(catalogues) > 1 and sum(each.nbytes for each in catalogues.values()) > ROOM:
            catalogues.popitem(last=False)
    return held


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
#: Later than any row of the ledger.
_NO_ROW = 1 << 62
_NEWEST = Prepared(lambda owner: Change.objects.filter(owner=owner).order_by("-id").values_list("id")[:1], owner=str)


def _look(owner: str, since: int) -> tuple[list[_Known], list[_Known]]:
    """Return the owner's rows of the ledger from this one on, in their order, and the writes it may not have yet.

    Without a row there is one without a commit.

    Call it before notes are read: what is committed after it is then read once more, never missed.
    """
    found = [_Known(*row) for row in _SINCE.all(owner=owner, since=since)]
    recorded = sorted((each for each in found if each.id is not None), key=lambda each: each.id or 0)
    return recorded or [_Known(0, "", "", "")], [each for each in found if each.id is None]


def is_write_under_way(owner: str) -> bool:
    """Whether a write may be on main that the ledger does not have yet.

    Raises:
        EngineUnavailable: the memory could not be read.
    """
    require_reachable(owner)  # what is held is no answer while the memory is away
    return bool(_look(owner, _NO_ROW)[1])


def _read(owner: str) -> NoteListCache:
    (newest,) = _NEWEST.first(owner=owner) or (0,)
    recorded, pending = _look(owner, newest)
    rows = rows_of(dolt(owner), NOTES, None, {"owner": owner}, columns=("note_id", *_COLUMNS))
    return _build(map(_entry, rows), recorded[-1].id or 0, recorded[-1].commit, {each.target for each in pending})


def _follow(owner: str, held: NoteListCache) -> NoteListCache | None:
    """Return `held` with what changed since, or None where the ledger does not say what: it was rewritten."""
    recorded, pending = _look(owner, held.change_id)
    if held.change_id and recorded[0][:2] != (held.change_id, held.commit):
        return None
    last = recorded[-1]
    ids = {each.target for each in recorded if each.kind == TargetKind.NOTE and each.id != held.change_id}
    unsure = {each.target for each in pending if each.kind != TargetKind.BLOCK}
    rows = rows_of_notes(owner, ids | unsure, None, *_COLUMNS) if ids | unsure else {}
    now = {id_: _entry(row) for id_, row in rows.items()}
    moved = {id_: now.get(id_) for id_ in ids | unsure if now.get(id_) != held.find(id_)}
    if any(each.kind == TargetKind.IMPORT and each.target in moved.keys() - ids for each in pending):
        return None  # it is on main, and the ledger has yet to say which notes it changed
    under_way = {each.target for each in pending}
    if not moved and (last.id, under_way) == (held.change_id, held.under_way):
        return held
    known = replace(held, change_id=last.id or 0, commit=last.commit, under_way=under_way)
    return _changed(known, moved) if moved else known


def _changed(held: NoteListCache, moved: Mapping[str, NoteSummary | None]) -> NoteListCache:
    """Return `held` with these notes as they are now; None for one that is gone."""
    before, after = list(filter(None, map(held.find, moved))), list(filter(None, moved.values()))
    changed = {**{id_: entry for id_, entry in held.changed.items() if id_ not in moved}, **moved}
    if len(changed) > _CHANGED:
        return _build(replace(held, changed=changed).newest(), held.change_id, held.commit, held.under_way)
    said = {entry.said for entry in chain(before, after)} - {""}
    once = held.folded - held._folded(said)
    for entry in after:
        for key in _keys(entry):
            held.index[key].append(entry)
    facets = held.facets.copy()
    facets.subtract(chain.from_iterable(map(_facets, before)))
    facets.update(chain.from_iterable(map(_facets, after)))
    # What was there before is not taken off: it is held until all is put together.
    nbytes = held.nbytes + sum(entry.room for entry in after)
    now = replace(held, changed=changed, facets=facets, nbytes=nbytes)
    return replace(now, folded=once + now._folded(said))


def _build(entries: Iterable[NoteSummary], change_id: int, commit: str, under_way: Set[str]) -> NoteListCache:
    ordered = sorted(entries, key=_place, reverse=True)
    index = _by_key(reversed(ordered), _keys)
    return NoteListCache(
        {entry.id: entry for entry in ordered},
        change_id,
        commit,
        nbytes=sum(entry.room for entry in ordered),
        index=index,
        facets=Counter(chain.from_iterable(map(_facets, ordered))),
        folded=sum(len(found) - 1 for key, found in index.items() if found[0].said == key),
        smallest=list(map(_smallest, batched(ordered, _BLOCK))),
        under_way=under_way,
    )


def _smallest(entries: Sequence[NoteSummary]) -> tuple[float, float]:
    sizes = [entry.sizes for entry in entries if not entry.is_superseded]
    in_markdown, as_json = (min((each[place] for each in sizes), default=inf) for place in (0, 1))
    return in_markdown, as_json


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
        sizes=sizes_of(row["note_id"], row["type"], tags, row["content"]),
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
