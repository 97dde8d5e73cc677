"""Keeping the ledger equal to the log of main, also where somebody wrote outside the one way to write."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from datetime import datetime
from typing import TypeVar

import structlog
from django.db import transaction
from django.utils import timezone

from memory_app import commits
from memory_app.dolt.connections import dolt, head_of_main
from memory_app.dolt.errors import DirtyMemory, RevisionNotFound
from memory_app.models import Change
from memory_app.trailers import Trailers

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: How many recorded commits back the ledger is compared with the log, each time.
LOOK_BACK = 100


def despite_dirt(write: Callable[[], T]) -> T:
    """Run `write`, once more when rows of somebody else were in the way and were put on record as theirs.

    They must not stop people from reviewing, nor be signed by whoever comes next.
    """
    try:
        return write()
    except DirtyMemory:
        settle_dirt()
        return write()


def settle_dirt() -> str:
    """Commit rows somebody left uncommitted on main, as `unknown`; the commit, or an empty string."""
    commit = commits.commit_dirt(uuid.uuid4().hex)
    if commit is None:
        return ""
    log.error("uncommitted_changes_found", commit=commit.hash)
    _record_dirt(commit.hash, at=timezone.now())
    return commit.hash


def top_up_ledger(*, whole: bool = False) -> int:
    """Add ledger rows for commits on main that have none, from their trailers; how many were added.

    Args:
        whole: look at the whole log instead of only what came after the last recorded commit.
    """
    since = None if whole else _last_recorded()
    log_range = f"{since}..{head_of_main()}" if since else head_of_main()
    added = 0
    for commit in reversed(dolt().log(log_range)):
        said = Trailers.of(commit.message).values
        if said.get("Action") == Change.Action.RECOVERED:
            added += _record_dirt(commit.hash, at=commits.time_of(commit))
            continue
        if "Targets" in said and Change.objects.filter(commit=commit.hash).count() == int(said["Targets"]):
            continue  # telling its targets means comparing whole tables
        entry = commits.entry_of(commit)
        if entry is None:
            continue
        before = Change.objects.filter(commit=commit.hash).count()
        if before < len(entry.targets):
            commits.record(commit.hash, entry, at=commits.time_of(commit))
            added += Change.objects.filter(commit=commit.hash).count() - before
    return added


def _last_recorded() -> str | None:
    """A recorded commit to look on from: not the very last, since a writer that died before its ledger
    row may have been followed by one that did not."""
    recent = list(Change.objects.order_by("-at", "-id").values_list("commit", flat=True)[:LOOK_BACK])
    for hash_ in reversed(recent):
        try:
            if dolt().is_ancestor(hash_):
                return hash_
        except RevisionNotFound:
            continue
    return None


def _record_dirt(hash_: str, at: datetime) -> int:
    """Ledger rows for what uncommitted rows had changed, read from the difference they make."""
    if Change.objects.filter(commit=hash_).exists():
        return 0
    owners = commits.targets_changed(hash_)
    with transaction.atomic():  # or the rest would never be added: telling it means comparing whole tables
        for owner, targets in sorted(owners.items()):  # in one order, since each waits for its owner's lock
            entry = commits.Entry(action=Change.Action.RECOVERED, owner=owner, targets=targets, operation="")
            commits.record(hash_, entry, at=at)
    return sum(map(len, owners.values()))
