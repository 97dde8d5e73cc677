"""Limits of undecided proposals: per agent and owner, and in all."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from django.conf import settings
from django.db import connection
from django.utils import timezone

from approvals.models import PENDING, Agent, Proposal, ProposalQuerySet, RejectedFingerprint, Status
from approvals.services.errors import MemoryFull, TooManyPending
from memory_app.databases.prepared import Prepared

#: A rejection is taken up again within this time, or what follows is a new matter.
RECENTLY = timedelta(days=30)

_TABLE, _FINGERPRINTS = Proposal._meta.db_table, RejectedFingerprint._meta.db_table
_PENDING = ", ".join(f"'{status.value}'" for status in PENDING)


@dataclass(frozen=True)
class Earlier:
    """What an agent has proposed for an owner already, where there is room for another proposal.

    Args:
        twin: its undecided proposal that equals the new one.
        has_rejected: one of its proposals was rejected within `RECENTLY`, so that a new one may answer it.
        has_fingerprints: something of it was rejected or undone that may be proposed again.
    """

    twin: Proposal | None = None
    has_rejected: bool = False
    has_fingerprints: bool = False


def find_equal_or_require_room(agent: Agent, owner: str, **same: str) -> Earlier:
    """Look for the agent's undecided proposal that equals this one; without one, for room for another.

    Call it inside the transaction that inserts the row: it locks the agent until that transaction ends.

    Args:
        same: the columns, with their values, in which two proposals are equal.

    Raises:
        TooManyPending: it has `PENDING_CAP` undecided proposals for this owner.
        MemoryFull: there are `MAX_OPEN_PROPOSALS` undecided proposals in all.
    """
    _lock(agent)
    equal = " AND ".join(f"{column} = %s" for column in same)
    # One statement, because every proposing call runs it.
    statement = f"""
        WITH own AS (SELECT * FROM {_TABLE} WHERE agent_id = %s AND owner = %s AND status IN ({_PENDING}))
        SELECT (SELECT MIN(id) FROM own WHERE {equal}), (SELECT COUNT(*) FROM own),
               (SELECT COUNT(*) FROM {_TABLE} WHERE status IN ({_PENDING})),
               EXISTS (SELECT 1 FROM {_TABLE}
                       WHERE agent_id = %s AND owner = %s AND status = '{Status.REJECTED.value}' AND decided_at >= %s),
               EXISTS (SELECT 1 FROM {_FINGERPRINTS} WHERE agent_id = %s AND owner = %s)
    """  # noqa: S608 (names of our own)
    since = connection.ops.adapt_datetimefield_value(timezone.now() - RECENTLY)
    with connection.cursor() as cursor:
        cursor.execute(statement, [agent.pk, owner, *same.values(), agent.pk, owner, since, agent.pk, owner])
        twin, own, in_all, rejected, fingerprints = cursor.fetchone()
    if twin:
        return Earlier(twin=Proposal.objects.get(pk=twin))
    if own >= settings.PENDING_CAP:
        raise TooManyPending(tuple(pending_of(agent, owner).order_by("created_at", "id")), settings.PENDING_CAP)
    if in_all >= settings.MAX_OPEN_PROPOSALS:
        raise MemoryFull(f"{settings.MAX_OPEN_PROPOSALS} proposals wait for a decision already.")
    return Earlier(has_rejected=bool(rejected), has_fingerprints=bool(fingerprints))


def pending_of(agent: Agent, owner: str) -> ProposalQuerySet:
    """Return the agent's proposals for this owner that are not decided."""
    return Proposal.objects.by_agent(agent).of_owner(owner).pending()


def _lock(agent: Agent) -> None:
    """Lock the agent's row until the transaction ends; otherwise concurrent calls could exceed the cap.

    SQLite has a single writer anyway.
    """
    if connection.features.has_select_for_update:
        _LOCKED.all(pk=agent.pk)


_LOCKED = Prepared(lambda pk: Agent.objects.filter(pk=pk).select_for_update().order_by().values_list("pk"), pk=int)
