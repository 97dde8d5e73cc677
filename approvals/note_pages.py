"""What the pages of notes show: which notes a reader asked for, what waits, what policy applied.

One note and its history are `note_history`. Reads only; frozen values come out. Writing is `services.notes`,
HTTP is `views.notes`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

from django.utils.translation import gettext_lazy as _

from approvals.memory_pages import HistoryEntry, history_entries
from approvals.models import Proposal, Status, User
from approvals.permissions import Action, available_actions
from memory_app import recall
from memory_app.models import Change
from memory_app.notes import SOURCES, TYPES
from memory_app.recall import Note
from memory_app.search import service

PAGE_SIZE = 50
AUTOMATIC_CHANGES = 8

#: What a search by meaning adds to the notes that hold the words themselves.
MOST_FOUND = 50

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
SOURCE_NAMES: Mapping[str, object] = {"agent": _("an agent"), "user": _("a person"), "import": _("an import")}


@dataclass(frozen=True)
class NoteFilters:
    """What the reader narrowed the list to; each empty for "all". An unknown value matches nothing.

    Args:
        superseded: `shown` with the others, `only` those; left out when empty.
    """

    q: str = ""
    type: str = ""
    tag: str = ""
    source: str = ""
    superseded: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> NoteFilters:
        return cls(**{each.name: query.get(each.name, "").replace("\0", "").strip()[:200] for each in fields(cls)})

    @property
    def active(self) -> dict[str, str]:
        return {each.name: value for each in fields(self) if (value := getattr(self, each.name))}

    def lets_through(self, note: Note) -> bool:
        """Whether a note is asked for, the text apart."""
        if note.is_superseded if self.superseded == "" else self.superseded == "only" and not note.is_superseded:
            return False
        return (
            (not self.type or note.type == self.type)
            and (not self.tag or self.tag in note.tags)
            and (not self.source or note.source == self.source)
        )


@dataclass(frozen=True)
class NoteRow:
    """A note in the list, and the last thing that happened to it."""

    note: Note
    last: HistoryEntry | None

    @property
    def by_policy(self) -> bool:
        return self.last is not None and self.last.change.action == Change.Action.APPLIED


@dataclass(frozen=True)
class NotePage:
    """A page of the list.

    Args:
        total: notes that match; `current` and `superseded` count the whole memory.
        types, tags, sources: what there is to choose from.
    """

    rows: tuple[NoteRow, ...]
    number: int
    pages: int
    total: int
    current: int
    superseded: int
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()


def listed(owner: str, filters: NoteFilters, number: int) -> NotePage:
    """The notes an owner has that the filters let through; newest first, with a text the best matches first."""
    every = recall.notes(owner)
    wanted = [note for note in every if filters.lets_through(note)]
    if filters.q:
        wanted = _matching(owner, wanted, filters)
    pages = max(1, -(-len(wanted) // PAGE_SIZE))
    number = min(max(1, number), pages)
    shown = wanted[(number - 1) * PAGE_SIZE : number * PAGE_SIZE]
    last = last_entries(owner, [note.id for note in shown])
    superseded = sum(note.is_superseded for note in every)
    used = {note.type for note in every}
    return NotePage(
        rows=tuple(NoteRow(note, last.get(note.id)) for note in shown),
        number=number,
        pages=pages,
        total=len(wanted),
        current=len(every) - superseded,
        superseded=superseded,
        types=tuple(name for name in TYPES if name in used),
        tags=tuple(sorted({tag for note in every for tag in note.tags}, key=str.casefold)),
        sources=tuple(name for name in SOURCES if any(note.source == name for note in every)),
    )


def _matching(owner: str, notes: list[Note], filters: NoteFilters) -> list[Note]:
    """What search finds, best first, then the notes that merely contain the letters."""
    answer = service.search(
        owner,
        filters.q,
        top_k=MOST_FOUND,
        sources=("user_memory",),
        types=[filters.type] if filters.type else [],
        tags=[filters.tag] if filters.tag else [],
        include_superseded=bool(filters.superseded),
    )
    by_id = {note.id: note for note in notes}
    found = [by_id[hit.note_id] for hit in answer.results if hit.note_id in by_id]
    seen = {note.id for note in found}
    letters = filters.q.casefold()
    return [*found, *(note for note in notes if note.id not in seen and letters in _all_words(note))]


def _all_words(note: Note) -> str:
    return "\n".join([note.id, note.content, note.category or "", note.rationale or "", *note.tags]).casefold()


def last_entries(owner: str, ids: Sequence[str]) -> dict[str, HistoryEntry]:
    """The newest change of each of the notes, in three queries."""
    newest: dict[str, Change] = {}
    changes = Change.objects.filter(owner=owner, target_kind="note", target__in=ids).order_by("at", "id")
    for change in changes:
        newest[change.target] = change
    return {entry.change.target: entry for entry in history_entries(list(newest.values()))}


# -- proposals ------------------------------------------------------------------------------------


def waiting_notes(owner: str, id_: str | None = None) -> tuple[Proposal, ...]:
    """Open proposals about notes of an owner, oldest first; with `id_` those about that note alone."""
    waiting = Proposal.objects.open().of_owner(owner).filter(target_kind__in=["note", "import"])
    if id_ is not None:
        waiting = waiting.filter(target=id_)
    return tuple(waiting.select_related("agent").order_by("created_at", "id"))


@dataclass(frozen=True)
class Automatic:
    """Something policy applied, and whether this viewer may take it back."""

    proposal: Proposal
    may_revert: bool


def automatic_changes(owner: str, viewer: User) -> tuple[Automatic, ...]:
    """What was applied to an owner's memory without a person lately, newest first."""
    applied = (
        Proposal.objects.of_owner(owner)
        .filter(status=Status.APPLIED)
        .select_related("agent")
        .order_by("-decided_at", "-id")[:AUTOMATIC_CHANGES]
    )
    return tuple(Automatic(each, Action.REVERT in available_actions(viewer, each)) for each in applied)
