"""Keep the ledger equal to the log of main, also after writes that bypassed Assent.

A row of the ledger is derived from three sources, none of which contains free text: the rows a commit changed (in the
memory), the proposal or direct write with its operation (in `default`), and the trailers of its message. A trailer is
only trusted where the other two agree with it. See docs/architecture.md.
"""

import uuid
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from operator import attrgetter

import structlog
from django.db import transaction

from approvals.models import Event, Proposal, Revision
from memory_app.databases.prepared import batched
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.placement import put_in
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite
from memory_app.text.trailers import Trailers
from memory_app.writing import commits, ledger
from memory_app.writing.ledger import LedgerEntry

log = structlog.get_logger(__name__)

#: How many recorded commits each run goes back to compare the ledger with the log.
LOOK_BACK = 100

#: Actions of commits without a proposal; REVERTED is what a person changed directly, put back.
_DIRECT = set(Change.Action) - {Change.Action.APPROVED, Change.Action.APPLIED, Change.Action.RECOVERED}


def commit_stray_rows(database: str) -> str:
    """Commit uncommitted rows on a database's main, as `unknown`. Return the commit, or an empty string."""
    commit = commits.commit_dirt(database, uuid.uuid4().hex)
    if commit is None:
        return ""
    log.error("uncommitted_changes_found", database=database, commit=commit.hash)
    _record(database, commit, expected_entries(database, commit))
    return commit.hash


def sync_ledger(database: str, *, trust_log: bool = False) -> int:
    """Add the missing ledger rows of commits on a database's main. Return how many were added.

    Args:
        trust_log: trust the trailers of a commit although `default` does not know its operation. Only for a `default`
            restored from before that commit. A run without it may have come first, at a start or by beat: commits that
            it recorded as written outside Assent are examined again.
    """
    own = dolt_of(database).own_log(None if trust_log else _last_recorded(database))
    recorded: set[str] = set()
    for some in batched([commit.hash for commit in own]):
        recorded |= set(Change.objects.filter(commit__in=some).values_list("commit", flat=True))
    outside = Change.objects.filter(database=database, action=Change.Action.RECOVERED)
    doubted = set(outside.values_list("commit", flat=True)) if trust_log else set()
    added = 0
    for commit in reversed(own):
        # The rows of a commit are written together: one that has any has all.
        if commit.hash in recorded and commit.hash not in doubted:
            continue
        expected = expected_entries(database, commit, trust_log=trust_log)
        is_outside = any(each.action == Change.Action.RECOVERED for each in expected)
        if commit.hash in recorded and is_outside:
            continue
        with transaction.atomic():
            if commit.hash in doubted:  # never a row that a writer is inserting at the same time
                Change.objects.filter(commit=commit.hash).delete()
            added += _record(database, commit, expected)
        if is_outside:
            log.error("written_outside_assent", commit=commit.hash, owners=[each.owner for each in expected])
    return added


def rebuild_ledger(database: str) -> tuple[int, int, int]:
    """Rebuild the ledger of a database from the log of its main. Return how many rows were removed, written and kept.

    Correct rows keep their ids, which the search index follows, and their times: commits older than the trailer `At`
    only have theirs to the second.
    """
    wrong: list[int] = []
    missing: list[tuple[Commit, tuple[LedgerEntry, ...], datetime | None]] = []
    kept = 0
    for commit, rows in rows_by_commit(database):
        expected = expected_entries(database, commit) if commit else ()
        is_right = commit and not wrong_rows(database, commit, rows)
        if is_right and len(rows) >= sum(len(each.targets) for each in expected):
            kept += len(rows)
            continue
        wrong += [row.pk for row in rows]  # all of them: pages show the rows of a commit in the order of their ids
        if commit:
            missing.append((commit, expected, rows[0].at if rows else None))
    with transaction.atomic():
        for some in batched(wrong):
            Change.objects.filter(pk__in=some).delete()
        written = sum(_record(database, commit, expected, at) for commit, expected, at in missing)
    return len(wrong), written, kept


def rows_by_commit(database: str) -> Iterator[tuple[Commit | None, list[Change]]]:
    """Yield each commit of a database's main, the oldest first, with its rows of the ledger; then rows of commits it
    lacks."""
    present: dict[str, list[Change]] = {}
    for row in Change.objects.filter(database=database).order_by("id").iterator(chunk_size=2000):
        present.setdefault(row.commit, []).append(row)
    for commit in reversed(dolt_of(database).own_log()):
        yield commit, present.pop(commit.hash, [])
    for rows in present.values():
        yield None, rows


#: What a row of the ledger and its entry have in common.
_SAID = attrgetter("action", "actor", "agent", "proposal_id", "comment")


def _agrees(entry: LedgerEntry, row: Change) -> bool:
    """Whether a row of the ledger equals this entry for one of the targets."""
    return bool(_SAID(row) == _SAID(entry) and (row.target_kind, row.target) in entry.targets)


def expected_entries(database: str, commit: Commit, *, trust_log: bool = False) -> tuple[LedgerEntry, ...]:
    """Return the ledger entries that a commit of main requires, one per owner; none for a change of schema.

    Rows without a known operation are recorded as `written outside Assent`, in one entry per owner.

    Args:
        trust_log: see `sync_ledger`.
    """
    changed = ledger.targets_changed(database, commit)
    if len(changed) == 1:
        ((owner, targets),) = changed.items()
        trailers = Trailers.of(commit.message)
        said = LedgerEntry(
            action=trailers.action,
            owner=owner,
            targets=targets,
            operation=trailers.operation,
            actor=trailers.person,
            agent=trailers.agent,
            proposal_id=trailers.proposal_id,
            undoes=trailers.undoes,
        )
        if len(commit.parents) > 1:
            expected = _merged(database, said, trailers.owner, commit, trust_log=trust_log)
        else:
            expected = _written(said, trailers.owner, commit.hash, trust_log=trust_log)
        if expected:
            return (expected,)
    return tuple(
        LedgerEntry(action=Change.Action.RECOVERED, owner=owner, targets=targets, operation="")
        for owner, targets in changed.items()
    )


def wrong_rows(database: str, commit: Commit, rows: list[Change]) -> list[Change]:
    """Return the rows of a commit that differ from its expected entries.

    Rows that `sync_ledger` made from the log of a restored memory are correct if they agree with the log.
    """
    bad = rows
    for trust_log in (False, True):
        if bad:
            expected = {each.owner: each for each in expected_entries(database, commit, trust_log=trust_log)}
            bad = [row for row in bad if row.owner not in expected or not _agrees(expected[row.owner], row)]
    return bad


def _merged(
    database: str, said: LedgerEntry, owner_said: str, commit: Commit, *, trust_log: bool
) -> LedgerEntry | None:
    """Return the entry of a merge: an approval, identified by the merged head.

    Args:
        said: what the trailers say of the rows that were changed, of their owner.
        owner_said: the owner in the trailers.
    """
    head = commit.parents[1]
    found = Revision.objects.filter(head_commit=head, proposal__owner=said.owner)
    revision = found.select_related("proposal__agent", "proposal__decided_by").first()
    is_approval = said.action == Change.Action.APPROVED
    if revision is None:
        if not (trust_log and is_approval and owner_said in (said.owner, "")):
            return None
        return replace(said, agent=Trailers.of(dolt_of(database).log(head, limit=1)[0].message).agent)
    proposal = revision.proposal
    of_proposal = replace(said, action=Change.Action.APPROVED, agent=proposal.agent.name, proposal_id=proposal.pk)
    if proposal.merge_commit != commit.hash:  # undone since, so that only the event knows of it
        event = proposal.events.filter(what=Event.What.APPROVED, data__commit=commit.hash).first()
        if event:
            return replace(of_proposal, actor=said.actor or event.actor, comment=event.text)
    operation = proposal.merge_operation or said.operation
    decided_by = proposal.decided_by.username if proposal.decided_by else ""
    return replace(
        of_proposal,
        operation=operation,
        actor=said.actor if is_approval and said.actor and said.operation == operation else decided_by,
        comment=proposal.decision_comment,
    )


def _written(said: LedgerEntry, owner_said: str, hash_: str, *, trust_log: bool) -> LedgerEntry | None:
    """Return the entry of a commit that is not a merge: applied by policy, reverted, or written directly.

    Arguments are those of `_merged`.
    """
    if owner_said != said.owner:
        return None
    if said.action in (Change.Action.APPLIED, Change.Action.REVERTED) and said.proposal_id is not None:
        proposal = Proposal.objects.filter(pk=said.proposal_id).select_related("agent").first()
        if proposal is None:
            return said if trust_log else None
        applied = said.action == Change.Action.APPLIED
        operation = proposal.operation if applied else revert_operation(proposal, said.undoes)
        is_known = operation == said.operation or (
            # The operation of a proposal that was made again after a restore is a new one.
            not applied and proposal.events.filter(what=Event.What.REVERTED, data__commit=hash_).exists()
        )
        if proposal.owner != said.owner or not is_known:
            return None
        # Why it was reverted is written before the commit is made, as with a direct write.
        why = DirectWrite.objects.filter(pk=said.operation, actor=said.actor).first() if not applied else None
        return replace(said, agent=proposal.agent.name, comment=why.comment if why else "")
    if said.action not in _DIRECT or said.proposal_id is not None:
        return None
    announced = DirectWrite.objects.filter(pk=said.operation).first()
    if announced is None:
        return said if trust_log else None
    is_it = (announced.owner, announced.action, announced.actor) == (said.owner, said.action, said.actor)
    return replace(said, comment=announced.comment) if is_it else None


def revert_operation(proposal: Proposal, undoes: str) -> str:
    """Return the operation id of a revert: derived, so that a repeated call finds the first one's commit.

    Args:
        undoes: the commit of the decision; empty for a revert that is older than this trailer.
    """
    return uuid.uuid5(uuid.UUID(proposal.operation), f"revert{undoes}").hex


def _last_recorded(database: str) -> str | None:
    """Return a recorded commit to start from.

    Not the last one: a writer may have died before its ledger row, and another may have recorded a later commit.
    """
    recent = list(
        Change.objects.filter(database=database).order_by("-at", "-id").values_list("commit", flat=True)[:LOOK_BACK]
    )
    for hash_ in reversed(recent):
        try:
            if dolt_of(database).is_ancestor(hash_):
                return hash_
        except RevisionNotFound:
            continue
    return None


def _record(database: str, commit: Commit, expected: tuple[LedgerEntry, ...], at: datetime | None = None) -> int:
    """Write the ledger rows of a commit in one transaction. Return how many were added.

    Args:
        at: its time, if known more precisely than from the commit.
    """
    rows = Change.objects.filter(commit=commit.hash)
    before = rows.count()
    with transaction.atomic():  # sorted by owner, since each entry waits for its owner's lock
        for each in expected:
            put_in(each.owner, database)  # a `default` restored from before the first write does not know
            ledger.record_found(database, commit, each, at=at)
    return rows.count() - before
