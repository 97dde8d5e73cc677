"""Keeping the ledger equal to what main went through, also where somebody wrote outside the one way to write.

What a row of the ledger says comes from three places, none of which free text reaches: the rows a commit changed
(the memory itself), the proposal or direct write its operation belongs to (`default`), and the trailers of its
message, which are believed only where these two agree.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import structlog
from django.db import transaction

from approvals.models import Proposal, Revision
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import DirtyMemory, RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite
from memory_app.text.trailers import Trailers
from memory_app.writing import commits, ledger
from memory_app.writing.ledger import LedgerEntry
from memory_app.writing.rows import portions

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: How many recorded commits back the ledger is compared with the log, each time.
LOOK_BACK = 100

#: Commits known to be older than announcing; it never changes for any, and a rebuild asks for each in turn.
_older: set[str] = set()
MOST_HELD = 50_000

#: What commits without a proposal may say they did.
_DIRECT = {
    Change.Action.EDITED,
    Change.Action.CREATED,
    Change.Action.SUPERSEDED,
    Change.Action.REINSTATED,
    Change.Action.DELETED,
    Change.Action.IMPORTED,
}


def retry_after_committing_stray_rows(write: Callable[[], T]) -> T:
    """Run `write`, once more when rows of somebody else were in the way and were put on record as theirs.

    They must not stop people from reviewing, nor be signed by whoever comes next.
    """
    try:
        return write()
    except DirtyMemory:
        commit_stray_rows()
        return write()


def commit_stray_rows() -> str:
    """Commit rows somebody left uncommitted on main, as `unknown`; the commit, or an empty string."""
    commit = commits.commit_dirt(uuid.uuid4().hex)
    if commit is None:
        return ""
    log.error("uncommitted_changes_found", commit=commit.hash)
    _record(commit, says(commit))
    return commit.hash


def sync_ledger(*, trust_log: bool = False) -> int:
    """Add the ledger rows of commits on main that have none; how many were added.

    Args:
        trust_log: believe what a commit says of itself although `default` does not know its operation. For a
            `default` restored from before that commit, and only then. A run without it, as a start or the beat is,
            may have come first: what that put down as written outside Assent is looked at once more.
    """
    own = dolt().own_log(None if trust_log else _last_recorded())
    recorded: set[str] = set()
    for some in portions([commit.hash for commit in own]):
        recorded |= set(Change.objects.filter(commit__in=some).values_list("commit", flat=True))
    doubted = _nobodys() if trust_log else set()
    added = 0
    for commit in reversed(own):
        # The rows of a commit are written together: one that has any has all.
        if commit.hash in recorded and commit.hash not in doubted:
            continue
        said = says(commit, trust_log=trust_log)
        is_outside = any(each.entry.action == Change.Action.RECOVERED for each in said)
        if commit.hash in recorded and is_outside:
            continue
        with transaction.atomic():
            if commit.hash in doubted:  # and never the row a writer has put down this moment
                Change.objects.filter(commit=commit.hash).delete()
            added += _record(commit, said)
        if is_outside:
            log.error("written_outside_assent", commit=commit.hash, owners=[each.entry.owner for each in said])
    return added


def _nobodys() -> set[str]:
    """The commits that stand in the ledger as written outside Assent."""
    return set(Change.objects.filter(action=Change.Action.RECOVERED).values_list("commit", flat=True))


@dataclass(frozen=True)
class Rebuilt:
    """How many rows of the ledger a rebuild took away, wrote, and found as they are to be."""

    removed: int
    written: int
    kept: int


def rebuild_ledger() -> Rebuilt:
    """Make the ledger again from what main went through.

    Rows that are right stay as they are, with their numbers, which the search index follows, and with their times:
    commits older than the trailer `At` know theirs to the second only.
    """
    own = dolt().own_log()
    present: dict[str, list[Change]] = {}
    for row in Change.objects.order_by("id").iterator(chunk_size=2000):
        present.setdefault(row.commit, []).append(row)
    total = sum(map(len, present.values()))
    wrong: list[int] = []
    missing: list[tuple[Commit, tuple[Said, ...], datetime | None]] = []
    for commit in reversed(own):
        rows = present.pop(commit.hash, [])
        said = says(commit)
        if disagreeing(commit, rows) or len(rows) < sum(len(each.entry.targets) for each in said):
            wrong += [row.pk for row in rows]  # all of them: pages show the rows of a commit in one order
            missing.append((commit, said, rows[0].at if rows else None))
    wrong += [row.pk for rows in present.values() for row in rows]  # of commits that main does not have
    with transaction.atomic():
        for some in portions(wrong):
            Change.objects.filter(pk__in=some).delete()
        written = sum(_record(commit, said, at) for commit, said, at in missing)
    return Rebuilt(removed=len(wrong), written=written, kept=total - len(wrong))


# -- what a commit did ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """What the ledger is to say of one owner's rows in a commit.

    Args:
        comment_known: False for direct edits whose comment only the message has, which kept 4,000 characters of it.
    """

    entry: LedgerEntry
    comment_known: bool = True

    def agrees(self, row: Change) -> bool:
        """Whether a row of the ledger says the same of one of the targets."""
        entry = self.entry
        return (
            (row.action, row.actor, row.agent, row.proposal_id)
            == (entry.action, entry.actor, entry.agent, entry.proposal_id)
            and (row.target_kind, row.target) in entry.targets
            and (row.comment == entry.comment or not self.comment_known)
        )


def says(commit: Commit, *, trust_log: bool = False) -> tuple[Said, ...]:
    """Return what the ledger is to say of a commit main went through: its targets by owner, and who did what.

    Rows nobody accounts for are `written outside Assent`, each owner's for itself. None for a change of schema.

    Args:
        trust_log: see `sync_ledger`.
    """
    changed = ledger.targets_changed(commit)
    if len(changed) == 1:
        ((owner, targets),) = changed.items()
        trailers = Trailers.of(commit.message)
        if len(commit.parents) > 1:
            said = _merged(trailers, owner, targets, commit.parents[1], trust_log=trust_log)
        else:
            said = _written(commit, trailers, owner, targets, trust_log=trust_log)
        if said:
            return (said,)
    return tuple(
        Said(LedgerEntry(action=Change.Action.RECOVERED, owner=owner, targets=targets, operation=""))
        for owner, targets in changed.items()
    )


def disagreeing(commit: Commit, rows: list[Change]) -> list[Change]:
    """Return those rows of a commit that say something else than it did.

    A row that `sync_ledger` made from the log of a restored memory is right as long as it says what the log says.
    """
    bad = rows
    for trust_log in (False, True):
        if bad:
            said = {each.entry.owner: each for each in says(commit, trust_log=trust_log)}
            bad = [row for row in bad if row.owner not in said or not said[row.owner].agrees(row)]
    return bad


def _merged(
    trailers: Trailers, owner: str, targets: tuple[tuple[str, str], ...], head: str, *, trust_log: bool
) -> Said | None:
    """What a merge says: an approval, known by the head it merged."""
    revision = (
        Revision.objects.filter(head_commit=head, proposal__owner=owner)
        .select_related("proposal__agent", "proposal__decided_by")
        .first()
    )
    is_approval = trailers.action == Change.Action.APPROVED
    if revision is None:
        if not (trust_log and is_approval and trailers.owner in (owner, "")):
            return None
        agent = Trailers.of(dolt().log(head, limit=1)[0].message).agent
        return Said(_entry(trailers, owner, targets, agent=agent, proposal_id=trailers.proposal_id))
    proposal = revision.proposal
    believed = (
        is_approval and trailers.person and trailers.operation == (proposal.merge_operation or trailers.operation)
    )
    decided_by = proposal.decided_by.username if proposal.decided_by else ""
    return Said(
        LedgerEntry(
            action=Change.Action.APPROVED,
            owner=owner,
            targets=targets,
            operation=proposal.merge_operation or trailers.operation,
            actor=trailers.person if believed else decided_by,
            agent=proposal.agent.name,
            proposal_id=proposal.pk,
            comment=proposal.decision_comment,
        )
    )


def _written(
    commit: Commit, trailers: Trailers, owner: str, targets: tuple[tuple[str, str], ...], *, trust_log: bool
) -> Said | None:
    """What a commit says that is no merge: policy applied it, a person took that back, or wrote it themselves."""
    if trailers.owner != owner:
        return None
    if trailers.action in (Change.Action.APPLIED, Change.Action.REVERTED) and trailers.proposal_id is not None:
        proposal = Proposal.objects.filter(pk=trailers.proposal_id).select_related("agent").first()
        if proposal:
            applied = trailers.action == Change.Action.APPLIED
            operation = proposal.operation if applied else revert_operation(proposal)
            if (proposal.owner, operation) != (owner, trailers.operation):
                return None
            return Said(_entry(trailers, owner, targets, agent=proposal.agent.name, proposal_id=proposal.pk))
        return Said(_entry(trailers, owner, targets, proposal_id=trailers.proposal_id)) if trust_log else None
    if trailers.action not in _DIRECT or trailers.proposal_id is not None:
        return None
    announced = DirectWrite.objects.filter(pk=trailers.operation).first()
    if announced:
        if (announced.owner, announced.action, announced.actor) != (owner, trailers.action, trailers.person):
            return None
        return Said(_entry(trailers, owner, targets, comment=announced.comment))
    if trailers.at is None and _is_older_than_announcing(commit):
        return Said(_entry(trailers, owner, targets, comment=trailers.comment), comment_known=False)
    return Said(_entry(trailers, owner, targets), comment_known=False) if trust_log else None


def _is_older_than_announcing(commit: Commit) -> bool:
    """Whether `commit` was made before direct writes were announced: nothing before it says its time, either.

    Asked of a commit that does not say its time itself. A release that announces gives every commit its time, so
    one without that comes from elsewhere as soon as there is one with it before.
    """
    passed: list[str] = []
    parents, is_older = commit.parents, True
    while parents and parents[0] not in _older:
        (before,) = dolt().log(parents[0], limit=1)
        if Trailers.of(before.message).at is not None:
            is_older = False
            break
        passed.append(before.hash)
        parents = before.parents
    if is_older:
        if len(_older) > MOST_HELD:
            _older.clear()
        _older.update(passed)
    return is_older


def revert_operation(proposal: Proposal) -> str:
    """The operation that takes back what policy applied: derived, so that whoever presses again finds the first."""
    return uuid.uuid5(uuid.UUID(proposal.operation), "revert").hex


def _entry(
    trailers: Trailers,
    owner: str,
    targets: tuple[tuple[str, str], ...],
    *,
    agent: str | None = None,
    proposal_id: int | None = None,
    comment: str = "",
) -> LedgerEntry:
    return LedgerEntry(
        action=trailers.action,
        owner=owner,
        targets=targets,
        operation=trailers.operation,
        actor=trailers.person,
        agent=trailers.agent if agent is None else agent,
        proposal_id=proposal_id,
        comment=comment,
    )


# -- steps ----------------------------------------------------------------------------------------


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


def _record(commit: Commit, said: tuple[Said, ...], at: datetime | None = None) -> int:
    """Write what a commit did into the ledger, all of it or nothing; how many rows were added.

    Args:
        at: when it was made, where that is known better than from the commit.
    """
    rows = Change.objects.filter(commit=commit.hash)
    before = rows.count()
    at = at or ledger.time_of(commit)
    with transaction.atomic():  # in one order of owners, since each waits for its owner's lock
        for each in said:
            ledger.record(commit.hash, each.entry, at=at)
    return rows.count() - before
