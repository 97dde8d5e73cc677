"""Write versioned rows inside an open transaction of the memory; `commits` makes the commit."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields, replace
from uuid import UUID

from django.db import IntegrityError
from django.utils import timezone

from memory_app import reads, sealing
from memory_app.databases.prepared import Prepared, batched, insert, update
from memory_app.dolt.operations import DoltOperations
from memory_app.dolt.types import aware
from memory_app.models import MemoryBlock, MemoryNote, TargetKind, block_id, note_pk
from memory_app.writing.values import BlockFields, BlockWrite, NoteWrite, Write


class TargetMoved(Exception):
    """The row changed since the writer read it; nothing was written."""


def write_rows(writes: tuple[Write, ...]) -> None:
    for write in writes:
        if isinstance(write, BlockWrite):
            write_block(write)
    _write_notes([write for write in writes if isinstance(write, NoteWrite)])


def _write_notes(writes: list[NoteWrite]) -> None:
    """Write all notes in a few statements: an import has thousands, and one query each would take minutes."""
    if len(writes) == 1 and writes[0].note is not None and not writes[0].expected_sha256:
        try:  # a duplicate key says that there is one, so no query is needed before
            insert(*_note_rows({note_pk(writes[0].owner, writes[0].id): writes[0].note}).values())
        except IntegrityError as error:
            raise TargetMoved from error
        return
    keys = {note_pk(write.owner, write.id): write for write in writes}
    present: dict[UUID, str] = {}
    for some in batched(list(keys)):
        present |= _sha256s(some)
    if any(present.get(key, "") != write.expected_sha256 for key, write in keys.items()):
        raise TargetMoved
    rows = _note_rows(
        {
            key: write.note
            for key, write in keys.items()
            if write.note is not None and write.note.sha256 != present.get(key)
        }
    )
    # Changed rows are deleted and inserted: an UPDATE for each of ten thousand took 4 s.
    gone = [key for key, write in keys.items() if write.note is None or (key in rows and key in present)]
    for some in batched(gone):
        MemoryNote.objects.filter(pk__in=some).delete()
    for some in batched(list(rows)):
        if len(some) == 1:
            insert(rows[some[0]])
        else:
            MemoryNote.objects.bulk_create([rows[key] for key in some])


_SHA256 = Prepared(lambda key: MemoryNote.objects.filter(pk=key).order_by().values_list("sha256", flat=True), key=UUID)


def _sha256s(keys: Sequence[UUID]) -> dict[UUID, str]:
    if len(keys) == 1:
        (key,) = keys
        found = _SHA256.first(key=key)
        return {} if found is None else {key: found}
    return dict(MemoryNote.objects.filter(pk__in=keys).order_by().values_list("pk", "sha256"))


def closes_circle(write: Write) -> bool:
    """Whether a note would supersede itself in a circle: its replacement may have been superseded since the check."""
    if not isinstance(write, NoteWrite) or write.note is None or write.note.superseded_by is None:
        return False
    replacement_id = write.note.superseded_by
    now = reads.find_note(write.owner, write.id)
    if now and now.superseded_by == replacement_id:
        return False  # already so; this write changes another field
    return reads.closes_circle(write.owner, write.id, replacement_id)


def _note_rows(notes: Mapping[UUID, reads.Note]) -> dict[UUID, MemoryNote]:
    cells = sealing.seal(TargetKind.NOTE, [(note.owner, note.id, vars(note)) for note in notes.values()])
    unsaid = sealing.TEXTS[TargetKind.NOTE]
    return {
        key: MemoryNote(**vars(note) | {"id": key, "note_id": note.id} | unsaid | {"sealed": cell})
        for (key, note), cell in zip(notes.items(), cells, strict=True)
    }


def write_block(write: BlockWrite) -> None:
    """Write one block. Raise TargetMoved when it is not at its `expected_sha256`."""
    key, now = block_id(write.owner, write.label), timezone.now()
    if write.fields is None:
        if not MemoryBlock.objects.filter(pk=key, sha256=write.expected_sha256).delete()[0]:
            _require_as_expected(write)
        return
    content = asdict(write.fields)
    sha256 = reads.row_sha256(content | {"label": write.label})
    if sha256 == write.expected_sha256:
        _require_as_expected(write)
        return  # no change; the commit raises NothingToCommit
    (cell,) = sealing.seal(TargetKind.BLOCK, [(write.owner, write.label, content)])
    values = content | sealing.TEXTS[TargetKind.BLOCK] | {"sealed": cell, "sha256": sha256, "updated_at": now}
    if write.expected_sha256:
        if not update(MemoryBlock, values, where={"id": key, "sha256": write.expected_sha256}):
            raise TargetMoved
        return
    _require_as_expected(write)
    insert(MemoryBlock(id=key, owner=write.owner, label=write.label, created_at=write.made_at or now, **values))


def seal_plain(verbs: DoltOperations) -> dict[str, str]:
    """Seal the rows from before texts were sealed. Return the hashes that they had, each with its new one."""
    plain = [row for row in verbs.rows(reads.BLOCKS, None) if not row["sealed"]]
    for row in plain:
        said = BlockFields(**{each.name: row[each.name] for each in fields(BlockFields)})
        write_block(BlockWrite(row["owner"], row["label"], said, row["sha256"]))
        update(MemoryBlock, {"updated_at": aware(row["updated_at"])}, where={"id": UUID(row["id"])})
    notes = [reads.note_of(row) for row in verbs.rows(reads.NOTES, None) if not row["sealed"]]
    sealed = [replace(note, sha256=reads.note_sha256(vars(note))) for note in notes]
    _write_notes([NoteWrite(new.owner, new.id, new, old.sha256) for old, new in zip(notes, sealed, strict=True)])
    hashes = {old.sha256: new.sha256 for old, new in zip(notes, sealed, strict=True)}
    return hashes | {row["sha256"]: reads.row_sha256(row) for row in plain}


def _require_as_expected(write: BlockWrite) -> None:
    present = MemoryBlock.objects.filter(pk=block_id(write.owner, write.label)).values_list("sha256", flat=True).first()
    if (present or "") != write.expected_sha256:
        raise TargetMoved
