"""The figures of databases of the memory, for `/metrics` and `doctor`: they name no person, agent or text."""

from datetime import datetime

from django.db.models import Count, Min

from approvals.recovery.ledger import LOOK_BACK, expected_entries, in_ledger
from memory_app.dolt.connections import branches, dolt_of
from memory_app.dolt.maintenance import sizes
from memory_app.models import MemoryDatabase


def of_memory(database: str) -> dict[str, int]:
    """Return the figures of a database, by what `/metrics` calls them. Sizes are those of files: a server has none.

    `ledger_behind_commits` are commits of main newer than the ledger's newest, of the last hundred or so.
    """
    own = dolt_of(database).own_log(limit=LOOK_BACK)
    recorded = in_ledger(commit.hash for commit in own)
    newest = next((number for number, commit in enumerate(own) if commit.hash in recorded), 0)
    behind = sum(bool(expected_entries(database, commit)) for commit in own[:newest])  # none for a change of schema
    return {"live_branches": len(branches(database)), "ledger_behind_commits": behind} | sizes(database)


def checked_at() -> datetime | None:
    """Return when the last `check_memory` that found nothing began, of the database where that is longest ago; None
    where one never was."""
    found = MemoryDatabase.objects.aggregate(unchecked=Count("pk") - Count("checked_at"), at=Min("checked_at"))
    return None if found["unchecked"] else found["at"]
