"""Which notes match: the one answer for people's pages, agents' tools and the command.

Index and catalogue may be a change behind: the notes they name are read, and must pass the filters as they are then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from approvals import services
from memory_app import reads
from memory_app.databases.batches import batched
from memory_app.reads import Note, NoteSummary
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


@dataclass(frozen=True)
class Matched:
    """Notes, best or newest first.

    Args:
        index_behind: the search does not know the newest changes.
    """

    notes: tuple[Note, ...]
    index_behind: bool = False


def listed(owner: str, wanted: Wanted) -> tuple[NoteSummary, ...]:
    """Return all notes that pass the filters, in short, newest first."""
    return tuple(entry for entry in reads.catalogue(owner).entries if wanted.takes(entry))


def newest(owner: str, wanted: Wanted, *, most: int | None = None) -> Matched:
    """Return the newest notes that pass the filters; without `most` all of them."""
    return Matched(notes_of(owner, listed(owner, wanted)[:most], wanted))


def containing(owner: str, query: str, wanted: Wanted, *, most: int) -> Matched:
    """Return the newest notes that contain `query`, ignoring case."""
    folded = query.casefold()
    likely = [entry for entry in listed(owner, wanted) if folded in entry.words]
    found: list[Note] = []
    # The words are those of tags and rationale too, so more may have to be read than are wanted.
    for entries in batched(likely):
        found += [note for note in notes_of(owner, entries, wanted) if folded in note.content.casefold()]
        if len(found) >= most:
            break
    return Matched(tuple(found[:most]))


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
    every = reads.catalogue(owner)
    # Most lists need the best few only; ranking all of 10,000 matches takes 20 ms instead of 2.
    for top_k in (None,) if most is None else (most + _SPARE, None):
        ranking = service.rank_notes(
            owner,
            query,
            top_k=top_k,
            types=(wanted.type,) if wanted.type else (),
            tags=tuple(wanted.tags),
            session_id=wanted.session_id,
            include_superseded=wanted.superseded != "hidden",
        )
        found = [every.by_id[id_] for id_ in ranking.note_ids if id_ in every.by_id and wanted.takes(every.by_id[id_])]
        if ranking.is_all or (most is not None and len(found) >= most):
            break
    if most is None or len(found) < most:
        folded, ranked = query.casefold(), {entry.id for entry in found}
        rest = (entry for entry in every.entries if entry.id not in ranked and folded in entry.words)
        found += [entry for entry in rest if wanted.takes(entry)]
    return tuple(found[:most]), ranking.index_behind or services.is_interrupted(owner)


def search_notes(owner: str, query: str, wanted: Wanted, *, most: int | None = None) -> Matched:
    """Return the same as whole notes."""
    entries, index_behind = search_summaries(owner, query, wanted, most=most)
    return Matched(notes_of(owner, entries, wanted), index_behind)
