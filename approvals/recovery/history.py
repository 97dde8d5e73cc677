"""History that ends: one commit takes the place of what is older than the installation keeps.

The rows of the ledger, decisions and their texts stay. Once in `settings.HISTORY_DAYS` main becomes one commit,
and a branch keeps the former commits readable; a period later that branch is dropped. So what is younger than a period
can always be read, and what is older than two cannot.
"""

import time
from collections.abc import Mapping
from datetime import date, timedelta

import structlog
from django.conf import settings
from django.utils import timezone

from approvals.models import DECIDABLE, Mergeability, Proposal, Revision, Status
from approvals.recovery.recover import recover
from approvals.review.targets import current_state
from memory_app.dolt import maintenance, moving
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.errors import EngineUnavailable
from memory_app.dolt.placement import databases, of_database
from memory_app.dolt.types import KEPT, SQUASHED, Commit
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
    first = _beginning(database)  # also where a run died after it had dropped the branch
    began = max(days.values(), default=None) or next((commit.at.date() for commit in first), None)
    is_due = began is not None and began < oldest.date()
    if is_due:
        squash(database)
    if ended:
        maintenance.collect_garbage(database, force=True)
    return is_due or bool(ended)


def _beginning(database: str) -> tuple[Commit, ...]:
    """Note from when on the history can be read, where it was squashed. Return its second commit and its first."""
    first = dolt_of(database).own_log()[-2:]
    begins = Trailers.of(first[0].message) if first else Trailers()
    if begins.action == SQUASHED:
        MemoryDatabase.objects.filter(name=database).update(history_from=begins.at)
    return first


def squash(database: str, *, for_good: bool = False) -> str:
    """Squash the history of a database now, and return the name of the branch that keeps it.

    Writes of its owners are refused for some seconds. What waits for a decision stays; its branch is written anew when
    it is approved.

    Args:
        for_good: keep nothing of the history: of versions from before texts were sealed, which could be read.

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
        head, sealed = commits.squash(database, keep_as)
        for revision in waiting.select_related("proposal"):
            _follow(revision, head, sealed)
        for name in branches + list(dolt_of(database).kept() if for_good else ()):
            dolt_of(database).drop_branch(name)
    if for_good:
        _beginning(database)
        maintenance.collect_garbage(database, force=True)
    log.info("history_squashed", database=database, kept_as="" if for_good else keep_as)
    return keep_as


def _follow(revision: Revision, head: str, sealed: Mapping[str, str]) -> None:
    """Let what waits be compared with the hashes that rows have now; made from the text as it is, at the new commit."""
    revision.base_sha256 = sealed.get(revision.base_sha256, revision.base_sha256)
    for change in revision.note_changes:
        if change["before"]:
            change["before"]["sha256"] = sealed.get(change["before"]["sha256"], change["before"]["sha256"])
    if current_state(revision.proposal, revision).assess(revision).state == Mergeability.CLEAN:
        revision.base_commit = head
    revision.save(update_fields=["base_sha256", "note_changes", "base_commit"])
