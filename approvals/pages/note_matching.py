"""Which notes a query means: by meaning and keywords (the search), or those that contain it.

Index and catalogue may be a change behind: what they name is read, and must be what was asked for as it is then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from approvals import services
from memory_app import reads
from memory_app.reads import Note, NoteSummary
from memory_app.search import service

#: Notes the search is asked for beyond those wanted, since some may be filtered out here.
_SPARE = 20
#: Notes read at once while looking for those that contain a text.
_AT_ONCE = 200


@dataclass(frozen=True)
class Wanted:
    """The caller's filters: empty and None stand for any; `tags` are joined by OR."""

    type: str | None = None
    tags: Sequence[str] = ()
    source: str | None = None
    session_id: str | None = None
    min_confidence: float = 0
    superseded: bool = False

    def takes(self, note: Note | NoteSummary) -> bool:
        return (
            self.type in (None, note.type)
            and (not self.tags or bool(set(self.tags) & set(note.tags)))
            and self.source in (None, note.source)
            and self.session_id in (None, note.session_id)
            and note.confidence >= self.min_confidence
            and (self.superseded or not note.is_superseded)
        )


@dataclass(frozen=True)
class Matched:
    """Notes, best or newest first.

    Args:
        index_behind: the search did not know the newest changes.
    """

    notes: tuple[Note, ...]
    index_behind: bool = False


def listed(owner: str, wanted: Wanted) -> tuple[NoteSummary, ...]:
    """All notes that are wanted, in short, newest first."""
    return tuple(entry for entry in reads.catalogue(owner).entries if wanted.takes(entry))


def newest(owner: str, wanted: Wanted, *, most: int) -> Matched:
    """The newest notes that are wanted, so many of them."""
    return Matched(notes_of(owner, listed(owner, wanted)[:most], wanted))


def containing(owner: str, query: str, wanted: Wanted, *, most: int) -> Matched:
    """The newest of those that contain `query`, case aside."""
    folded = query.casefold()
    likely = [entry for entry in listed(owner, wanted) if folded in entry.words]
    found: list[Note] = []
    # The words are those of tags and rationale too, so more may have to be read than are wanted.
    for start in range(0, len(likely), _AT_ONCE):
        some = notes_of(owner, likely[start : start + _AT_ONCE], wanted)
        found += [note for note in some if folded in note.content.casefold()]
        if len(found) >= most:
            break
    return Matched(tuple(found[:most]))


def notes_of(owner: str, entries: Sequence[NoteSummary], wanted: Wanted) -> tuple[Note, ...]:
    """The notes behind entries, in their order; one that went or is no longer wanted is left out."""
    now = reads.find_notes(owner, [entry.id for entry in entries])
    return tuple(now[entry.id] for entry in entries if entry.id in now and wanted.takes(now[entry.id]))


def rank_all(owner: str, query: str, wanted: Wanted, *, most: int) -> tuple[tuple[NoteSummary, ...], bool]:
    """Those of them that `query` means, in short, best first; and whether the search lacks the newest changes.

    Args:
        most: how many are needed.
    """
    now = reads.catalogue(owner).by_id
    top_k = most + _SPARE
    while True:
        ranking = service.rank_notes(
            owner,
            query,
            top_k=top_k,
            types=(wanted.type,) if wanted.type else (),
            tags=tuple(wanted.tags),
            session_id=wanted.session_id,
            include_superseded=wanted.superseded,
        )
        found = [now[id_] for id_ in ranking.note_ids if id_ in now and wanted.takes(now[id_])]
        if len(found) >= most or ranking.is_all:
            return tuple(found[:most]), ranking.index_behind or services.is_interrupted(owner)
        top_k *= 4


def search_notes(owner: str, query: str, wanted: Wanted, *, most: int) -> Matched:
    """The same as notes."""
    entries, index_behind = rank_all(owner, query, wanted, most=most)
    return Matched(notes_of(owner, entries, wanted), index_behind)
