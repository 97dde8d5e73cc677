"""History that ends: one commit takes the place of what is older than the installation keeps.

The rows of the ledger, decisions and their texts stay. Once in `settings.HISTORY_DAYS` main becomes one commit,
and a branch keeps the former commits readable; a period later that branch is dropped. So what is younger than a period
can always be read, and what is older than two cannot.
"""

import time
from datetime import date, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from approvals.models import DECIDABLE, Proposal, Revision, Status
from approvals.recovery.recover import recover
from memory_app.dolt import maintenance, moving
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.errors import EngineUnavailable
from memory_app.dolt.placement import databases, of_database
from memory_app.dolt.types import KEPT, SQUASHED
from memory_app.models import MemoryDatabase
from memory_app.text.trailers import Trailers
from memory_app.writing import commits

log = structlog.get_logger(__name__)


def end_history() -> list[str]:
    """Squash and drop what is due in each database. Return the databases in which something was.

    Raises:
        EngineUnavailable: a change is under way, or another process holds a database; nothing was squashed there.
    """
    return [database for database in databases() if settings.HISTORY_DAYS and _end(database)]


def _end(database: str) -> bool:
    verbs, oldest = dolt_of(database), timezone.now() - timedelta(days=settings.HISTORY_DAYS)
    for name, head in verbs.kept().items():
        if verbs.is_ancestor(head):  # of a squash that died: main has it all
            verbs.drop_branch(name)
    days = {name: date.fromisoformat(name[len(KEPT) :][:10]) for name in verbs.kept()}
    ended = [name for name, day in days.items() if day < oldest.date()]
    for name in ended:
        verbs.drop_branch(name)
    first = verbs.own_log()[-2:]
    begins = Trailers.of(first[0].message) if first else Trailers()
    if begins.action == SQUASHED:  # also where a run died after it had dropped the branch
        MemoryDatabase.objects.filter(name=database).update(history_from=begins.at)
    began = max(days.values(), default=None) or next((commit.at.date() for commit in first), None)
    is_due = began is not None and began < oldest.date()
    if is_due:
        squash(database)
    if ended:
        maintenance.collect_garbage(database, force=True)
    return is_due or bool(ended)


def squash(database: str) -> str:
    """Squash the history of a database now, and return the name of the branch that keeps it.

    Writes of its owners are refused for some seconds. What waits for a decision stays; its branch is written anew when
    it is approved.

    Raises:
        EngineUnavailable: a change is under way, or another process holds the database; nothing was changed.
    """
    recover()
    of_owners = of_database(database)
    with moving.held(MemoryDatabase.objects.get(name=database)):
        time.sleep(moving.SETTLES)
        if Proposal.objects.filter(of_owners, status__in=[Status.PREPARING, Status.MERGING]).exists():
            raise EngineUnavailable(f"a change of {database} is under way")
        keep_as = f"{KEPT}{timezone.now():%Y-%m-%d-%H%M%S-%f}"
        waiting = Revision.objects.filter(proposal__in=Proposal.objects.filter(of_owners, status__in=DECIDABLE))
        branches = list(waiting.exclude(head_commit="").values_list("branch", flat=True))
        waiting.update(head_commit="")
        commits.squash(database, keep_as)
        for name in branches:
            dolt_of(database).drop_branch(name)
    log.info("history_squashed", database=database, kept_as=keep_as)
    return keep_as
