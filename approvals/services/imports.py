"""Import a memories.md: many notes as one change, reviewed or applied as a whole."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time, timedelta

from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Kind
from approvals.services import notes
from approvals.services.errors import Refusal
from approvals.services.notes import ChangeContext, NoteChange, NoteChangeOutcome
from assent_client.text import list_items, memories_md
from assent_client.text.list_items import FoundItems
from assent_client.text.memories_md import Memory, Parsed, Skipped
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import NoteSource
from memory_app.reads.catalogue import catalogue, portable_ids
from memory_app.runtime import turns
from memory_app.text import alike

_TURN = "import of {}"
_QUOTED = re.compile("“[^“”]*”")


@dataclass(frozen=True)
class ImportOutcome:
    """What an import does, or would do.

    Args:
        changes: the change of each note, in the order of the file.
        unchanged: how many memories of the file are known: a note is as the file has it, or another one says the same.
        skipped: passages of the file that are not imported, with their lines.
        outcome: None when it was only checked, or when nothing in the memory has to change.
        known: these memories, when it was only checked.
    """

    changes: Sequence[NoteChange]
    unchanged: int
    skipped: Sequence[Skipped]
    outcome: NoteChangeOutcome | None = None
    known: Sequence[Memory] = ()

    @property
    def created(self) -> int:
        return sum(change.before is None for change in self.changes)

    @property
    def updated(self) -> int:
        return len(self.changes) - self.created

    @property
    def has_none(self) -> bool:
        """Whether nothing in the file is a memory."""
        return not (self.changes or self.unchanged)

    @property
    def left_out(self) -> list[tuple[str, list[int]]]:
        return by_reason(self.skipped)


def by_reason(skipped: Sequence[Skipped]) -> list[tuple[str, list[int]]]:
    """Return passages grouped by reason, each with its lines: a mistake repeated 2,000 times is one entry.

    The reason is that of the first passage; quotations may differ in the others.
    """
    reasons: dict[str, tuple[str, list[int]]] = {}
    for passage in skipped:
        equal = _QUOTED.sub("“”", passage.reason)
        reasons.setdefault(equal, (passage.reason, []))[1].append(passage.line)
    return list(reasons.values())


def check_file(*, by: ChangeContext, owner: str, data: bytes) -> ImportOutcome:
    """Return what `import_file` would do with these bytes now, and write nothing.

    Raises:
        Unreadable, `note_invalid`, `import_under_way`: as `import_file` would.
    """
    with _turn(by, owner):
        parsed = _with_internal_ids(owner, memories_md.read(data, latest=_latest()))
        changes = _changes(by, owner, parsed)
    changed = {change.id for change in changes}
    known = [memory for memory in parsed.memories if memory.id not in changed]
    return ImportOutcome(changes, len(known), parsed.skipped, known=known)


def import_file(
    *, by: ChangeContext, owner: str, data: bytes, items: bool = False, chosen: Collection[str] | None = None
) -> ImportOutcome:
    """Read the bytes of a memories.md and import it, without memories dated in the future.

    Args:
        items: of another file, its list items that are not in the memory.
        chosen: ids of the only ones of these that are wanted.

    Raises:
        Unreadable: nothing was imported.
        `import_under_way`: another import of this owner, or by this actor, is running; nothing was done.
        Others: as for `import_memories`.
    """
    with _turn(by, owner):
        if not items:
            return import_memories(by=by, owner=owner, parsed=memories_md.read(data, latest=_latest()))
        found, known = find_items(owner, data)
        wanted = (each for each in found.memories if each.id not in known and (chosen is None or each.id in chosen))
        return import_memories(by=by, owner=owner, parsed=replace(found, memories=tuple(wanted)))


def find_items(owner: str, data: bytes) -> tuple[FoundItems, set[str]]:
    """Return the list items of a file that is no memories.md, and the ids of those that are in the memory already.

    Raises Unreadable, as `import_file` does.
    """
    found = list_items.find(memories_md.decoded(data), latest=_latest())
    every, there = catalogue(owner), reads.find_notes(owner, [memory.id for memory in found.memories])
    return found, {each.id for each in found.memories if each.id in there or every.saying(alike.said_by(each.content))}


@contextmanager
def _turn(by: ChangeContext, owner: str) -> Iterator[None]:
    """Wait for nobody: one import of an owner and by an actor at a time.

    Eight at once, by one token, delayed every page by up to 12 s: each uses the processor for seconds.
    """
    names = _TURN.format(owner), f"import by {type(by.actor).__name__} {by.actor.pk}"
    try:
        with turns.taken(*names, by=by.operation):
            yield
    except turns.Taken:
        raise Refusal(
            _("Another import is under way. When it is over, this one can be sent again."), code="import_under_way"
        ) from None


def is_under_way(owner: str) -> bool:
    """Whether a memories.md is being imported into this memory, or checked against it."""
    return turns.is_taken(_TURN.format(owner))


def _latest() -> date:
    """Return the last day a memory may be from: east of Greenwich it may be the next day."""
    return timezone.now().date() + timedelta(days=1)


def import_memories(*, by: ChangeContext, owner: str, parsed: Parsed) -> ImportOutcome:
    """Create and change the notes of a memories.md.

    A note with a known id is changed where the file differs. Fields the format does not have (confidence, category,
    rationale, whether it is superseded …) stay, except the source "a person" when an agent imports another text.
    Nothing is deleted.

    Raises:
        `note_invalid`: a memory is not a valid note; nothing was changed.
        `not_allowed`, `rejected_before`, NotesChanged, `too_many_pending`, `memory_full`: as for `notes.change_notes`.
    """
    if earlier := notes.earlier_outcome(by, owner):  # afterwards nothing in the file differs from the memory
        changes, outcome = earlier.changes, earlier
    else:
        commit = retrying(lambda: head_of_main(owner))
        parsed = _with_internal_ids(owner, parsed)
        changes, outcome = _changes(by, owner, parsed), None
        if changes:
            outcome = notes.change_notes(by=by, owner=owner, kind=Kind.IMPORT, changes=changes, base_commit=commit)
    unchanged = max(0, len(parsed.memories) - len(changes))  # list items that were brought in are known when repeated
    return ImportOutcome(changes, unchanged, parsed.skipped, outcome)


def _changes(by: ChangeContext, owner: str, parsed: Parsed) -> list[NoteChange]:
    """Return the change of each note that differs from the file's, and a new one where no note says the same."""
    every = catalogue(owner)
    known = reads.find_notes(owner, [memory.id for memory in parsed.memories])
    now = timezone.now()
    changes = []
    for memory in parsed.memories:
        before = known.get(memory.id)
        if before is not None and parsed.is_portable and memories_md.section_of(before.type) == memory.type:
            memory = replace(memory, type=before.type)
        elif before is None and every.saying(alike.said_by(memory.content)):
            continue
        after = _changed_note(by, before, memory, now) if before else _new_note(by, owner, memory, now)
        if after is before:
            continue
        notes.require_valid(after)
        changes.append(NoteChange(memory.id, before, after))
    return changes


def _with_internal_ids(owner: str, parsed: Parsed) -> Parsed:
    """Return the memories with the ids of existing notes: a portable file replaces ids that its readers do not know."""
    named = {memory.id for memory in parsed.memories}
    there = reads.find_notes(owner, named) if any(map(memories_md.is_portable_id, named)) else {}
    if len(there) == len(named):
        return parsed
    own = {replaced: id for id, replaced in portable_ids(owner).items() if id not in named}
    return replace(parsed, memories=tuple(replace(each, id=own.get(each.id, each.id)) for each in parsed.memories))


def _changed_note(by: ChangeContext, note: reads.Note, memory: Memory, now: datetime) -> reads.Note:
    """Return the note as the file has it; the same one where it differs in nothing."""
    changed = replace(note, content=memory.content, type=memory.type, tags=notes.tidied(memory.tags))
    if memory.created is not None and memory.created != note.created_at.date():
        changed = replace(changed, created_at=_midnight(memory.created))
    if note.source == NoteSource.USER and isinstance(by.actor, Agent) and changed.content != note.content:
        changed = replace(changed, source=NoteSource.IMPORT)
    return note if changed == note else notes.stamped(changed, now)


def _new_note(by: ChangeContext, owner: str, memory: Memory, now: datetime) -> reads.Note:
    is_of_today = memory.created in (None, now.date())
    began = now if is_of_today or memory.created is None else _midnight(memory.created)
    said = {"content": memory.content, "type": memory.type, "tags": notes.tidied(memory.tags), "created_at": began}
    return notes.new_note(by, owner, memory.id, now, source=NoteSource.IMPORT, **said)


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
