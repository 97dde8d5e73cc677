"""What an owner's search index reflects, and the lease of the process that brings it up to date.

Belongs here: everything that reads or locks the row `SearchIndex`; the marks in it move with the chunks (`store`).
Its statements are written as SQL: every save makes them all, and building one with the ORM takes as long as a row.
Not here: the chunks.
"""

from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.core.cache import cache
from django.db import DatabaseError, connection, transaction

from memory_app.databases import clock, prepared
from memory_app.databases.row_order import lock_owner
from memory_app.models import Change, Message, SearchIndex
from memory_app.runtime import deadlines
from memory_app.runtime.unavailable import of_cache
from memory_app.search import embedders

log = structlog.get_logger(__name__)

#: How long a process that writes chunks may take for one portion of them.
LEASE = timedelta(seconds=60)
#: Owners that each run of the beat compares with the ledger: of 100,000 each one within a day.
LOOKED_AT = 100
#: Owners that one statement asks for.
_AT_ONCE = 1_000
_LOOKED_UNTIL = "index_state.looked_until"


@dataclass(frozen=True)
class IndexState:
    """What an owner's chunks reflect, and what there is to reflect.

    Args:
        embedder: the name of the one that made the vectors; None where there is no index yet.
        commit: the one of main that the chunks reflect.
        version, floor: of the chunks; see `cache`.
        writes, writes_indexed: how many writes the row counts, and how many of them the chunks reflect.
    """

    owner: str
    embedder: str | None
    change_id: int
    message_id: int
    commit: str
    version: int
    floor: int
    newest_change: int
    newest_message: int
    writes: int
    writes_indexed: int

    @property
    def is_outdated(self) -> bool:
        """Whether the vectors are of another embedder, so that all chunks have to be made anew."""
        return self.embedder is not None and embedders.is_to_replace(self.embedder)

    @property
    def is_behind(self) -> bool:
        """Whether memory or conversations have changed since the chunks were brought up to them, or the embedder.

        The ledger says so itself. The count is asked too, so that what it takes for behind is settled.
        """
        is_missing = self.change_id < self.newest_change or self.message_id < self.newest_message
        return self.is_outdated or is_missing or self.writes_indexed < self.writes

    def is_behind_by(self, most: int) -> bool:
        """Whether the chunks do not reflect more than so many changes of the memory."""
        if self.newest_change - self.change_id <= most:  # which counts those of other owners too
            return False
        missing = Change.objects.filter(owner=self.owner, id__gt=self.change_id).order_by("id")
        return len(missing.values_list("id")[: most + 1]) > most


_INDEX, _CHANGES, _MESSAGES = (model._meta.db_table for model in (SearchIndex, Change, Message))
# The highest ids are asked for owner by owner, at the end of an index: grouping them reads that of the whole ledger.
_STATE = f"""
    SELECT o.owner, i.embedder, COALESCE(i.change_id, 0), COALESCE(i.message_id, 0), COALESCE(i."commit", ''),
        COALESCE(i.version, 0), COALESCE(i.floor, 0),
        (SELECT COALESCE(MAX(id), 0) FROM {_CHANGES} WHERE owner = o.owner),
        (SELECT COALESCE(MAX(id), 0) FROM {_MESSAGES} WHERE owner = o.owner),
        COALESCE(i.writes, 0), COALESCE(i.writes_indexed, 0)
    FROM (%(owners)s) o LEFT JOIN {_INDEX} i ON i.owner = o.owner
"""  # noqa: S608 (names of our own tables)
_ONE = _STATE % {"owners": "SELECT CAST(%s AS VARCHAR(64)) AS owner"}
# Each is a range of an index. A lease that is not ended may be that of a process that died.
_UNSETTLED = f"SELECT owner FROM {_INDEX} WHERE writes_indexed < writes OR busy_until IS NOT NULL"  # noqa: S608
_OUTDATED = [f"SELECT owner FROM {_INDEX} WHERE embedder {side} %s" for side in "<>"]  # noqa: S608


def state_of(owner: str) -> IndexState:
    """Return what an owner's index reflects, in one query, since every search and save asks."""
    with connection.cursor() as cursor:
        cursor.execute(_ONE, [owner])
        return IndexState(*cursor.fetchone())


def is_behind(owner: str) -> bool:
    return state_of(owner).is_behind


def owners_behind() -> list[str]:
    """Return the owners whose index is behind, for `/readyz` and the beat. An owner never searched has no index."""
    chosen = embedders.name_to_have()
    outdated = _OUTDATED if chosen is not None else []
    states: list[IndexState] = []
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([_UNSETTLED, *outdated]), [chosen] * len(outdated))
        owners = [*{owner for (owner,) in cursor.fetchall()}]
        # By name: PostgreSQL takes a third of all owners for unsettled, and would read all of their rows.
        for start in range(0, len(owners), _AT_ONCE):
            some = owners[start : start + _AT_ONCE]
            named = f"SELECT owner FROM {_INDEX} WHERE owner IN ({', '.join(['%s'] * len(some))})"  # noqa: S608
            cursor.execute(_STATE % {"owners": named}, some)
            states += [IndexState(*row) for row in cursor.fetchall()]
    return sorted(state.owner for state in states if state.is_behind)


def behind_by_the_ledger() -> list[str]:
    """Return who is behind of the next `LOOKED_AT` owners, by turns, whatever their rows count.

    A write counts itself in its own transaction, so that no crash comes between. What another program wrote, or a
    process of an older release, is found here, if no search or save of the owner finds it first.
    """
    after = of_cache(lambda: cache.get(_LOOKED_UNTIL, 0), 0, event="index_look_without_cache")
    rows = list(SearchIndex.objects.filter(pk__gt=after).order_by("pk").values_list("pk", "owner")[:LOOKED_AT])
    until = rows[-1][0] if len(rows) == LOOKED_AT else 0
    of_cache(lambda: cache.set(_LOOKED_UNTIL, until, timeout=None), None, event="index_look_without_cache")
    return [owner for _pk, owner in rows if is_behind(owner)]


def is_busy(owner: str) -> bool:
    """Whether a process is writing the owner's chunks."""
    return SearchIndex.objects.filter(owner=owner, busy_until__gt=clock.now()).exists()


def take_lease(owner: str) -> bool:
    """Whether this process now has the lease: it alone writes the owner's chunks until the lease ends."""
    now = clock.now()
    until, at = (connection.ops.adapt_datetimefield_value(each) for each in (now + LEASE, now))
    for _ in range(2):
        with connection.cursor() as cursor:
            free = "(busy_until IS NULL OR busy_until <= %s)"
            cursor.execute(f"UPDATE {_INDEX} SET busy_until = %s WHERE owner = %s AND {free}", [until, owner, at])  # noqa: S608
            if cursor.rowcount:
                return True
        # A row that another process has just created has no lease yet. A search that took it for busy did not wait.
        _create_row(owner)
    return False


def _create_row(owner: str) -> None:
    """Create the owner's `SearchIndex` unless there is one.

    The lock waits for a deletion of messages that found no index and so removes no chunks (`store.forget_messages`).
    Without it, on PostgreSQL, the first index indexed the message that was being deleted, and kept it findable.
    """
    if not SearchIndex.objects.filter(owner=owner).exists():
        with transaction.atomic():
            lock_owner(owner)
            SearchIndex.objects.get_or_create(owner=owner)


def end_lease(owner: str) -> None:
    """End the lease, also after the deadline of the call."""
    deadlines.extend()
    try:
        prepared.update(SearchIndex, {"busy_until": None}, where={"owner": owner})
    except DatabaseError:  # the lease expires by itself
        log.exception("index_lease_kept", user_id=owner)


def lock(owner: str) -> None:
    """Keep others from writing the owner's chunks until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {_INDEX} SET version = version WHERE owner = %s", [owner])  # noqa: S608


def next_version(owner: str) -> int:
    """Return the next version of the chunks, and lock the owner's index until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE {_INDEX} SET version = version + 1 WHERE owner = %s RETURNING version", [owner])  # noqa: S608
        if found := cursor.fetchone():
            version: int = found[0]
            return version
    _create_row(owner)
    return next_version(owner)
