"""The one way to write main, and the way to write a proposal's branch.

Called by `approvals.services` only (an import contract keeps it so). Every commit message ends in
trailers, from which the ledger can be rebuilt; they hold no text of an agent or a person.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog
from django.db import connection as default_connection
from django.db import transaction
from django.utils import timezone

from memory_app import progress, recall
from memory_app.dolt.connections import connection, dolt, dolt_transaction, head_of_main, open_at, retrying
from memory_app.dolt.errors import NothingToCommit, OutcomeUnknown, RevisionNotFound
from memory_app.dolt.types import Author, Commit
from memory_app.models import Change, MemoryBlock, Note, block_id, note_pk
from memory_app.numbering import in_order
from memory_app.progress import Stage
from memory_app.trailers import Trailers
from memory_app.writes import BlockWrite, NoteWrite, Write

log = structlog.get_logger(__name__)

T = TypeVar("T")

ASSENT = Author("Assent", "assent@assent.invalid")
UNKNOWN = Author("unknown", "unknown@assent.invalid")


def person(username: str, name: str = "") -> Author:
    """The author line of a person. The address only tells people and agents apart: real ones would
    stay in the log for ever."""
    return Author(name or username, f"{username}@person.assent.invalid")


def agent(name: str) -> Author:
    return Author(name, f"{name}@agent.assent.invalid")


#: Rows in one statement; SQLite's bound of 32,766 parameters allows 1,800 notes.
ROWS = 500

#: DoltLite refuses a message somewhere above 20,000 characters. The whole text is in the proposal's row,
#: and what an import changed is in the difference its commit makes.
MOST_TEXT = 4_000
MOST_TARGETS = 50


@dataclass(frozen=True)
class Entry:
    """What a commit does, to whom, by whom: the trailers of its message and its row in the ledger.

    Args:
        operation: 32 hexadecimal digits, one per attempt; how a commit is found again after a lost
            connection or a crash.
        actor: username of the person who decided or edited, empty for nobody.
        targets: (kind, label or id) pairs; more than one for an import.
    """

    action: str
    owner: str
    targets: tuple[tuple[str, str], ...]
    operation: str
    actor: str = ""
    agent: str = ""
    proposal_id: int | None = None
    comment: str = ""

    def message(self, subject: str, body: str = "") -> str:
        """A commit message: subject, free text, trailers last (design.md §3 rule 10)."""
        trailers = [("Action", self.action), ("Owner", self.owner)]
        if len(self.targets) <= MOST_TARGETS:
            trailers += [("Target", f"{kind}/{target}") for kind, target in self.targets]
        else:
            trailers.append(("Targets", str(len(self.targets))))
        if self.proposal_id is not None:
            trailers.append(("Proposal", str(self.proposal_id)))
        if self.agent:
            trailers.append(("Agent", self.agent))
        if self.actor:
            trailers.append(("Reviewed-by" if self.proposal_id is not None else "Actor", self.actor))
        trailers.append(("Operation", self.operation))
        text = body.strip()
        if len(text) > MOST_TEXT:
            text = text[: MOST_TEXT - 1] + "…"
        parts = [" ".join(subject.split())[:200], text, "\n".join(f"{name}: {value}" for name, value in trailers)]
        return "\n\n".join(part for part in parts if part)


@dataclass(frozen=True)
class Merge:
    """Merge a reviewed commit, by its hash."""

    head: str


class TargetMoved(Exception):
    """The row was not what the writer had been shown; nothing was written.

    Attributes:
        current: the block as it is now, None when there is none.
    """

    def __init__(self, current: recall.Block | None) -> None:
        self.current = current
        super().__init__("the target changed meanwhile")


def write_main(
    work: Merge | tuple[Write, ...], *, entry: Entry, author: Author, subject: str, body: str = ""
) -> Change:
    """Write main: merge a reviewed commit or change rows, in one commit, and record it in the ledger.

    Retried from BEGIN while other writers are first; after a lost connection the operation id is looked
    for before anything is tried again (design.md §3 rule 4).

    Returns:
        The ledger's row of the new commit; of several, that of the first target.

    Raises:
        TargetMoved: a row is not at its `expected_sha256`, or a note would be superseded by itself in the end.
        MergeConflict, AlreadyMerged, RevisionNotFound: see `dolt.errors`.
        NothingToCommit: the rows are already as asked.
        DirtyMemory: somebody wrote outside; `recover` deals with it.
        EngineUnavailable, OutcomeUnknown: nothing is known to be written; recovery will tell.
    """
    message = entry.message(subject, body)

    def attempt() -> str:
        with dolt_transaction() as verbs:
            if isinstance(work, Merge):
                return verbs.merge(work.head, message, author)
            if len(work) == 1 and _closes_circle(work[0]):  # an import says of no note what took its place
                raise TargetMoved(None)
            _write(work)
            return verbs.commit(message, author)

    hash_ = _once(attempt, entry.operation)
    return record(hash_, entry, at=timezone.now())


def write_branch(
    name: str, *, base: str, writes: tuple[Write, ...], entry: Entry, author: Author, subject: str, body: str = ""
) -> str:
    """Make branch `name` at commit `base` with one commit on it; the head's hash.

    Done again after a crash it finishes what is there: a branch with this operation's commit is kept,
    one without it is made anew.

    Raises:
        RevisionNotFound: `base` cannot be read.
        NothingToCommit: the rows equal those at `base`.
    """
    message = entry.message(subject, body)

    def attempt() -> str:
        verbs = dolt()
        if verbs.exists(name):
            newest = verbs.log(name, limit=1)[0]
            if f"Operation: {entry.operation}" in newest.message.splitlines():
                return newest.hash
            verbs.drop_branch(name)
        verbs.create_branch(name, base)
        with open_at(name), dolt_transaction() as branch:
            _write(writes)
            return branch.commit(message, author)

    return retrying(attempt)


def find(operation: str, since: str) -> Commit | None:
    """The commit on main after `since` that an operation made, for whoever does not know whether it did."""
    return dolt().find_operation(operation, since)


def drop_branch(name: str) -> None:
    """Remove a proposal's branch; gone already is fine."""
    retrying(lambda: dolt().drop_branch(name))


def record(hash_: str, entry: Entry, at: datetime) -> Change:
    """Write the ledger's rows of a commit; rows that are there already stay (recovery comes twice).

    Returns:
        The row of the first target: an import has thousands, and nobody reads them all again.
    """
    same = {
        "commit": hash_,
        "owner": entry.owner,
        "action": entry.action,
        "actor": entry.actor,
        "agent": entry.agent,
        "proposal_id": entry.proposal_id,
        "comment": entry.comment,
        "at": default_connection.ops.adapt_datetimefield_value(at),
    }
    names = ", ".join(map(default_connection.ops.quote_name, [*same, "target_kind", "target"]))
    # Not bulk_create: with SQLite that takes 1.4 s for ten thousand rows, 1.1 of them to put the statement together.
    sql = (
        f"INSERT INTO {Change._meta.db_table} ({names}) "  # noqa: S608 (names of our own)
        f"VALUES ({', '.join(['%s'] * (len(same) + 2))}) ON CONFLICT DO NOTHING"
    )
    with transaction.atomic(), default_connection.cursor() as cursor:
        in_order(entry.owner)
        for number, some in enumerate(_portions(entry.targets)):
            progress.report(Stage.RECORDING, number * ROWS, len(entry.targets))
            cursor.executemany(sql, [(*same.values(), kind, target) for kind, target in some])
    kind, target = entry.targets[0]
    return Change.objects.get(commit=hash_, owner=entry.owner, target_kind=kind, target=target)


def time_of(commit: Commit) -> datetime:
    """When a commit found in the log was made, for its rows in the ledger.

    DoltLite's log has whole seconds and the ledger finer times: taken as it is, a change found after a
    crash would come before an older one of the same second.
    """
    same_second = Change.objects.filter(at__gt=commit.at, at__lt=commit.at + timedelta(seconds=1))
    for hash_, at in same_second.order_by("-at").values_list("commit", "at").distinct():
        try:
            if dolt().is_ancestor(hash_, commit.hash):
                return at
        except RevisionNotFound:
            continue  # check_memory tells of it
    return commit.at


def commit_schema() -> None:
    """Commit whatever a migration left in the working set of main; nothing when there is nothing."""

    def attempt() -> str:
        current = connection()
        current.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        try:
            made = dolt().commit("Migrate the schema of the memory", ASSENT)
            current.commit()
            return made
        except BaseException:
            current.rollback()
            raise
        finally:
            current.set_autocommit(True)

    if dolt().dirty_tables():
        try:
            retrying(attempt)
        except NothingToCommit:
            return


def commit_dirt(operation: str) -> Commit | None:
    """Commit rows somebody left uncommitted on main, as author `unknown`; None when it is clean.

    Left there, they would go into the next writer's commit under that person's name.
    """
    verbs = dolt()
    dirty = verbs.dirty_tables()
    if not dirty:
        return None
    current = connection()
    current.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
    try:
        hash_ = verbs.commit(
            f"Uncommitted changes found in {', '.join(dirty)}\n\nAction: {Change.Action.RECOVERED}\n"
            f"Operation: {operation}",
            UNKNOWN,
        )
        current.commit()
    except NothingToCommit:
        current.rollback()
        return None
    except BaseException:
        current.rollback()
        raise
    finally:
        current.set_autocommit(True)
    return verbs.log(hash_, limit=1)[0]


def entry_of(commit: Commit) -> Entry | None:
    """The ledger entry of a commit on main, from its message; None for schema and branch commits.

    Reads the difference the commit makes where the message only counts its targets, or was made by
    somebody who did not write through here.
    """
    trailers = Trailers.of(commit.message)
    action = trailers.values.get("Action", "")
    if action not in Change.Action.values:
        return None
    owner, targets = trailers.values.get("Owner", ""), trailers.targets
    if not targets:
        found = targets_changed(commit.hash)
        owner = owner or next(iter(found), "")
        targets = found.get(owner, ())
    proposal = trailers.values.get("Proposal", "")
    return Entry(
        action=action,
        owner=owner,
        targets=targets,
        operation=trailers.values.get("Operation", ""),
        actor=trailers.values.get("Reviewed-by") or trailers.values.get("Actor", ""),
        agent=trailers.values.get("Agent", ""),
        proposal_id=int(proposal) if proposal.isdecimal() else None,
        comment=trailers.comment,
    )


def targets_changed(hash_: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """(kind, label or id) of the rows a commit changed, by owner."""
    parent = dolt().parent(hash_)
    owners: dict[str, list[tuple[str, str]]] = {}
    for kind, table, name in (("block", recall.BLOCKS, "label"), ("note", recall.NOTES, "note_id")):
        for row in dolt().diff_rows(table, parent, hash_):
            values = row.after or row.before or {}
            owners.setdefault(values["owner"], []).append((kind, str(values[name])))
    return {owner: tuple(targets) for owner, targets in owners.items()}


def _once(attempt: Callable[[], str], operation: str) -> str:
    """Run `attempt`; after a lost connection, find out whether it had been committed."""
    before = retrying(head_of_main)
    try:
        return retrying(attempt)
    except Exception as error:
        if not dolt().lost_connection(error):
            raise
        connection().close()
        log.warning("memory_connection_lost", operation=operation)
        try:
            done = dolt().find_operation(operation, since=before)
        except Exception as unreachable:
            raise OutcomeUnknown(operation) from unreachable
        return done.hash if done else retrying(attempt)


_NOTE_COLUMNS = (
    "owner",
    "content",
    "type",
    "category",
    "confidence",
    "rationale",
    "importance",
    "source",
    "session_id",
    "superseded_by",
    "superseded_reason",
    "superseded_at",
    "sha256",
    "created_at",
    "updated_at",
)


def _write(writes: tuple[Write, ...]) -> None:
    for write in writes:
        if isinstance(write, BlockWrite):
            _write_block(write)
    _write_notes([write for write in writes if isinstance(write, NoteWrite)])


def _write_notes(writes: list[NoteWrite]) -> None:
    """All at once: an import has thousands, and a query for each would take minutes."""
    keys = {note_pk(write.owner, write.id): write for write in writes}
    present: dict[UUID, str] = {}
    for some in _portions(list(keys)):
        present |= dict(Note.objects.filter(pk__in=some).values_list("pk", "sha256"))
    if any(present.get(key, "") != write.expected_sha256 for key, write in keys.items()):
        raise TargetMoved(None)
    rows = {
        key: _note_row(key, write.note)
        for key, write in keys.items()
        if write.note is not None and write.note.sha256 != present.get(key)
    }
    # A changed row is taken out and put in again: an UPDATE for each of ten thousand took 4 s.
    gone = [key for key, write in keys.items() if write.note is None or (key in rows and key in present)]
    for some in _portions(gone):
        Note.objects.filter(pk__in=some).delete()
    done = 0
    for some in _portions(list(rows)):
        progress.report(Stage.WRITING, done, len(rows))
        done += len(Note.objects.bulk_create([rows[key] for key in some]))
    progress.report(Stage.WRITING, done, len(rows))


def _closes_circle(write: Write) -> bool:
    """Whether a note would be superseded by itself in the end: what takes its place may have been superseded
    since that was looked at."""
    if not isinstance(write, NoteWrite) or write.note is None or write.note.superseded_by is None:
        return False
    replacement_id = write.note.superseded_by
    now = recall.find_note(write.owner, write.id)
    if now and now.superseded_by == replacement_id:
        return False  # so already; whoever corrects another word of it is not to blame
    return recall.closes_circle(write.owner, write.id, replacement_id)


def _portions(things: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(things), ROWS):
        yield things[start : start + ROWS]


def _note_row(key: UUID, note: recall.Note) -> Note:
    values = {name: getattr(note, name) for name in _NOTE_COLUMNS}
    return Note(id=key, note_id=note.id, tags=list(note.tags), **values)


def _write_block(write: BlockWrite) -> None:
    current = MemoryBlock.objects.filter(pk=block_id(write.owner, write.label)).first()
    if (current.sha256 if current else "") != write.expected_sha256:
        raise TargetMoved(recall.find_block(write.owner, write.label))
    if write.fields is None:
        if current:
            current.delete()
        return
    now = timezone.now()
    row = current or MemoryBlock(
        id=block_id(write.owner, write.label), owner=write.owner, label=write.label, created_at=now
    )
    for name in ("title", "description", "body", "limit", "read_only", "schema_ref"):
        setattr(row, name, getattr(write.fields, name))
    sha256 = recall.row_sha256(vars(row))
    if sha256 == row.sha256:
        return  # as asked already; the commit will say that there is nothing to commit
    row.sha256 = sha256
    row.updated_at = now
    row.save(force_insert=current is None, force_update=current is not None)
