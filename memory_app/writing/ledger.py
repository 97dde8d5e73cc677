"""The ledger: one row per commit and target, and the trailers of a commit from which it can be made again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection as default_connection
from django.db import transaction

from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.runtime import progress
from memory_app.runtime.progress import Stage
from memory_app.text import trailers
from memory_app.text.trailers import Trailers
from memory_app.writing.ledger_lock import lock_owner
from memory_app.writing.rows import ROWS, portions

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


def announce(entry: LedgerEntry) -> None:
    """Put down who is about to write what, and why: without it nobody could tell this commit from a forged one,
    and the person's comment would be lost with a crash before the ledger has it."""
    row = DirectWrite(
        operation=entry.operation, owner=entry.owner, action=entry.action, actor=entry.actor, comment=entry.comment
    )
    DirectWrite.objects.bulk_create([row], ignore_conflicts=True)


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
