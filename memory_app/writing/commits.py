"""Commits on main and on the branches of proposals.

Only `approvals.services` and `approvals.recovery` call this; an import contract checks it. A commit message is a
subject and trailers. The ledger can be rebuilt from the trailers, the rows the commit changed, and the rows of
`default` with its operation id. No text of an agent or a person goes into a message, because it could not be erased.
"""

import time
import uuid
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime

import structlog
from django.utils import timezone

from memory_app.dolt.connections import (
    connection_of,
    dolt,
    dolt_of,
    dolt_transaction,
    head_of_main,
    one_after_another,
    open_at,
    retrying,
    transaction_on,
)
from memory_app.dolt.errors import BranchExists, DirtyMemory, NothingToCommit, OutcomeUnknown, RevisionNotFound
from memory_app.dolt.placement import database_for, place_of
from memory_app.dolt.types import SQUASHED, Author, Commit
from memory_app.models import Change, DirectWrite
from memory_app.runtime import deadlines
from memory_app.text.trailers import Trailers
from memory_app.writing.authors import ASSENT, UNKNOWN
from memory_app.writing.ledger import LedgerEntry, announce, record, time_of
from memory_app.writing.rows import TargetMoved, closes_circle, seal_plain, write_rows
from memory_app.writing.values import Write

log = structlog.get_logger(__name__)

#: Seconds another call may take to commit to the branch it created; that usually takes 10 ms.
_PATIENCE = 0.5


def write_main(
    work: str | tuple[Write, ...],
    *,
    entry: LedgerEntry,
    author: Author,
    subject: str,
    since: str | None = None,
    on_record: Callable[[str], object] | None = None,
) -> Change:
    """Write main: merge a reviewed commit or change rows, in one commit, and record it in the ledger.

    Retried from BEGIN while other writers commit first. A lost connection does not say whether the commit was made, so
    the log is searched for the operation id before another attempt.

    Args:
        work: the hash of a reviewed commit, which is merged, or rows.
        since: a commit of main from before the operation began; the head of main by default.
        on_record: called with the new commit's hash in the transaction that writes the ledger, to update `default`.

    Returns:
        The ledger's row of the new commit; with several targets, the row of the first.

    Raises:
        TargetMoved: a row is not at its `expected_sha256`, or a note would supersede itself in a circle.
        MergeConflict, AlreadyMerged, RevisionNotFound: see `dolt.errors`.
        NothingToCommit: the rows already have these values.
        DirtyMemory: main has uncommitted rows from outside Assent; `recover` commits them.
        EngineUnavailable, OutcomeUnknown: it is not known whether the commit was made; `recover` finds out.
    """

    def attempt() -> tuple[str, datetime]:
        with dolt_transaction(entry.owner) as verbs:
            if isinstance(work, str):
                at = timezone.now()
                message = entry.message(subject, at, most=verbs.merge_message_limit)
                return verbs.merge(work, message, author), at
            if len(work) == 1 and closes_circle(work[0]):  # an import supersedes no notes
                raise TargetMoved
            write_rows(work)
            # Inside the transaction, so that the ledger's times follow the order of the commits. After writing the
            # rows, so that no row is younger than its commit.
            at = timezone.now()
            return verbs.commit(entry.message(subject, at, most=verbs.commit_message_limit), author), at

    database = database_for(entry.owner)
    epoch = place_of(database).epoch
    if entry.proposal_id is None:
        announce(entry)
    try:
        hash_, at = _commit_once(attempt, entry, since)
    except (TargetMoved, NothingToCommit, DirtyMemory):
        if entry.proposal_id is None:
            DirectWrite.objects.filter(pk=entry.operation).delete()
        raise
    return record(database, hash_, entry, at, on_record, epoch=epoch)


def write_branch(
    name: str, *, base: str, writes: tuple[Write, ...], entry: LedgerEntry, author: Author, subject: str
) -> str:
    """Create branch `name` at commit `base` of the owner's database, with one commit. Return the hash of its head.

    Idempotent, also after a crash: a branch with this operation's commit is kept, one without it is recreated.

    Raises:
        RevisionNotFound: `base` cannot be read.
        NothingToCommit: the rows equal those at `base`.
    """

    owner = entry.owner

    def made() -> str | None:
        newest = dolt(owner).log(name, limit=1)[0]
        return newest.hash if Trailers.of(newest.message).operation == entry.operation else None

    def attempt() -> str:
        verbs = dolt(owner)
        try:
            verbs.create_branch(name, base)
        except BranchExists:
            if done := _wait_for(made):
                return done
            verbs.drop_branch(name)
            verbs.create_branch(name, base)
        with open_at(owner, name), dolt_transaction(owner) as branch:
            write_rows(writes)
            message = entry.message(subject, timezone.now(), most=branch.commit_message_limit)
            return branch.commit(message, author)

    try:
        with one_after_another(owner):
            return retrying(attempt)
    except (TargetMoved, BranchExists, RevisionNotFound):
        # Another process may have written the same branch first, after this one's lease expired.
        done = retrying(lambda: made() if dolt(owner).exists(name) else None)
        if done is None:
            raise
        return done


def put_back(owner: str, name: str, head: str) -> bool:
    """Put branch `name` at a commit that main contains: of a change that was approved, and undone since.

    Return whether main contains it; nothing is done otherwise.
    """
    verbs = dolt(owner)
    with suppress(RevisionNotFound):
        if verbs.was_on_main(head):
            with one_after_another(owner), suppress(BranchExists):
                if verbs.exists(name) and verbs.head(name) != head:
                    retrying(lambda: verbs.drop_branch(name))
                retrying(lambda: verbs.create_branch(name, head))
            return True
    return False


def _wait_for(made: Callable[[], str | None]) -> str | None:
    """Return what `made` returns, looked at until another call may have finished; None when nobody makes it.

    A branch without its commit is what a crash left, or what another call is writing. Written anew under that call,
    the branch would end at another commit than the one it records.
    """
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while True:
        try:
            if done := made():
                return done
        except RevisionNotFound:  # dropped
            return None
        if time.monotonic() >= end:
            return None
        time.sleep(0.02)


def drop_branch(owner: str, name: str) -> None:
    """Drop the branch of a proposal about this owner, if it exists."""
    with one_after_another(owner):
        retrying(lambda: dolt(owner).drop_branch(name))


def commit_schema(database: str) -> None:
    """Commit what a migration left in the working set of a database's main, if anything."""

    def attempt() -> str:
        with transaction_on(database, takes_stray_rows=True) as verbs:
            return verbs.commit("Migrate the schema of the memory", ASSENT)

    if dolt_of(database).dirty_tables():
        with suppress(NothingToCommit):
            retrying(attempt)


def squash(database: str, keep_as: str) -> tuple[str, dict[str, str]]:
    """Put one commit in the place of a database's history, with all texts sealed; see `DoltOperations.squash`.

    Nobody else may write the database.

    Returns:
        The commit, and the hashes of rows that were not sealed, each with the one it has now.
    """
    sealed: dict[str, str] = {}
    entry = LedgerEntry(action=SQUASHED, owner="", targets=(), operation=uuid.uuid4().hex)
    DirectWrite.objects.create(operation=entry.operation, action=entry.action)
    with transaction_on(database) as verbs:
        message = entry.message("Squash the history", timezone.now(), most=verbs.commit_message_limit)
        hash_ = verbs.squash(keep_as, message, ASSENT, lambda: sealed.update(seal_plain(verbs)))
    # Told apart from one that somebody changes later. Empty after a crash.
    DirectWrite.objects.filter(pk=entry.operation).update(comment=hash_)
    return hash_, sealed


def commit_dirt(database: str, operation: str) -> Commit | None:
    """Commit uncommitted rows on a database's main as author `unknown`; return None when there are none.

    Otherwise they would become part of the next commit, under the name of its author.
    """
    dirty = dolt_of(database).dirty_tables()
    if not dirty:
        return None
    # No owner: the rows may belong to several.
    entry = LedgerEntry(action=Change.Action.RECOVERED, owner="", targets=(), operation=operation)
    subject = f"Uncommitted changes found in {', '.join(dirty)}"
    try:
        with transaction_on(database, takes_stray_rows=True) as verbs:
            hash_ = verbs.commit(entry.message(subject, timezone.now(), most=verbs.commit_message_limit), UNKNOWN)
    except NothingToCommit:
        return None
    return dolt_of(database).log(hash_, limit=1)[0]


def _commit_once(
    attempt: Callable[[], tuple[str, datetime]], entry: LedgerEntry, since: str | None
) -> tuple[str, datetime]:
    """Run `attempt`, and return the commit and the time in its trailer; after a lost connection, look for its commit
    before another attempt."""
    owner, database = entry.owner, database_for(entry.owner)
    before = since or retrying(lambda: head_of_main(owner))
    try:
        return retrying(attempt)
    except Exception as error:
        if not dolt(owner).lost_connection(error):
            raise
        connection_of(database).close()
        log.warning("memory_connection_lost", operation=entry.operation)
        try:
            done = dolt(owner).find_operation(entry.operation, before)
        except Exception as unreachable:
            raise OutcomeUnknown(entry.operation) from unreachable
        return (done.hash, time_of(database, done)) if done else retrying(attempt)
