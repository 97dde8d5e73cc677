"""The ledger: one row per commit and target, and the trailers of commits from which it can be rebuilt."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection as default_connection
from django.db import transaction

from memory_app import reads
from memory_app.databases import prepared
from memory_app.databases.prepared import batched
from memory_app.databases.row_order import count_write
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.errors import MemoryMoving, RevisionNotFound
from memory_app.dolt.placement import lock_owner_at, place_of
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite
from memory_app.text import trailers

#: Targets listed in a message; above this number it only contains their count. The commit's diff has them all.
MOST_TARGETS = 50


@dataclass(frozen=True)
class LedgerEntry:
    """What a commit does, to whose memory, by whom: its trailers and its row in the ledger.

    Args:
        operation: 32 hexadecimal digits, one per attempt; identifies the commit after a lost connection or a crash.
        actor: username of the person who decided or edited, empty when there is none.
        targets: (kind, label or id) pairs; more than one for an import.
        undoes: of an undone decision about a proposal, the commit that it had made.
    """

    action: str
    owner: str
    targets: tuple[tuple[str, str], ...]
    operation: str
    actor: str = ""
    agent: str = ""
    proposal_id: int | None = None
    comment: str = ""
    undoes: str = ""

    def message(self, subject: str, at: datetime, *, most: int) -> str:
        """Return a commit message: the subject, then trailers.

        Args:
            at: the time of the change, as in the ledger.
            most: bytes the engine keeps; see `trailers.message` for what is left out above that.
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
                ("Undoes", self.undoes),
                ("At", trailers.written(at)),
                ("Operation", self.operation),
            ],
            most=most,
        )


def announce(entry: LedgerEntry) -> None:
    """Write the `DirectWrite` row of a commit that is about to be made.

    It distinguishes the commit from a forged one, and keeps the person's comment if a crash prevents the ledger row;
    lists of notes look at what is pending.
    """
    said = {name: getattr(entry, name) for name in ("operation", "owner", "action", "actor", "comment")}
    row = DirectWrite(pending=entry.targets[0][1], **said)
    DirectWrite.objects.bulk_create(
        [row], update_conflicts=True, unique_fields=["operation"], update_fields=["pending"]
    )


def record(
    database: str,
    hash_: str,
    entry: LedgerEntry,
    at: datetime,
    on_record: Callable[[str], object] | None = None,
    *,
    epoch: int,
) -> Change:
    """Write the ledger's rows of a commit in a database; existing rows stay, since recovery may record a commit twice.

    With several targets, only those the commit changed get a row: some notes of an import may already be up to date.

    Args:
        on_record: see `write_main`.
        epoch: of the database, before the commit was made or found.

    Returns:
        The row of the first target; an import has thousands.

    Raises:
        MemoryMoving: the database moved since; the commit may have been left behind.
    """
    targets = entry.targets
    if len(targets) > 1:
        # Sorted, so that a rebuilt ledger has the same order.
        commit = dolt_of(database).log(hash_, limit=1)[0]
        targets = targets_changed(database, commit).get(entry.owner, targets)
    same = {
        "database": database,
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
    # Not bulk_create: on SQLite it takes 1.4 s for ten thousand rows, of which 1.1 s build the statement.
    sql = (
        f"INSERT INTO {Change._meta.db_table} ({names}) "  # noqa: S608 (names of our own)
        f"VALUES ({', '.join(['%s'] * (len(same) + 2))}) ON CONFLICT DO NOTHING"
    )
    with transaction.atomic(), default_connection.cursor() as cursor:
        lock_owner_at(database, entry.owner, epoch)
        rows = [(*same.values(), kind, target) for kind, target in targets]
        if len(rows) == 1:  # on PostgreSQL, executemany opens a pipeline
            count_write(entry.owner, sql, rows[0])
        else:
            count_write(entry.owner)
            for some in batched(rows):
                cursor.executemany(sql, some)
        if entry.proposal_id is None or entry.undoes:
            prepared.update(DirectWrite, {"pending": None}, where={"operation": entry.operation})
        if on_record:
            on_record(hash_)
    kind, target = targets[0]
    return Change(target_kind=kind, target=target, **same | {"at": at})


def record_found(
    database: str,
    commit: Commit,
    entry: LedgerEntry,
    *,
    at: datetime | None = None,
    on_record: Callable[[str], object] | None = None,
) -> Change:
    """Write the ledger's rows of a commit that was found in a database: its writer died before it did.

    Args:
        at: its time, if known more precisely than from the commit.
    """
    epoch = place_of(database).epoch
    if not settings.EMBEDDED_MEMORY and not dolt_of(database).was_on_main(commit.hash):
        raise MemoryMoving(f"{commit.hash} was found where {database} is no more")
    return record(database, commit.hash, entry, at or time_of(database, commit), on_record, epoch=epoch)


def time_of(database: str, commit: Commit) -> datetime:
    """Return the time of a commit found in the log, for its rows in the ledger.

    The trailer `At` contains it, except in old commits and in those made outside Assent. DoltLite's log has whole
    seconds, the ledger microseconds: without a correction, a change would precede an older one of the same second.
    """
    if at := trailers.Trailers.of(commit.message).at:
        return at
    same_second = Change.objects.filter(database=database, at__gt=commit.at, at__lt=commit.at + timedelta(seconds=1))
    for hash_, at in same_second.order_by("-at").values_list("commit", "at").distinct():
        try:
            if dolt_of(database).is_ancestor(hash_, commit.hash):
                return at
        except RevisionNotFound:
            continue  # check_memory reports it
    return commit.at


def targets_changed(database: str, commit: Commit) -> dict[str, tuple[tuple[str, str], ...]]:
    """Return (kind, label or id) of the rows a commit of main changed, sorted, by owner; empty for a schema change.

    Read from the rows, not from the message: every client of the engine can write any message.

    Raises:
        RevisionNotFound: the commit, or the one before it, cannot be read.
    """
    if not commit.parents:
        return {}
    owners: dict[str, set[tuple[str, str]]] = {}
    for kind, (table, name) in reads.TABLES.items():
        for sides in dolt_of(database).diff_rows(table, commit.parents[0], commit.hash, columns=("owner", name)):
            for values in sides:
                if values:
                    owners.setdefault(str(values["owner"]), set()).add((kind, str(values[name])))
    return {owner: tuple(sorted(targets)) for owner, targets in sorted(owners.items())}
