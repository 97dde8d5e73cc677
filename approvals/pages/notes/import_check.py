"""What a file would do to the notes, as its page shows it before anything is written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from approvals.review.note_changes import NoteFieldChange, field_changes_of_note
from approvals.services.notes import NoteChange
from memory_app.reads import Note
from memory_app.text import worddiff
from memory_app.text.notes import TYPES

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
