"""Keep the ledger equal to the log of main, also after writes that bypassed Assent.

A row of the ledger is derived from three sources, none of which contains free text: the rows a commit changed (in the
memory), the proposal or direct write with its operation (in `default`), and the trailers of its message. A trailer is
only trusted where the other two agree with it. See docs/architecture.md.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter

import structlog
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from approvals.models import Event, Proposal, Revision
from memory_app.databases.prepared import batched
from memory_app.dolt.connections import dolt_of
from memory_app.dolt.placement import of_database, put_in
from memory_app.dolt.types import SQUASHED, Commit
from memory_app.models import Change, DirectWrite, MemoryDatabase
from memory_app.text.trailers import Trailers
from memory_app.writing import commits, ledger
from memory_app.writing.ledger import LedgerEntry

log = structlog.get_logger(__name__)

#: How many commits of the log each run goes back to compare the ledger with it; about half of them are main's own.
LOOK_BACK = 200

#: Longer than any commit takes after it was announced; those of 100,000 notes take minutes.
_LONGEST = timedelta(minutes=10)

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


def sync_ledger(database: str, *, everything: bool = False, trust_log: bool = False) -> tuple[int, list[str]]:
    """Add the missing ledger rows of commits on a database's main. Return how many were added, and what was compared.

    Args:
        everything: compare all commits, also those that a writer left behind hundreds of others.
        trust_log: trust the trailers of a commit although `default` does not know its operation. Only for a `default`
            restored from before that commit. A run without it may have come first, at a start or by beat: commits that
            it recorded as written outside Assent are examined again.
    """
    abandoned = abandoned_writes().filter(of_database(database))
    own = dolt_of(database).own_log() if everything else _commits_to_compare(database)
    hashes = [commit.hash for commit in own]
    recorded = in_ledger(hashes)
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
    abandoned.update(pending=None)
    return added, hashes


def abandoned_writes() -> QuerySet[DirectWrite]:
    """Return what was announced long ago and is not in the ledger; its commit was not made, if the log lacks it too."""
    return DirectWrite.objects.filter(pending__isnull=False, at__lt=timezone.now() - _LONGEST)


def rebuild_ledger(database: str) -> tuple[int, int, int]:
    """Rebuild the ledger of a database from the log of its main. Return how many rows were removed, written and kept.

    Correct rows keep their ids, which the search index follows, and their times: commits older than the trailer `At`
    only have theirs to the second.
    """
    own = dolt_of(database).own_log()
    lost = recorded_commits(database) - {commit.hash for commit in own}
    wrong = [row.pk for rows in rows_of(lost).values() for row in rows]
    missing: list[Compared] = []
    kept = 0
    for each in compared(database, own[::-1]):
        if not each.wrong and not each.lacking:
            kept += len(each.rows)
            continue
        wrong += [row.pk for row in each.rows]  # all: pages show the rows of a commit in the order of their ids
        missing.append(each)
    with transaction.atomic():
        for some in batched(wrong):
            Change.objects.filter(pk__in=some).delete()
        written = 0
        for each in missing:
            written += _record(database, each.commit, each.expected, each.rows[0].at if each.rows else None)
    return len(wrong), written, kept


def recorded_commits(database: str, after: int = 0) -> set[str]:
    """Return the commits of a database's rows of the ledger whose id is above `after`, but for those of a history that
    ended."""
    # The database is compared here: SQLite would look for it by its index, and read all rows.
    rows = Change.objects.filter(id__gt=after, at__gt=history_of(database)).order_by().values_list("commit", "database")
    return {commit for commit, of in rows.iterator() if of == database}


def history_of(database: str) -> datetime:
    """Return when what can still be read of a database's history begins."""
    begins = MemoryDatabase.objects.filter(name=database).values_list("history_from", flat=True).first()
    return begins or datetime.min.replace(tzinfo=UTC)


def rows_of(commits: Iterable[str]) -> dict[str, list[Change]]:
    """Return the ledger's rows of some commits, in the order of their ids, by commit."""
    rows: dict[str, list[Change]] = defaultdict(list)
    for some in batched(list(commits)):
        for row in Change.objects.filter(commit__in=some).order_by("id").iterator(chunk_size=2000):
            rows[row.commit].append(row)
    return rows


@dataclass(frozen=True)
class Compared:
    """A commit of main beside the ledger.

    Args:
        expected: see `expected_entries`.
        wrong: rows that say something else.
        lacking: owner, kind, and label or id of what it changed without a row.
    """

    commit: Commit
    rows: list[Change]
    expected: tuple[LedgerEntry, ...]
    wrong: list[Change]
    lacking: list[tuple[str, str, str]]


def compared(database: str, commits: Sequence[Commit]) -> Iterator[Compared]:
    """Yield commits of main, each beside its rows of the ledger, with a few statements of `default` for many."""
    for some in batched(commits):
        known, present = Known.of(some), rows_of([commit.hash for commit in some])
        for commit in some:
            rows, expected = present.pop(commit.hash, []), expected_entries(database, commit, known)
            wrong = _differing(rows, expected)
            if wrong:  # rows that `sync_ledger` made from the log of a restored memory are right if they agree with it
                wrong = _differing(wrong, expected_entries(database, commit, known, trust_log=True))
            recorded = {(row.owner, row.target_kind, row.target) for row in rows}
            needed = ((each.owner, *target) for each in expected for target in each.targets)
            yield Compared(commit, rows, expected, wrong, [each for each in needed if each not in recorded])


#: What a row of the ledger and its entry have in common.
_SAID = attrgetter("action", "actor", "agent", "proposal_id", "comment")


def _differing(rows: list[Change], expected: tuple[LedgerEntry, ...]) -> list[Change]:
    """Return the rows that are not those of an entry for one of its targets."""
    right = {(each.owner, *target): _SAID(each) for each in expected for target in each.targets}
    return [row for row in rows if right.get((row.owner, row.target_kind, row.target)) != _SAID(row)]


@dataclass(frozen=True)
class Known:
    """What `default` knows of some commits of main.

    Args:
        by_head: the proposals with a revision of this head, by it.
        events: of an approval or a revert, by proposal, kind and commit.
        announced: by operation.
    """

    by_head: dict[str, list[Proposal]]
    proposals: dict[int, Proposal]
    events: dict[tuple[int, str, str], Event]
    announced: dict[str, DirectWrite]

    @classmethod
    def of(cls, commits: Sequence[Commit]) -> "Known":
        said = [Trailers.of(commit.message) for commit in commits]
        merged = [commit.parents[1] for commit in commits if len(commit.parents) > 1]
        revisions = Revision.objects.filter(head_commit__in=merged).order_by("proposal", "number")
        heads = list(revisions.values_list("head_commit", "proposal_id"))
        ids = {each.proposal_id for each in said if each.proposal_id} | {pk for _head, pk in heads}
        # A forged trailer may name a number that no database has.
        proposals = Proposal.objects.select_related("agent", "decided_by").in_bulk([pk for pk in ids if pk < 2**63])
        by_head = defaultdict(list)
        for head, pk in heads:
            by_head[head].append(proposals[pk])
        whats = (Event.What.APPROVED, Event.What.REVERTED)
        events = Event.objects.filter(proposal__in=list(proposals), what__in=whats).order_by("-at", "-id")
        return cls(
            by_head=by_head,
            proposals=proposals,
            events={(event.proposal_id, event.what, event.data.get("commit", "")): event for event in events},
            announced=DirectWrite.objects.in_bulk([each.operation for each in said if each.operation]),
        )


def expected_entries(
    database: str, commit: Commit, known: Known | None = None, *, trust_log: bool = False
) -> tuple[LedgerEntry, ...]:
    """Return the ledger entries that a commit of main requires, one per owner; none for a change of schema.

    Rows without a known operation are recorded as `written outside Assent`, in one entry per owner.

    Args:
        known: what `default` knows of it and others; of it alone by default.
        trust_log: see `sync_ledger`.
    """
    trailers, known = Trailers.of(commit.message), known or Known.of([commit])
    announced = known.announced.get(trailers.operation)
    is_known = announced and (announced.action, announced.comment) in ((SQUASHED, ""), (SQUASHED, commit.hash))
    if trailers.action == SQUASHED and (is_known or trust_log):
        return ()
    changed = ledger.targets_changed(database, commit)
    if len(changed) == 1:
        ((owner, targets),) = changed.items()
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
            expected = _merged(database, said, trailers.owner, commit, known, trust_log=trust_log)
        else:
            expected = _written(said, trailers.owner, commit, known, trust_log=trust_log)
        if expected:
            return (expected,)
    return tuple(
        LedgerEntry(action=Change.Action.RECOVERED, owner=owner, targets=targets, operation="")
        for owner, targets in changed.items()
    )


def _merged(
    database: str, said: LedgerEntry, owner_said: str, commit: Commit, known: Known, *, trust_log: bool
) -> LedgerEntry | None:
    """Return the entry of a merge: an approval, identified by the merged head.

    Args:
        said: what the trailers say of the rows that were changed, of their owner.
        owner_said: the owner in the trailers.
    """
    head = commit.parents[1]
    proposal = next((each for each in known.by_head.get(head, ()) if each.owner == said.owner), None)
    is_approval = said.action == Change.Action.APPROVED
    if proposal is None:
        if not (trust_log and is_approval and owner_said in (said.owner, "")):
            return None
        return replace(said, agent=Trailers.of(dolt_of(database).log(head, limit=1)[0].message).agent)
    of_proposal = replace(said, action=Change.Action.APPROVED, agent=proposal.agent.name, proposal_id=proposal.pk)
    event = known.events.get((proposal.pk, Event.What.APPROVED, commit.hash))
    if event and proposal.merge_commit != commit.hash:  # undone since, so that only the event knows of it
        return replace(of_proposal, actor=said.actor or event.actor, comment=event.text)
    operation = proposal.merge_operation or said.operation
    decided_by = proposal.decided_by.username if proposal.decided_by else ""
    return replace(
        of_proposal,
        operation=operation,
        actor=said.actor if is_approval and said.actor and said.operation == operation else decided_by,
        comment=proposal.decision_comment,
    )


def _written(
    said: LedgerEntry, owner_said: str, commit: Commit, known: Known, *, trust_log: bool
) -> LedgerEntry | None:
    """Return the entry of a commit that is not a merge: applied by policy, reverted, or written directly.

    Arguments are those of `_merged`.
    """
    if owner_said != said.owner:
        return None
    if said.action in (Change.Action.APPLIED, Change.Action.REVERTED) and said.proposal_id is not None:
        proposal = known.proposals.get(said.proposal_id)
        if proposal is None:
            return said if trust_log else None
        applied = said.action == Change.Action.APPLIED
        operation = proposal.operation if applied else revert_operation(proposal, said.undoes)
        is_known = operation == said.operation or (
            # The operation of a proposal that was made again after a restore is a new one.
            not applied and (proposal.pk, Event.What.REVERTED, commit.hash) in known.events
        )
        if proposal.owner != said.owner or not is_known:
            return None
        # Why it was reverted is written before the commit is made, as with a direct write.
        why = None if applied else known.announced.get(said.operation)
        comment = why.comment if why and why.actor == said.actor else ""
        return replace(said, agent=proposal.agent.name, comment=comment)
    if said.action not in _DIRECT or said.proposal_id is not None:
        return None
    announced = known.announced.get(said.operation)
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


def _commits_to_compare(database: str) -> tuple[Commit, ...]:
    """Return the commits of a database's main to compare with the ledger, the newest first.

    Not only those after the last one recorded: a writer may have died before its ledger row, and another may have
    recorded a later commit. Where none of the oldest is recorded, all. The whole log costs DoltLite a walk through the
    history (33 ms at 3,000 commits), a number of commits does not (2 ms).
    """
    own = dolt_of(database).own_log(limit=LOOK_BACK)
    if own and own[-1].parents and not in_ledger(commit.hash for commit in own[-LOOK_BACK // 10 :]):
        return dolt_of(database).own_log()
    return own


def in_ledger(hashes: Iterable[str]) -> set[str]:
    """Return those of the commits that the ledger has."""
    recorded: set[str] = set()
    for some in batched(list(hashes)):
        rows = Change.objects.filter(commit__in=some).order_by()
        recorded |= set(rows.values_list("commit", flat=True).distinct())  # an import has thousands of rows
    return recorded


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
