"""What an owner's search index reflects, and the lease of the process that brings it up to date.

Belongs here: everything that reads or locks the row `SearchIndex`; the marks in it move with the chunks (`store`).
Not here: the chunks.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import structlog
from django.db import DatabaseError, connection, transaction
from django.db.models import F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from memory_app.models import Change, Message, SearchIndex
from memory_app.runtime import deadlines
from memory_app.search import embedders
from memory_app.writing.ledger_lock import lock_owner

log = structlog.get_logger(__name__)

#: How long a process that writes chunks may take for one portion of them.
LEASE = timedelta(seconds=60)


@dataclass(frozen=True)
class IndexState:
    """What an owner's chunks reflect, and what there is to reflect.

    Args:
        commit: the one of main that the chunks reflect.
        version, floor: of the chunks; see `cache`.
        newest_commit: the newest one of main in the ledger, of any owner.
    """

    embedder: str
    change_id: int
    message_id: int
    commit: str
    version: int
    floor: int
    newest_change: int
    newest_message: int
    newest_commit: str

    @property
    def is_behind(self) -> bool:
        return (
            embedders.is_to_replace(self.embedder)
            or self.change_id < self.newest_change
            or self.message_id < self.newest_message
        )


def state_of(owner: str) -> IndexState | None:
    """Return what an owner's index reflects, in one query, since every search and save asks; None without an index."""
    with connection.cursor() as cursor:  # building this query with the ORM takes 1 ms, as long as saving a row
        cursor.execute(_STATE, [owner, owner, owner])
        values = cursor.fetchone()
    return IndexState(*values) if values else None


_CHANGES = Change._meta.db_table
_STATE = f"""
    SELECT embedder, change_id, message_id, "commit", version, floor,
        (SELECT COALESCE(MAX(id), 0) FROM {_CHANGES} WHERE owner = %s),
        (SELECT COALESCE(MAX(id), 0) FROM {Message._meta.db_table} WHERE owner = %s),
        COALESCE((SELECT "commit" FROM {_CHANGES} WHERE id = (SELECT MAX(id) FROM {_CHANGES})), '')
    FROM {SearchIndex._meta.db_table} WHERE owner = %s
"""  # noqa: S608 (names of our own tables)


def is_behind(owner: str) -> bool:
    """Whether the memory or the conversations have changed since the owner's chunks were brought up to them."""
    state = state_of(owner)
    if state is None:
        return Change.objects.filter(owner=owner).exists() or Message.objects.filter(owner=owner).exists()
    return state.is_behind


def owners_behind() -> list[str]:
    """Return the owners whose index is behind, for `/readyz` and the beat. An owner never searched has no index."""
    # Asked owner by owner, at the end of an index: grouping them meant reading the index of the whole ledger.
    states = SearchIndex.objects.annotate(newest_change=_newest(Change), newest_message=_newest(Message))
    return sorted(
        state.owner
        for state in states
        if embedders.is_to_replace(state.embedder)
        or state.change_id < state.newest_change
        or state.message_id < state.newest_message
    )


def _newest(model: type[Change] | type[Message]) -> Coalesce:
    """Return the highest id of a model's rows about the owner of an index."""
    rows = model._default_manager.filter(owner=OuterRef("owner")).order_by("-id").values("id")
    return Coalesce(Subquery(rows[:1]), 0)


def is_busy(owner: str) -> bool:
    """Whether a process is writing the owner's chunks."""
    return SearchIndex.objects.filter(owner=owner, busy_until__gt=timezone.now()).exists()


def take_lease(owner: str) -> bool:
    """Whether this process now has the lease: it alone writes the owner's chunks until the lease ends."""
    now = timezone.now()
    free = Q(busy_until=None) | Q(busy_until__lte=now)
    for _ in range(2):
        if SearchIndex.objects.filter(free, owner=owner).update(busy_until=now + LEASE):
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


def how_far_behind(owner: str, *, most: int) -> int:
    """Return how many changes of the memory the chunks do not reflect, counting at most `most`."""
    known = SearchIndex.objects.filter(owner=owner).values_list("change_id", flat=True).first() or 0
    return len(Change.objects.filter(owner=owner, id__gt=known).order_by("id").values_list("id")[:most])


def end_lease(owner: str) -> None:
    """End the lease, also after the deadline of the call."""
    deadlines.extend()
    try:
        SearchIndex.objects.filter(owner=owner).update(busy_until=None)
    except DatabaseError:  # the lease expires by itself
        log.exception("index_lease_kept", user_id=owner)


def next_version(owner: str) -> int:
    """Return the next version of the chunks, and lock the owner's index until the transaction ends."""
    if not SearchIndex.objects.filter(owner=owner).update(version=F("version") + 1):
        _create_row(owner)
        SearchIndex.objects.filter(owner=owner).update(version=F("version") + 1)
    return SearchIndex.objects.values_list("version", flat=True).get(owner=owner)
