"""Importing a memories.md: many notes as one change, reviewed or applied as a whole."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone

from approvals.models import Agent, Kind
from approvals.services import notes
from approvals.services.errors import ImportUnderWay
from approvals.services.notes import ChangeContext, NoteChange, NoteChangeOutcome
from memory_app import reads
from memory_app.models import NoteSource
from memory_app.runtime import progress, turns
from memory_app.runtime.progress import Stage
from memory_app.text import memories_md
from memory_app.text.memories_md import Memory, Parsed, Skipped

_QUOTED = re.compile("“[^“”]*”")


@dataclass(frozen=True)
class LeftOut:
    """Passages left out for one reason.

    Args:
        reason: as the first of them has it; what it quotes may differ in the others.
        lines: where they begin, in order.
    """

    reason: str
    lines: tuple[int, ...]


@dataclass(frozen=True)
class ImportOutcome:
    """What came of an import.

    Args:
        outcome: None when the memory says all of it already.
        created, updated, unchanged: how many notes the file makes, changes and leaves.
        skipped: what of the file was left out, with its line.
    """

    outcome: NoteChangeOutcome | None
    created: int
    updated: int
    unchanged: int
    skipped: Sequence[Skipped]

    @property
    def is_empty(self) -> bool:
        """Whether nothing in the file even looks like a memory: it is another file."""
        return not (self.created or self.updated or self.unchanged or self.skipped)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """`skipped` by reason: one mistake made two thousand times is one."""
        reasons: dict[str, tuple[str, list[int]]] = {}
        for passage in self.skipped:
            alike = _QUOTED.sub("“”", passage.reason)
            reasons.setdefault(alike, (passage.reason, []))[1].append(passage.line)
        return tuple(LeftOut(reason, tuple(lines)) for reason, lines in reasons.values())


def import_file(*, by: ChangeContext, owner: str, data: bytes) -> ImportOutcome:
    """Read the bytes of a memories.md and import it, without its memories of days to come.

    Raises:
        Unreadable: nothing of the file is taken.
        ImportUnderWay: one of the owner's, or by this actor, is not over yet; nothing was done.
        Others: as for `import_memories`.
    """
    # Eight at once, by one token, kept every page waiting for up to 12 s: each has the processor for seconds.
    try:
        names = f"import of {owner}", f"import by {type(by.actor).__name__} {by.actor.pk}"
        with turns.taken(*names, by=by.operation):
            progress.report(Stage.READING, 0, 1)
            # East of Greenwich it may be tomorrow already.
            latest = timezone.now().date() + timedelta(days=1)
            return import_memories(by=by, owner=owner, parsed=memories_md.read(data, latest=latest))
    except turns.Taken:
        raise ImportUnderWay from None


def import_memories(*, by: ChangeContext, owner: str, parsed: Parsed) -> ImportOutcome:
    """Bring what a memories.md says into the memory.

    A note whose id is there already is changed where the file says something else; what the format cannot
    carry (confidence, category, rationale, whether it is superseded …) stays; only that a person wrote it does not
    stay with a text an agent brings. Nothing is deleted. Reports its progress (`memory_app.runtime.progress`).

    Raises:
        NoteInvalid: a memory no note can hold; nothing was changed.
        EditNotAllowed, NotesChanged, TooManyPending, MemoryFull: as for `notes.change_notes`.
    """
    if earlier := notes.done_before(by):  # by now the memory may say all of it, and nothing of it would be new
        made = sum(change.before is None for change in earlier.changes)
        changed = len(earlier.changes)
        return ImportOutcome(earlier, made, changed - made, len(parsed.memories) - changed, parsed.skipped)
    commit = reads.head()
    parsed = _with_own_ids(owner, parsed)
    known = reads.find_notes(owner, [memory.id for memory in parsed.memories])
    now = timezone.now()
    changes = []
    created = 0
    for memory in progress.each(Stage.COMPARING, parsed.memories, len(parsed.memories)):
        before = known.get(memory.id)
        if before is not None and parsed.is_portable and memories_md.section_of(before.type) == memory.type:
            memory = replace(memory, type=before.type)
        if before is not None and _says_the_same(before, memory):
            continue
        after = _updated(by, before, memory, now) if before else _made(by, owner, memory, now)
        notes.require_valid(after)
        created += before is None
        changes.append(NoteChange(memory.id, before, after))
    unchanged = len(parsed.memories) - len(changes)
    outcome = None
    if changes:
        progress.report(Stage.WEIGHING, 0, 1)
        outcome = notes.change_notes(by=by, owner=owner, kind=Kind.IMPORT, changes=changes, base_commit=commit)
    elif parsed.memories and isinstance(by.actor, Agent) and not by.may_read:
        notes.require_room_unless_applied(by, by.actor, owner)
    return ImportOutcome(outcome, created, len(changes) - created, unchanged, parsed.skipped)


def _with_own_ids(owner: str, parsed: Parsed) -> Parsed:
    """What was read, under the ids the notes have here: a portable file replaces those its readers do not know."""
    named = {memory.id for memory in parsed.memories}
    there = reads.find_notes(owner, named) if any(map(memories_md.is_portable_id, named)) else {}
    if len(there) == len(named):
        return parsed
    own = {replaced: id for id, replaced in reads.portable_ids(owner).items() if id not in named}
    return replace(parsed, memories=tuple(replace(each, id=own.get(each.id, each.id)) for each in parsed.memories))


def _says_the_same(note: reads.Note, memory: Memory) -> bool:
    said = (note.content, note.type, note.tags, note.created_at.date())
    day = memory.created or note.created_at.date()
    return said == (memory.content, memory.type, notes.tidied(memory.tags), day)


def _updated(by: ChangeContext, note: reads.Note, memory: Memory, now: datetime) -> reads.Note:
    changed = replace(note, content=memory.content, type=memory.type, tags=notes.tidied(memory.tags))
    if memory.created is not None and memory.created != note.created_at.date():
        changed = replace(changed, created_at=_begin_of(memory.created))
    if note.source == NoteSource.USER and isinstance(by.actor, Agent) and changed.content != note.content:
        changed = replace(changed, source=NoteSource.IMPORT)
    return notes.stamped(changed, now)


def _made(by: ChangeContext, owner: str, memory: Memory, now: datetime) -> reads.Note:
    today = memory.created is None or memory.created == now.date()
    made = reads.Note(
        id=memory.id,
        owner=owner,
        content=memory.content,
        type=memory.type,
        tags=notes.tidied(memory.tags),
        category=None,
        confidence=0.8,
        rationale=None,
        importance=1.0,
        source=NoteSource.IMPORT,
        session_id=by.session_id or None,
        superseded_by=None,
        superseded_reason=None,
        superseded_at=None,
        sha256="",
        created_at=now if today or memory.created is None else _begin_of(memory.created),
        updated_at=now,
    )
    return notes.stamped(made, now)


def _begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
