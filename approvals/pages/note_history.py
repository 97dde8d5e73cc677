"""One note for its page: as it is, as it was, and every change with what it did.

Reads only; frozen values come out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice

from approvals.pages.blocks import NOW, HistoryEntry, history_entries, point_in_history
from approvals.review.note_changes import NoteFieldChange, field_changes_of_note
from approvals.services.notes import NoteChange
from assent_client.text.notes import TYPES
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.reads import Note, NoteNotFound
from memory_app.text import worddiff

CHANGES_ON_A_PAGE = 10

#: One short line that Markdown would leave as it is.
_HEADING = re.compile(r"(?![-+ ]|\d+[.)] )[^\n\r\t*_`#\[\]<>|~\\&]{1,160}")


def fits_a_heading(note: Note) -> bool:
    """Whether the heading of a note's page can be all of its text, which need not be repeated below."""
    return bool(_HEADING.fullmatch(note.content)) and "://" not in note.content


@dataclass(frozen=True)
class NoteVersion:
    """A note at one revision; `note` is None where there was none. `commit` is NOW for the memory as it is."""

    commit: str
    note: Note | None
    at: datetime | None = None

    @property
    def is_now(self) -> bool:
        return self.commit == NOW


def note_version(owner: str, id_: str, revision: str) -> NoteVersion:
    """Return a note at `NOW`, at a commit on main or at a time.

    Raises:
        RevisionNotFound: it is none of these.
    """
    if revision == NOW:
        return NoteVersion(NOW, reads.find_note(owner, id_))
    commit, at = point_in_history(revision)
    return NoteVersion(commit, _note_at(owner, id_, commit), at)


@dataclass(frozen=True)
class NoteStep:
    """One change of a note: who, why, and what became of it.

    Args:
        fields: those that changed beside the text; what `supersedes` and `reinstates` say is left out.
        replacement: the note that took its place, as it is now, when this change named one.
    """

    entry: HistoryEntry
    before: Note | None
    after: Note | None
    segments: tuple[worddiff.Segment, ...] = ()
    fields: tuple[NoteFieldChange, ...] = ()
    replacement: Note | None = None

    @property
    def supersedes(self) -> bool:
        """Whether the note was marked as outdated here, by whatever sort of change."""
        return bool(self.after and self.after.is_superseded and not (self.before and self.before.is_superseded))

    @property
    def reinstates(self) -> bool:
        return bool(self.after and not self.after.is_superseded and self.before and self.before.is_superseded)


def steps(owner: str, id_: str, *, before: int | None = None) -> tuple[tuple[NoteStep, ...], int | None]:
    """Return the changes of a note, newest first, and the id to continue from when there are more."""
    changes = reads.history(owner, TargetKind.NOTE, id_, limit=CHANGES_ON_A_PAGE + 1, before=before)
    page = changes[:CHANGES_ON_A_PAGE]
    older = changes[CHANGES_ON_A_PAGE] if len(changes) > CHANGES_ON_A_PAGE else None
    said = {change.commit: _note_at(owner, id_, change.commit) for change in changes}
    replacements = reads.find_notes(
        owner, {note.superseded_by for note in said.values() if note and note.superseded_by}
    )
    made = []
    for entry in history_entries(page, older=older):
        after = said[entry.change.commit]
        earlier = said.get(entry.previous) if entry.previous else None
        texts = (earlier.content if earlier else "", after.content if after else "")
        step = NoteStep(
            entry=entry,
            before=earlier,
            after=after,
            segments=worddiff.diff(*texts) if texts[0] != texts[1] else (),
            replacement=replacements.get(after.superseded_by) if after and after.superseded_by else None,
        )
        made.append(replace(step, fields=_fields(step)))
    return tuple(made), page[-1].pk if older else None


def _fields(step: NoteStep) -> tuple[NoteFieldChange, ...]:
    if not (step.before and step.after):
        return ()
    changes = field_changes_of_note(step.before, step.after)
    if step.supersedes or step.reinstates:
        return tuple(change for change in changes if not change.name.startswith("superseded_"))
    return changes


def _note_at(owner: str, id_: str, commit: str) -> Note | None:
    try:
        return reads.note_at(owner, id_, commit)
    except (NoteNotFound, RevisionNotFound):
        return None


# -- What a file would do to the notes, as its page shows it before anything is written.

#: Notes whose words the page has.
MOST_SHOWN = 20


@dataclass(frozen=True)
class TypeCount:
    """How many notes of a type would be new and changed; shares in percent of the most frequent type."""

    type: str
    new: int
    changed: int
    new_share: int
    changed_share: int


@dataclass(frozen=True)
class ChangedNote:
    """A note that would change: its text before and after, and its other fields."""

    id: str
    segments: tuple[worddiff.Segment, ...]
    fields: tuple[NoteFieldChange, ...]


def counted(changes: Iterable[NoteChange]) -> tuple[TypeCount, ...]:
    """Return the types of the notes in the order they are offered."""
    new: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for change in changes:
        if change.after:
            (changed if change.before else new)[change.after.type] += 1
    highest = max((new[name] + changed[name] for name in TYPES), default=0) or 1
    return tuple(
        TypeCount(name, new[name], changed[name], 100 * new[name] // highest, 100 * changed[name] // highest)
        for name in TYPES
        if new[name] or changed[name]
    )


def changed(changes: Sequence[NoteChange]) -> tuple[ChangedNote, ...]:
    """Return the first notes that would change."""
    some = islice(((each.id, each.before, each.after) for each in changes if each.before and each.after), MOST_SHOWN)
    return tuple(
        ChangedNote(id_, worddiff.diff(before.content, after.content), field_changes_of_note(before, after))
        for id_, before, after in some
    )


def new(changes: Sequence[NoteChange]) -> tuple[Note, ...]:
    """Return the first notes that would be new."""
    return tuple(islice((each.after for each in changes if each.after and not each.before), MOST_SHOWN))
