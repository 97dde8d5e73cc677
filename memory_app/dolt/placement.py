"""Which database has an owner's memory, and on which server that database is.

An owner's database is chosen by the first write and never changes: only whole databases move. So it is looked up until
it is known, and then remembered while there is room. Where a database is, and whether it moves, is read again every
`FRESH` seconds; embedded databases are files that do not move, so nothing is read.
"""

import os
import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, connection, transaction
from django.db.models import BooleanField, ExpressionWrapper, F, Q
from django.db.models.functions import Now

from memory_app.databases.prepared import batched
from memory_app.databases.row_order import lock_owner
from memory_app.dolt.errors import EngineUnavailable, MemoryMoving
from memory_app.dolt.types import FIRST
from memory_app.models import MemoryDatabase, MemoryOwner

#: What a database may be called. The ending names its file, or database, beside the first one's.
NAME = re.compile(rf"{FIRST}(_[a-z0-9]{{1,20}})?")
#: The ending of the files that say that an embedded database is not to be written.
_HELD = ".held"
#: Seconds until others may write again where a process died that kept a database from being written.
LEASE = 30
#: Seconds for which a process believes where databases are.
FRESH = 1.0

#: Owner → database, for those that have one. So many take 9 MB; then all are forgotten.
_known: dict[str, str] = {}
_MOST_KNOWN = 50_000


@dataclass(frozen=True)
class DatabasePlace:
    """Where a database is, as this process last read it.

    Args:
        server: see `MemoryDatabase.server`.
        epoch: increases when the database moves.
    """

    server: str = ""
    epoch: int = 0
    is_moving: bool = False


_HERE = DatabasePlace()
_IS_MOVING = ExpressionWrapper(Q(moving_until__gt=Now()), output_field=BooleanField())

_read_at = float("-inf")
_places: dict[str, DatabasePlace] = {}


def databases() -> list[str]:
    """Return the names of all memory databases, the first one first."""
    return [FIRST, *sorted(name for name, place in _all_places().items() if name != FIRST and place.epoch >= 0)]


def of_database(database: str) -> Q:
    """Return the condition on rows with an `owner` that their memory is in this database."""
    if database == FIRST:
        return ~Q(owner__in=MemoryOwner.objects.exclude(database=FIRST).values("owner"))
    return Q(owner__in=MemoryOwner.objects.filter(database=database).values("owner"))


def database_of(owner: str) -> str:
    """Return the database to read an owner's memory from; without one, the first, where there is nothing of them."""
    return _placed([owner]).get(owner, FIRST)


def by_database(owners: Iterable[str]) -> dict[str, list[str]]:
    """Return the owners in each database, as `database_of` does, with one statement for those not looked up yet."""
    asked = list(dict.fromkeys(owners))
    placed = _placed(asked)
    grouped: dict[str, list[str]] = {}
    for owner in asked:
        grouped.setdefault(placed.get(owner, FIRST), []).append(owner)
    return grouped


def database_for(owner: str) -> str:
    """Return the database to write an owner's memory to; the first write of an owner chooses it.

    Raises:
        MemoryMoving: it is being moved to another server, or its history is squashed.
        EngineUnavailable: no database takes new owners.
    """
    database = _placed([owner]).get(owner) or _place(owner)
    if is_moving(database):
        raise MemoryMoving(f"{database} is being moved")
    return database


def put_in(owner: str, database: str) -> None:
    """Place an owner whose rows were found in a database."""
    if not _placed([owner]):
        MemoryOwner.objects.bulk_create([MemoryOwner(owner=owner, database_id=database)], ignore_conflicts=True)


def _placed(owners: Sequence[str]) -> dict[str, str]:
    """Return the databases of those owners that have one."""
    found = {owner: database for owner in owners if (database := _known.get(owner))}
    for some in batched([owner for owner in owners if owner not in found]):
        read = dict(MemoryOwner.objects.filter(pk__in=some).values_list("pk", "database_id"))
        _remember(read)
        found |= read
    return found


def _place(owner: str) -> str:
    """Choose the database with the fewest owners for one who has none, unless another process just did."""
    owners, names = MemoryOwner._meta.db_table, MemoryDatabase._meta.db_table
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {owners} (owner, database_id) SELECT %s, name FROM {names} WHERE takes_owners "  # noqa: S608
            "ORDER BY owners, name LIMIT 1 ON CONFLICT (owner) DO NOTHING RETURNING database_id",
            [owner],
        )
        if made := cursor.fetchone():
            MemoryDatabase.objects.filter(name=made[0]).update(owners=F("owners") + 1)
            _remember({owner: made[0]})
    if placed := _placed([owner]):
        return placed[owner]
    raise EngineUnavailable("no database of the memory takes new owners")


def _remember(placed: dict[str, str]) -> None:
    def keep() -> None:
        if len(_known) >= _MOST_KNOWN:
            _known.clear()
        _known.update(placed)

    transaction.on_commit(keep)  # not before the rows are there to stay


def place_of(database: str) -> DatabasePlace:
    """Return where a database is. Raises EngineUnavailable for one that is not in the table."""
    if settings.EMBEDDED_MEMORY:
        return _HERE
    global _read_at, _places
    place, now = _places.get(database), time.monotonic()
    if now - _read_at >= FRESH or place is None or place.epoch < 0:
        _places, _read_at = _all_places(), now
        place = _places.get(database)
    if place is None and database != FIRST:
        raise EngineUnavailable(f"there is no memory database {database}")
    return place or _HERE


def marker_of(database: str) -> Path:
    """Return the file that says, by its time, that an embedded database is not to be written for `LEASE` seconds."""
    return Path(settings.DATA_DIR) / f"{database}{_HELD}"


def is_moving(database: str) -> bool:
    """Whether a database is not to be written now: it is being moved, or its history is squashed."""
    if not settings.EMBEDDED_MEMORY:
        return place_of(database).is_moving
    try:  # each write asks four times, and making a Path takes longer than the look
        return time.time() - os.stat(f"{settings.DATA_DIR}/{database}{_HELD}").st_mtime < LEASE
    except FileNotFoundError:
        return False


def _all_places() -> dict[str, DatabasePlace]:
    rows = MemoryDatabase.objects.order_by().values_list("name", "server", "epoch", _IS_MOVING)
    try:
        return {name: DatabasePlace(server, epoch, bool(moving)) for name, server, epoch, moving in rows}
    except DatabaseError:
        if MemoryDatabase._meta.db_table in connection.introspection.table_names():
            raise
        return {}  # about to be migrated


def look_again() -> None:
    """Read where the databases are before it is next asked."""
    global _read_at
    _read_at = float("-inf")


def forget() -> None:
    """Forget what this process remembers, for another `default`: after a restore, and between tests."""
    _known.clear()
    look_again()


def lock_owner_at(database: str, owner: str, epoch: int) -> None:
    """Lock the owner's rows as `row_order.lock_owner` does, and make sure that a write may still be acknowledged.

    In one statement: each change of the memory comes by here. A move that increases the epoch waits until the
    transaction has ended.

    Raises:
        MemoryMoving: the database moved, or began to, since the write began, so that its commit may be left behind.
    """
    if settings.EMBEDDED_MEMORY:
        lock_owner(owner)
        return
    rows = MemoryDatabase.objects.filter(name=database).order_by().values_list("epoch", _IS_MOVING)
    if connection.vendor == "postgresql":
        at_now, parameters = rows.query.sql_with_params()
        lock = "SELECT pg_advisory_xact_lock(hashtextextended(%s, 0)), now.* FROM (SELECT 1) AS one"
        sql = f"{lock} LEFT JOIN ({at_now} FOR SHARE) AS now ON TRUE"
        with connection.cursor() as cursor:
            cursor.execute(sql, [owner, *parameters])
            found = cursor.fetchone()[1:]
    else:
        found = rows.first() or (None, None)
    if (found[0] or 0, bool(found[1])) != (epoch, False):
        raise MemoryMoving(f"{database} moved")
