"""The one way to write main, and the way to write a proposal's branch.

Called by `approvals.services` only (an import contract keeps it so). A commit message is a subject and trailers;
with the rows the commit changed and what `default` knows of its operation, the ledger can be rebuilt from them.
No text of an agent or a person goes into a message: nothing there could ever be erased.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

import structlog
from django.db import IntegrityError, transaction
from django.db import connection as default_connection
from django.utils import timezone

from memory_app import reads
from memory_app.databases.prepared import Prepared, insert, update
from memory_app.dolt.connections import connection, dolt, dolt_transaction, head_of_main, open_at, retrying
from memory_app.dolt.errors import BranchExists, DirtyMemory, NothingToCommit, OutcomeUnknown, RevisionNotFound
from memory_app.dolt.types import Author, Commit
from memory_app.models import Change, DirectWrite, MemoryBlock, MemoryNote, TargetKind, block_id, note_pk
from memory_app.runtime import progress
from memory_app.runtime.progress import Stage
from memory_app.text import trailers
from memory_app.text.trailers import Trailers
from memory_app.writing.ledger_lock import lock_owner
from memory_app.writing.values import BlockWrite, NoteWrite, Write

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

#: More targets than these are counted in the message, not listed: the difference the commit makes has them.
MOST_TARGETS = 50


@dataclass(frozen=True)
class LedgerEntry:
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

    def message(self, subject: str, at: datetime, *, most: int) -> str:
        """Return a commit message: the subject, then trailers.

        Args:
            at: when the change is made; the ledger's time.
            most: bytes the engine keeps; see `trailers.message` for what is left out above it.
        """
        listed = len(self.targets) <= MOST_TARGETS
        return trailers.message(
            subject,
            [
                ("Action", self.action),
                ("Owner", self.owner),
                *((("Target", f"{kind}/{target}") for kind, target in self.targets) if listed else ()),
                ("Targets", "" if listed else str(len(self.targets))),
                ("Proposal", "" if self.proposal_id is None else str(self.proposal_id)),
                ("Agent", self.agent),
                ("Actor" if self.proposal_id is None else "Reviewed-by", self.actor),
                ("At", trailers.written(at)),
                ("Operation", self.operation),
            ],
            most=most,
        )


@dataclass(frozen=True)
class Merge:
    """Merge a reviewed commit, by its hash."""

    head: str


class TargetMoved(Exception):
    """The row was not what the writer had been shown; nothing was written.

    Attributes:
        current: the block as it is now, None when there is none.
    """

    def __init__(self, current: reads.Block | None) -> None:
        self.current = current
        super().__init__("the target changed meanwhile")


def write_main(
    work: Merge | tuple[Write, ...],
    *,
    entry: LedgerEntry,
    author: Author,
    subject: str,
    since: str | None = None,
    beside: Callable[[str], object] | None = None,
) -> Change:
    """Write main: merge a reviewed commit or change rows, in one commit, and record it in the ledger.

    Retried from BEGIN while other writers are first; after a lost connection the operation id is looked
    for before anything is tried again (design.md §3 rule 4).

    Args:
        since: a commit of main from before the operation began; asked for by default.
        beside: called with the new commit's hash in the transaction that records it: what `default` is to say of it.

    Returns:
        The ledger's row of the new commit; of several, that of the first target.

    Raises:
        TargetMoved: a row is not at its `expected_sha256`, or a note would be superseded by itself in the end.
        MergeConflict, AlreadyMerged, RevisionNotFound: see `dolt.errors`.
        NothingToCommit: the rows are already as asked.
        DirtyMemory: somebody wrote outside; `recover` deals with it.
        EngineUnavailable, OutcomeUnknown: nothing is known to be written; recovery will tell.
    """

    def attempt() -> CommitResult:
        with dolt_transaction() as verbs:
            if isinstance(work, Merge):
                at = timezone.now()
                message = entry.message(subject, at, most=verbs.merge_message_limit)
                return CommitResult(verbs.merge(work.head, message, author), at)
            if len(work) == 1 and _closes_circle(work[0]):  # an import says of no note what took its place
                raise TargetMoved(None)
            _write(work)
            # Inside the transaction, so that times in the ledger follow the order of the commits; and after the
            # rows, none of which is then younger than the commit that made it.
            at = timezone.now()
            return CommitResult(verbs.commit(entry.message(subject, at, most=verbs.commit_message_limit), author), at)

    if entry.proposal_id is None:
        _announce(entry)
    try:
        made = _once(attempt, entry, since)
    except (TargetMoved, NothingToCommit, DirtyMemory):
        if entry.proposal_id is None:
            DirectWrite.objects.filter(pk=entry.operation).delete()
        raise
    return record(made.hash, entry, at=made.at, beside=beside)


@dataclass(frozen=True)
class CommitResult:
    """A commit that was just made, and the time it says."""

    hash: str
    at: datetime


def _announce(entry: LedgerEntry) -> None:
    """Put down who is about to write what, and why: without it nobody could tell this commit from a forged one,
    and the person's comment would be lost with a crash before the ledger has it."""
    row = DirectWrite(
        operation=entry.operation, owner=entry.owner, action=entry.action, actor=entry.actor, comment=entry.comment
    )
    DirectWrite.objects.bulk_create([row], ignore_conflicts=True)


def write_branch(
    name: str, *, base: str, writes: tuple[Write, ...], entry: LedgerEntry, author: Author, subject: str
) -> str:
    """Make branch `name` at commit `base` with one commit on it; the head's hash.

    Done again after a crash it finishes what is there: a branch with this operation's commit is kept,
    one without it is made anew.

    Raises:
        RevisionNotFound: `base` cannot be read.
        NothingToCommit: the rows equal those at `base`.
    """

    def made() -> str | None:
        newest = dolt().log(name, limit=1)[0]
        return newest.hash if Trailers.of(newest.message).operation == entry.operation else None

    def attempt() -> str:
        verbs = dolt()
        try:
            verbs.create_branch(name, base)
        except BranchExists:
            if done := made():
                return done
            verbs.drop_branch(name)
            verbs.create_branch(name, base)
        with open_at(name), dolt_transaction() as branch:
            _write(writes)
            message = entry.message(subject, timezone.now(), most=branch.commit_message_limit)
            return branch.commit(message, author)

    try:
        return retrying(attempt)
    except (TargetMoved, BranchExists, RevisionNotFound):
        # Another process that makes the same, since this one outlived its lease, may have been first.
        done = retrying(lambda: made() if dolt().exists(name) else None)
        if done is None:
            raise
        return done


def find(owner: str, operation: str, since: str) -> Commit | None:
    """The commit on main after `since` that an operation on this owner's memory made, for a caller that does not
    know whether it did."""
    return dolt().find_operation(operation, since)


def drop_branch(owner: str, name: str) -> None:
    """Remove the branch of a proposal to this owner's memory; gone already is fine."""
    retrying(lambda: dolt().drop_branch(name))


def record(hash_: str, entry: LedgerEntry, at: datetime, beside: Callable[[str], object] | None = None) -> Change:
    """Write the ledger's rows of a commit; rows that are there already stay (recovery comes twice).

    Of several targets only those get a row that the commit changed: an import may find some of its notes as they
    are to be.

    Args:
        beside: see `write_main`.

    Returns:
        The row of the first target: an import has thousands, and nobody reads them all again.
    """
    targets = entry.targets
    if len(targets) > 1:
        # In one order, so that the ledger is the same when it is rebuilt.
        targets = targets_changed(dolt().log(hash_, limit=1)[0]).get(entry.owner, targets)
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
        lock_owner(entry.owner)
        for number, some in enumerate(portions(targets)):
            progress.report(Stage.RECORDING, number * ROWS, len(targets))
            rows = [(*same.values(), kind, target) for kind, target in some]
            if len(rows) == 1:  # many at once are a pipeline of their own, on PostgreSQL
                cursor.execute(sql, rows[0])
            else:
                cursor.executemany(sql, rows)
        if beside:
            beside(hash_)
    kind, target = targets[0]
    return Change(target_kind=kind, target=target, **same | {"at": at})


def time_of(commit: Commit) -> datetime:
    """When a commit found in the log was made, for its rows in the ledger.

    It says so itself, unless it is older than that trailer or was made by others. DoltLite's log has whole seconds
    and the ledger finer times: taken as it is, such a change would come before an older one of the same second.
    """
    if at := Trailers.of(commit.message).at:
        return at
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
        # No owner: it may be rows of several.
        entry = LedgerEntry(action=Change.Action.RECOVERED, owner="", targets=(), operation=operation)
        subject = f"Uncommitted changes found in {', '.join(dirty)}"
        hash_ = verbs.commit(entry.message(subject, timezone.now(), most=verbs.commit_message_limit), UNKNOWN)
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


def targets_changed(commit: Commit) -> dict[str, tuple[tuple[str, str], ...]]:
    """(kind, label or id) of the rows a commit of main changed, sorted, by owner; empty for a schema's.

    What the rows say, not what the message says: anybody who can speak to the engine can write a message.

    Raises:
        RevisionNotFound: the commit, or the one before it, cannot be read.
    """
    if not commit.parents:
        return {}
    owners: dict[str, set[tuple[str, str]]] = {}
    for kind, table, name in ((TargetKind.BLOCK, reads.BLOCKS, "label"), (TargetKind.NOTE, reads.NOTES, "note_id")):
        for row in dolt().diff_rows(table, commit.parents[0], commit.hash, columns=("owner", name)):
            for values in (row.before, row.after):
                if values:
                    owners.setdefault(str(values["owner"]), set()).add((kind, str(values[name])))
    return {owner: tuple(sorted(targets)) for owner, targets in sorted(owners.items())}


def _once(attempt: Callable[[], CommitResult], entry: LedgerEntry, since: str | None) -> CommitResult:
    """Run `attempt`; after a lost connection, find out whether it had been committed."""
    before = since or retrying(head_of_main)
    try:
        return retrying(attempt)
    except Exception as error:
        if not dolt().lost_connection(error):
            raise
        connection().close()
        log.warning("memory_connection_lost", operation=entry.operation)
        try:
            done = find(entry.owner, entry.operation, since=before)
        except Exception as unreachable:
            raise OutcomeUnknown(entry.operation) from unreachable
        return CommitResult(done.hash, time_of(done)) if done else retrying(attempt)


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
    if len(writes) == 1 and writes[0].note is not None and not writes[0].expected_sha256:
        _insert_note(writes[0].owner, writes[0].note)
        return
    keys = {note_pk(write.owner, write.id): write for write in writes}
    present: dict[UUID, str] = {}
    for some in portions(list(keys)):
        present |= _sha256s(some)
    if any(present.get(key, "") != write.expected_sha256 for key, write in keys.items()):
        raise TargetMoved(None)
    rows = {
        key: _note_row(key, write.note)
        for key, write in keys.items()
        if write.note is not None and write.note.sha256 != present.get(key)
    }
    # A changed row is taken out and put in again: an UPDATE for each of ten thousand took 4 s.
    gone = [key for key, write in keys.items() if write.note is None or (key in rows and key in present)]
    for some in portions(gone):
        MemoryNote.objects.filter(pk__in=some).delete()
    done = 0
    for some in portions(list(rows)):
        progress.report(Stage.WRITING, done, len(rows))
        if len(some) == 1:
            insert(rows[some[0]])
        else:
            MemoryNote.objects.bulk_create([rows[key] for key in some])
        done += len(some)
    progress.report(Stage.WRITING, done, len(rows))


def _insert_note(owner: str, note: reads.Note) -> None:
    """One that is new: the key says whether it is, without asking first."""
    try:
        insert(_note_row(note_pk(owner, note.id), note))
    except IntegrityError as error:
        raise TargetMoved(None) from error


_SHA256 = Prepared(lambda key: MemoryNote.objects.filter(pk=key).order_by().values_list("sha256", flat=True), key=UUID)


def _sha256s(keys: Sequence[UUID]) -> dict[UUID, str]:
    if len(keys) == 1:
        (key,) = keys
        found = _SHA256.first(key=key)
        return {} if found is None else {key: found}
    return dict(MemoryNote.objects.filter(pk__in=keys).order_by().values_list("pk", "sha256"))


def _closes_circle(write: Write) -> bool:
    """Whether a note would be superseded by itself in the end: what takes its place may have been superseded
    since that was looked at."""
    if not isinstance(write, NoteWrite) or write.note is None or write.note.superseded_by is None:
        return False
    replacement_id = write.note.superseded_by
    now = reads.find_note(write.owner, write.id)
    if now and now.superseded_by == replacement_id:
        return False  # so already; whoever corrects another word of it is not to blame
    return reads.closes_circle(write.owner, write.id, replacement_id)


def portions(things: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield `things` in parts of `ROWS`, as many as one statement takes."""
    for start in range(0, len(things), ROWS):
        yield things[start : start + ROWS]


def _note_row(key: UUID, note: reads.Note) -> MemoryNote:
    values = {name: getattr(note, name) for name in _NOTE_COLUMNS}
    return MemoryNote(id=key, note_id=note.id, tags=list(note.tags), **values)


def _write_block(write: BlockWrite) -> None:
    """Raises TargetMoved."""
    key, now = block_id(write.owner, write.label), timezone.now()
    if write.fields is None:
        if not MemoryBlock.objects.filter(pk=key, sha256=write.expected_sha256).delete()[0]:
            _require_as_expected(write)
        return
    content = asdict(write.fields)
    sha256 = reads.row_sha256(content | {"label": write.label})
    if sha256 == write.expected_sha256:
        _require_as_expected(write)
        return  # as asked already; the commit will say that there is nothing to commit
    values = content | {"sha256": sha256, "updated_at": now}
    if write.expected_sha256:
        if not update(MemoryBlock, values, where={"id": key, "sha256": write.expected_sha256}):
            raise TargetMoved(reads.find_block(write.owner, write.label))
        return
    _require_as_expected(write)
    insert(MemoryBlock(id=key, owner=write.owner, label=write.label, created_at=now, **values))


def _require_as_expected(write: BlockWrite) -> None:
    present = MemoryBlock.objects.filter(pk=block_id(write.owner, write.label)).values_list("sha256", flat=True).first()
    if (present or "") != write.expected_sha256:
        raise TargetMoved(reads.find_block(write.owner, write.label))
