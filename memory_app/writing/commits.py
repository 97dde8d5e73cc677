"""The one way to write main, and the way to write a proposal's branch.

Called by `approvals.services` only (an import contract keeps it so). A commit message is a subject and trailers;
with the rows the commit changed and what `default` knows of its operation, the ledger can be rebuilt from them.
No text of an agent or a person goes into a message: nothing there could ever be erased.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

import structlog
from django.utils import timezone

from memory_app.dolt.connections import connection, dolt, dolt_transaction, head_of_main, open_at, retrying
from memory_app.dolt.errors import BranchExists, DirtyMemory, NothingToCommit, OutcomeUnknown, RevisionNotFound
from memory_app.dolt.types import Author, Commit
from memory_app.models import Change, DirectWrite
from memory_app.text.trailers import Trailers
from memory_app.writing.authors import ASSENT, UNKNOWN
from memory_app.writing.ledger import LedgerEntry, announce, record, time_of
from memory_app.writing.rows import TargetMoved, closes_circle, write_rows
from memory_app.writing.values import Write

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class Merge:
    """Merge a reviewed commit, by its hash."""

    head: str


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
            if len(work) == 1 and closes_circle(work[0]):  # an import says of no note what took its place
                raise TargetMoved(None)
            write_rows(work)
            # Inside the transaction, so that times in the ledger follow the order of the commits; and after the
            # rows, none of which is then younger than the commit that made it.
            at = timezone.now()
            return CommitResult(verbs.commit(entry.message(subject, at, most=verbs.commit_message_limit), author), at)

    if entry.proposal_id is None:
        announce(entry)
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
            write_rows(writes)
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
