"""Which notes match: the one answer for people's pages, agents' tools and the command.

Index and catalogue may be a change behind: the notes they name are read, and must pass the filters as they are then.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal, NamedTuple

from django.core.paginator import Paginator
from django.utils.translation import gettext_lazy as _

from approvals.models import Event, Proposal, Revision, User
from approvals.pages.blocks import history_entries
from approvals.pages.inbox_filters import QueryFilters
from approvals.permissions import ReviewAction, available_actions
from approvals.review.targets import BlockState, NotesState
from assent_client.text import notes
from assent_client.text.notes import TYPES
from memory_app import reads, recall_counts
from memory_app.databases.prepared import batched
from memory_app.models import NoteSource, TargetKind
from memory_app.reads import Note
from memory_app.reads.catalogue import NoteSummary, catalogue
from memory_app.search import service

#: Notes the search is asked for beyond those wanted, since some may be filtered out here.
_SPARE = 20


@dataclass(frozen=True)
class Wanted:
    """The caller's filters: empty and None stand for any; `tags` are joined by OR.

    Args:
        superseded: whether superseded notes are left out, shown with the others, or the only ones.
    """

    type: str | None = None
    tags: Sequence[str] = ()
    source: str | None = None
    session_id: str | None = None
    min_confidence: float = 0
    superseded: Literal["hidden", "shown", "only"] = "hidden"

    @property
    def searched(self) -> dict[str, Any]:
        """Return the filters that a search of notes knows, as its arguments."""
        types = (self.type,) if self.type else ()
        superseded = self.superseded != "hidden"
        return {"types": types, "tags": self.tags, "session_id": self.session_id, "include_superseded": superseded}

    def takes(self, note: Note | NoteSummary) -> bool:
        """Whether a note passes the filters."""
        return (
            self.type in (None, note.type)
            and (not self.tags or bool(set(self.tags) & set(note.tags)))
            and self.source in (None, note.source)
            and self.session_id in (None, note.session_id)
            and note.confidence >= self.min_confidence
            and (self.superseded == "shown" or note.is_superseded == (self.superseded == "only"))
        )


def listed(owner: str, wanted: Wanted) -> Iterator[NoteSummary]:
    """Return the notes that pass the filters, in short, newest first; take the first few where those are enough."""
    return filter(wanted.takes, catalogue(owner).newest())


def newest(owner: str, wanted: Wanted, *, most: int | None = None) -> tuple[Note, ...]:
    """Return the newest notes that pass the filters; without `most` all of them."""
    return notes_of(owner, list(islice(listed(owner, wanted), most)), wanted)


def containing(owner: str, query: str, wanted: Wanted, *, most: int) -> tuple[Note, ...]:
    """Return the newest notes that contain `query`, ignoring case."""
    folded = query.casefold()
    likely = [entry for entry in listed(owner, wanted) if folded in entry.words]
    found: list[Note] = []
    # The words are those of tags and rationale too, so more may have to be read than are wanted.
    for entries in batched(likely):
        found += [note for note in notes_of(owner, entries, wanted) if folded in note.content.casefold()]
        if len(found) >= most:
            break
    return tuple(found[:most])


def notes_of(owner: str, entries: Sequence[NoteSummary], wanted: Wanted) -> tuple[Note, ...]:
    """Return the notes of entries, in their order, without those that were deleted or no longer pass the filters."""
    now = reads.find_notes(owner, [entry.id for entry in entries])
    return tuple(now[entry.id] for entry in entries if entry.id in now and wanted.takes(now[entry.id]))


def search_summaries(
    owner: str, query: str, wanted: Wanted, *, most: int | None = None
) -> tuple[tuple[NoteSummary, ...], bool]:
    """Return those of them that match `query`, in short, and whether the search lacks the newest changes.

    First come the notes that the search finds, best first; then those that merely contain the letters ("algeb"), newest
    first. People's pages, the tools and the command all ask here, so the same words have the same answer everywhere.

    Args:
        most: how many are needed; all of them without it.
    """
    every = catalogue(owner)
    # Most lists need the best few only; ranking all of 10,000 matches takes 20 ms instead of 2.
    for top_k in (None,) if most is None else (most + _SPARE, None):
        ids, is_all, is_behind = service.rank_notes(owner, query, top_k=top_k, **wanted.searched)
        found = [entry for entry in map(every.find, ids) if entry and wanted.takes(entry)]
        if is_all or (most is not None and len(found) >= most):
            break
    if most is None or len(found) < most:
        folded, ranked = query.casefold(), {entry.id for entry in found}
        rest = (entry for entry in every.newest() if entry.id not in ranked and folded in entry.words)
        found += [entry for entry in rest if wanted.takes(entry)]
    return tuple(found[:most]), is_behind or bool(every.under_way)


def search_notes(owner: str, query: str, wanted: Wanted, *, most: int | None = None) -> tuple[tuple[Note, ...], bool]:
    """Return the same as whole notes."""
    entries, index_behind = search_summaries(owner, query, wanted, most=most)
    return notes_of(owner, entries, wanted), index_behind


# -- The list of notes as its page shows it.

#: What the list can be ordered by; the value is the word in the URL.
SORTS: Mapping[str, object] = {
    "newest": _("Newest first"),
    "changed": _("Last changed first"),
    "used": _("Most used by agents"),
    "type": _("By type"),
}


def ordered(owner: str, entries: Sequence[NoteSummary], sort: str) -> tuple[NoteSummary, ...]:
    """Return the notes as asked for; an unknown order leaves them as they are."""
    used = recall_counts.counts(owner) if sort == "used" else {}
    places = {name: place for place, name in enumerate(reversed(TYPES))}
    keys: Mapping[str, Callable[[NoteSummary], Any]] = {
        "newest": lambda entry: (entry.created_at, entry.id),
        "changed": lambda entry: (entry.updated_at, entry.id),
        "used": lambda entry: used.get(entry.id, 0),
        "type": lambda entry: places.get(entry.type, -1),
    }
    return tuple(sorted(entries, key=keys[sort], reverse=True) if sort in keys else entries)


PAGE_SIZE = 50

#: Tags offered to choose from, the most used ones; any other is found by its link or address.
MOST_TAGS = 200

#: What the types and sources are called, in the order they are offered.
TYPE_NAMES: Mapping[str, object] = {
    "note": _("note"),
    "fact": _("fact"),
    "assumption": _("assumption"),
    "hypothesis": _("hypothesis"),
    "discovery": _("discovery"),
    "risk": _("risk"),
    "unknown": _("unknown"),
    "decision": _("decision"),
    "convention": _("convention"),
    "lesson_learned": _("lesson learned"),
    "pattern": _("pattern"),
    "fix": _("fix"),
    "context": _("context"),
}
SOURCE_NAMES: Mapping[str, object] = dict(NoteSource.choices)


@dataclass(frozen=True)
class NoteFilters(QueryFilters):
    """What the reader narrowed the list to; each empty for "all". An unknown value matches nothing.

    Args:
        superseded: `shown` with the others, `only` those; left out when empty.
        doubled: `same` for notes that say the same as another, `near` for those that differ from one in a word.
        sort: one of `SORTS`; newest first when empty, and with a text the best matches.
    """

    q: str = ""
    type: str = ""
    tag: str = ""
    source: str = ""
    superseded: str = ""
    doubled: str = ""
    sort: str = ""

    @property
    def active(self) -> dict[str, str]:
        return {name: value for name, value in super().active.items() if name != "sort"}

    @property
    def parameters(self) -> dict[str, str]:
        """Return the parameters of the list's address."""
        return super().active

    @property
    def counts_are_kept(self) -> bool:
        """Whether they are of type and tag alone, newest first: the list is then not gone through."""
        return not (self.q or self.source or self.superseded or self.doubled or self.sort not in ("", "newest"))

    @property
    def wanted(self) -> Wanted:
        """Return the filters without the text. Any value but the known ones shows superseded notes."""
        return Wanted(
            type=self.type or None,
            tags=(self.tag,) if self.tag else (),
            source=self.source or None,
            superseded="hidden" if not self.superseded else "only" if self.superseded == "only" else "shown",
        )


def matching(owner: str, filters: NoteFilters) -> tuple[NoteSummary, ...]:
    """Return all notes that pass the filters, in short, in the order of the list."""
    return _found(owner, filters)[0]


def _found(owner: str, filters: NoteFilters) -> tuple[tuple[NoteSummary, ...], tuple[NoteSummary, ...], bool]:
    """Return the notes that pass, those that would with any type and tag, and whether the index is behind."""
    wanted, index_behind = replace(filters, type="", tag="").wanted, False
    if filters.q:
        every, index_behind = search_summaries(owner, filters.q, wanted)
    else:
        every = tuple(listed(owner, wanted))
    if filters.doubled:
        places = {entry.id: place for place, entry in enumerate(chain(*_doubled(owner, filters)))}
        every = tuple(sorted((each for each in every if each.id in places), key=lambda each: places[each.id]))
    passing = tuple(entry for entry in every if filters.wanted.takes(entry))
    return ordered(owner, passing, filters.sort), every, index_behind


def _doubled(owner: str, filters: NoteFilters) -> Sequence[Sequence[NoteSummary]]:
    """Return the groups of notes that say the same, or nearly."""
    every = catalogue(owner)
    return every.nearly_doubled if filters.doubled == "near" else every.doubled


def page_of(owner: str, filters: NoteFilters, number: int) -> dict[str, Any]:
    """Return what a page of the list shows: newest first, with a text the best matches first.

    `rows` are notes, each with the last change of it and, at the first of a group of `filters.doubled`, how many are in
    it; `current` and `superseded` count the whole memory, `doubled` those that say what another says. There is a choice
    of `types` and `tags`, each with how many notes it would show, and of `sources`. With `index_behind`
    the search does not know the newest changes.
    """
    every = catalogue(owner)
    passing: Iterator[NoteSummary]
    if filters.counts_are_kept:
        kind, tag, index_behind = filters.type or None, filters.tag or None, False
        passing, number_of = filter(filters.wanted.takes, every.newest()), every.facets[kind, tag]
        types, tags = Counter({name: every.facets[name, tag] for name in TYPES}), every.tags(kind)
    else:
        entries, alike, index_behind = _found(owner, filters)
        passing, number_of = iter(entries), len(entries)
        types = Counter(entry.type for entry in alike if not filters.tag or filters.tag in entry.tags)
        tags = Counter(tag for entry in alike if filters.type in ("", entry.type) for tag in entry.tags)
    page = Paginator(range(number_of), PAGE_SIZE).get_page(number)
    before = (page.number - 1) * PAGE_SIZE
    notes = notes_of(owner, list(islice(passing, before, before + PAGE_SIZE)), filters.wanted)
    last_changes = reads.last_changes(owner, TargetKind.NOTE, [note.id for note in notes])
    last = {entry.change.target: entry for entry in history_entries(list(last_changes.values()))}
    offered = {tag for tag, _number in tags.most_common(MOST_TAGS)} | ({filters.tag} & every.every_tag)
    sizes = {group[0].id: len(group) for group in (_doubled(owner, filters) if filters.doubled else ())}
    return {
        "page": page,
        "rows": [(note, last.get(note.id), sizes.get(note.id, 0)) for note in notes],
        "doubled": every.folded,
        "index_behind": index_behind,
        "current": every.current,
        "superseded": every.superseded,
        "types": [(name, TYPE_NAMES[name], types[name]) for name in TYPES if types[name] or name == filters.type],
        "tags": [(tag, tags[tag]) for tag in sorted(offered, key=str.casefold)],
        "sources": [(name, label) for name, label in NoteSource.choices if name in every.sources],
    }


# -- What waits for a person, and what was applied without one.


def waiting_notes(owner: str, id_: str | None = None) -> tuple[Proposal, ...]:
    """Open proposals about notes of an owner, oldest first; with `id_` those that touch that note."""
    waiting = Proposal.objects.open().of_owner(owner)
    about = waiting.about_notes([id_]) if id_ else waiting.filter(target_kind__in=[TargetKind.NOTE, TargetKind.IMPORT])
    return tuple(about.select_related("agent").order_by("created_at", "id"))


class Automatic(NamedTuple):
    """Something a policy or a rule applied.

    Args:
        may_revert: whether this viewer may take it back, and it can be.
        changed_since: the note or block was changed again; taking this back would lose that.
        rule: the rule that let it through, as its event keeps it; None for the policy.
    """

    proposal: Proposal
    may_revert: bool
    changed_since: bool
    rule: dict[str, Any] | None


def automatic_changes(owner: str, viewer: User, proposals: Iterable[Proposal]) -> tuple[Automatic, ...]:
    """Return what is known of proposals that were applied to an owner's memory without a person."""
    applied = list(proposals)
    if not applied:
        return ()
    # Not of imports, which have thousands: pressing the button tells.
    single = [proposal.pk for proposal in applied if proposal.target_kind != TargetKind.IMPORT]
    revisions = {each.proposal_id: each for each in Revision.objects.filter(proposal__in=single, number=1)}
    ids = {change["id"] for revision in revisions.values() for change in revision.note_changes}
    notes_now = NotesState(reads.note_sha256s(owner, ids))
    blocks = reads.find_blocks((owner, each.target) for each in applied if each.target_kind == TargetKind.BLOCK)
    events = Event.objects.filter(proposal__in=[proposal.pk for proposal in applied], what=Event.What.APPLIED)
    said = dict(events.values_list("proposal", "data"))
    rows = []
    for proposal in applied:
        revision = revisions.get(proposal.pk)
        is_of_block = proposal.target_kind == TargetKind.BLOCK
        now = BlockState(blocks.get((owner, proposal.target))) if is_of_block else notes_now
        changed_since = revision is not None and not now.is_after(revision)
        may_revert = ReviewAction.UNDO in available_actions(viewer, proposal) and not changed_since
        rows.append(Automatic(proposal, may_revert, changed_since, said.get(proposal.pk, {}).get("rule")))
    return tuple(rows)


# -- Which notes could take the place of one that is no longer true. Reads only.

#: Notes offered to choose from; with more words a search finds fewer.
MOST_OFFERED = 8

#: Characters of a note that others are compared with, where no words were given.
_COMPARED = 200


def could_replace(owner: str, note: Note, *, words: str = "", chosen: str = "") -> tuple[Note, ...]:
    """Return the notes of `owner` that could replace this one, the best matches first.

    Args:
        words: of the note looked for, or its id; without them, those that say something similar.
        chosen: the id of one to offer in any case, first.
    """
    if notes.ID.fullmatch(words):
        found = list(reads.find_notes(owner, [words]).values())
    else:
        query = words or " ".join(note.content.split())[:_COMPARED]
        found = list(search_notes(owner, query, Wanted(), most=MOST_OFFERED + 1)[0])
    first = reads.find_note(owner, chosen) if chosen else None
    offered = {each.id: each for each in (first, *found) if each and each.id != note.id}
    return tuple(offered.values())[:MOST_OFFERED]
