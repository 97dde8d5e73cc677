"""Finish what a crash interrupted, and report what cannot be finished.

Only rows with an expired lease are touched, and always rolled forward: an interrupted branch is written, an interrupted
merge is finished. After a restore, what `default` lacks is read from the newer memory. Runs at start, by Celery beat,
as a command, and, where there is no beat, when a request reads.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import structlog
from django.conf import settings
from django.core.cache import cache
from django.db import DatabaseError, transaction
from django.db.models import CharField, F, Max, OuterRef, Q, QuerySet, Subquery
from django.db.models.fields.json import KeyTextTransform, KeyTransform
from django.db.models.functions import Coalesce
from redis.exceptions import RedisError

from approvals.models import (
    DECIDABLE,
    DECIDED,
    TAKEN,
    Approval,
    Event,
    Mergeability,
    Proposal,
    Revision,
    Status,
    User,
)
from approvals.recovery.integrity import as_before, as_proposed
from approvals.recovery.ledger import LOOK_BACK, abandoned_writes, commit_stray_rows, in_ledger, sync_ledger
from approvals.recovery.missing_proposals import change_between, commit_of, recreate_missing_proposals
from approvals.review.targets import targets_of
from approvals.services import erasing, events, preparing, texts, trust
from approvals.services.checks import visible_proposal
from approvals.services.errors import DecisionRefused, NotesChanged, ProposalNotFound
from approvals.services.merge import after_approval, finish_merging
from approvals.services.recheck import recheck, recheck_unknown
from approvals.services.undo import finish_reverting
from memory_app import reads
from memory_app.databases import backups
from memory_app.dolt.connections import branches, dolt, dolt_of
from memory_app.dolt.errors import DoltError, RevisionNotFound
from memory_app.dolt.placement import database_of, databases
from memory_app.models import Change
from memory_app.reads.catalogue import unrecorded
from memory_app.runtime import records
from memory_app.text.trailers import Trailers
from memory_app.writing import authors
from memory_app.writing.rows import TargetMoved

log = structlog.get_logger(__name__)

T = TypeVar("T")

#: Ids to skip after a restore: those assigned after the copy are unknown here, but people may have seen them.
SKIPPED_IDS = 1_000

_PROPOSALS = Proposal._meta.db_table


def approve_merged(changes: QuerySet[Change]) -> int:
    """Mark open proposals APPROVED whose approval is in the ledger. Return how many.

    On a running site there are none: a proposal leaves OPEN before it is merged.

    Args:
        changes: the rows of the ledger to look at.
    """
    approved = changes.filter(action=Change.Action.APPROVED, proposal_id__isnull=False).order_by()
    decidable = Proposal.objects.decidable().filter(pk__in=approved.values("proposal_id")).order_by()
    waiting = list(decidable.values_list("pk", flat=True))
    merges = _last_were(Change.Action.APPROVED, Change.Action.REVERTED, waiting)
    for proposal in Proposal.objects.filter(pk__in=merges).select_related("agent"):
        _approve(proposal, merges[proposal.pk])
    return len(merges)


def _last_were(action: str, other: str, proposals: Collection[int]) -> dict[int, Change]:
    """Return the newest row of the ledger by this action, of each of those proposals that has none by the other since.

    What was approved again after it was undone has rows by both.
    """
    if not proposals:
        return {}
    newest, others = (
        dict(
            Change.objects.filter(action=each, proposal_id__in=proposals)
            .order_by()
            .values_list("proposal_id")
            .annotate(at=Max("at"))
        )
        for each in (action, other)
    )
    last = {pk: at for pk, at in newest.items() if pk not in others or at > others[pk]}
    rows = Change.objects.filter(action=action).order_by("pk")
    return {pk: rows.filter(proposal_id=pk, at=at)[0] for pk, at in last.items() if pk is not None}


#: The names of the branches that are there, by database; without those that are away. And their heads, where all of
#: them were listed.
_There = dict[str, dict[str, str]]


def _branches_to_check(everything: bool) -> tuple[QuerySet[Revision], QuerySet[Revision], _There]:
    """Return revisions whose branches may have to go, waiting ones whose branches may be missing, and those there are.

    A list of all branches takes as long as there are branches, so most runs ask by name for those that what happened
    last was about.
    """
    if everything:
        every = dict(_in_each(lambda database: (database, {name: head for _, name, head in branches(database)})))
        revisions = Revision.objects.exclude(branch="")
        is_current = Q(proposal__status__in=DECIDABLE, number=F("proposal__current_revision_number"))
        return revisions, revisions.filter(is_current), every
    last = set(Event.objects.order_by("-id").values_list("proposal_id", flat=True)[:LAST_EVENTS])
    columns = ("proposal__status", "proposal__current_revision_number", "number", "pk", "branch", "proposal__owner")
    about = Revision.objects.filter(proposal__in=last).exclude(branch="").order_by("-pk")
    newest = list(about.values_list(*columns)[:LAST_EVENTS])

    def there(database: str) -> tuple[str, dict[str, str]]:
        names = [name for *_, name, owner in newest if database_of(owner) == database]
        return database, dict.fromkeys(dolt_of(database).those_there(names), "")

    listed = dict(_in_each(there))
    present = set().union(*listed.values())
    # Found here: filtered by the status, SQLite reads all that waits (16 ms at 5,000). Mostly there are none of both.
    waiting, others = set[int](), set[int]()
    for status, current, number, pk, name, _owner in newest:
        is_waiting = status in DECIDABLE and number == current
        if is_waiting != (name in present):
            (waiting if is_waiting else others).add(pk)
    return Revision.objects.filter(pk__in=others), Revision.objects.filter(pk__in=waiting), listed


def recreate_missing_branches(waiting: QuerySet[Revision], there: _There) -> int:
    """Recreate branches of open proposals, missing or made anew, from the texts in `default`. Return how many.

    A decision dropped them, or undoing one made them anew, that the restored `default` does not contain.
    """
    present = {name: head for names in there.values() for name, head in names.items()}
    known = waiting.exclude(head_commit="").values_list("pk", "branch", "head_commit", "proposal__owner")
    missing = [
        pk for pk, name, head, owner in known if database_of(owner) in there and present.get(name) not in (head, "")
    ]
    made = 0
    for revision in Revision.objects.filter(pk__in=missing).select_related("proposal__agent"):
        proposal = revision.proposal
        try:
            if revision.branch in present:
                if not _is_made_anew(proposal, revision):
                    continue
                # Not taken as it is: what a text is compared with is not all that a commit may change.
                dolt(proposal.owner).drop_branch(revision.branch)
            head = preparing.write_again(proposal, revision)
        except (RevisionNotFound, reads.BlockNotFound, TargetMoved):
            # Its base is not in this memory: check_memory reports it, and a person can reject the proposal.
            log.warning("branch_not_made_again", proposal=proposal.pk, base=revision.base_commit)
            continue
        Revision.objects.filter(pk=revision.pk).update(head_commit=head)
        if not Proposal.objects.decidable().filter(pk=proposal.pk).exists():
            # Decided since it was read, when there was no branch to drop.
            preparing.give_up_branch(revision)
            continue
        recheck(proposal.owner, targets_of(proposal, revision))
        made += 1
    return made


def _is_made_anew(proposal: Proposal, revision: Revision) -> bool:
    """Whether the branch stands at another commit than is recorded, with the same base and the same text.

    It is so where a decision was undone while a backup was made. Another text is nobody's but a stranger's, and
    `check_memory` says so.
    """
    verbs = dolt(proposal.owner)
    head = verbs.head(revision.branch)
    if verbs.parent(head) != revision.base_commit or not as_before(proposal, revision):
        return False
    is_same = as_proposed(proposal, revision, head)
    # Read last: somebody may be undoing a decision about it.
    as_read = Revision.objects.filter(pk=revision.pk, head_commit=revision.head_commit)
    return is_same and as_read.filter(proposal__status__in=DECIDABLE).exclude(head_commit=head).exists()


def drop_unknown_branches() -> int:
    """Drop branches without a revision, from decisions that ran while the memory was copied. Return how many."""
    known = set(Revision.objects.exclude(branch="").values_list("branch", flat=True))
    unknown = [each for each in _branches() if preparing.parse_branch_name(each[1]) and each[1] not in known]
    for database, name, _head in unknown:
        dolt_of(database).drop_branch(name)
    return len(unknown)


def skip_ids(last: Mapping[str, int] | None = None) -> None:
    """Advance the id sequences past all known ids, and `SKIPPED_IDS` further, so that no id is assigned twice.

    Ids are known from the backup's manifest, the databases, the log of main and the names of branches.

    Args:
        last: the highest id of each table in the manifest.
    """
    numbers = [Change.objects.aggregate(Max("proposal_id"))["proposal_id__max"] or 0]
    numbers += [named[0] for _database, name, _head in _branches() if (named := preparing.parse_branch_name(name))]
    logs = (commit for database in databases() for commit in dolt_of(database).log())
    numbers += [Trailers.of(commit.message).proposal_id or 0 for commit in logs]
    known, present = last or {}, backups.last_ids()
    highest = {table: max(known.get(table, 0), present.get(table, 0)) for table in {*known, *present}}
    highest[_PROPOSALS] = max(highest.get(_PROPOSALS, 0), *numbers)
    backups.go_on_above({table: id_ + SKIPPED_IDS for table, id_ in highest.items()})


def _approve(proposal: Proposal, row: Change) -> None:
    merge = commit_of(row.owner, row.commit)
    head = next(iter(merge.parents[1:]), "")
    if head and head != proposal.current_revision.head_commit:
        _add_merged_revision(proposal, row, head)
    person = User.objects.filter(username=row.actor).first()
    # DoltLite's log has whole seconds for older commits: the decision must not precede the proposal's events.
    at = max([row.at, *proposal.events.values_list("at", flat=True)])
    with transaction.atomic(durable=True):
        values = {
            "status": Status.APPROVED,
            # Whether conflicts were resolved, or only a part was accepted, is not in the memory.
            "approval": Approval.EDITED if proposal.current_revision.made_by_id else "",
            "current_revision_number": proposal.current_revision_number,
            "mergeability": Mergeability.CLEAN,
            "decided_by_id": person.pk if person else None,
            "decided_at": at,
            "decision_comment": row.comment,
            "merge_operation": Trailers.of(merge.message).operation,
            "main_before": merge.parents[0],
            "merge_commit": row.commit,
        }
        said: dict[str, Any] = {"text": row.comment, "at": at, "commit": row.commit}
        expected = {"status": list(DECIDABLE)}
        events.move(proposal, values, Event.What.APPROVED, expected=expected, actor=person, **said)
    proposal.refresh_from_db()
    after_approval(proposal)


def _add_merged_revision(proposal: Proposal, row: Change, head: str) -> None:
    """Add the revision that was merged: the proposal on a newer base, or in the reviewer's words."""
    if known := proposal.revisions.filter(head_commit=head).first():
        proposal.current_revision_number = known.number
        return
    shown = proposal.current_revision
    merged = change_between(row.owner, targets_of(proposal, shown), dolt(row.owner).parent(head), head)
    written = commit_of(row.owner, head)
    is_own = written.email != authors.agent(proposal.agent.name).email
    reviewer = User.objects.filter(username=row.actor).first() if is_own else None
    changed = [note for note in merged.notes if note["before"] != note["after"]]
    number = proposal.next_revision_number
    Revision.objects.create(
        proposal=proposal,
        number=number,
        origin=Revision.Origin.REVIEWER if is_own else Revision.Origin.REAPPLIED,
        made_by=reviewer,
        branch=preparing.branch_name(proposal.pk, number),
        base_commit=dolt(row.owner).parent(head),
        head_commit=head,
        base_sha256=merged.base_sha256,
        base_text=merged.before,
        edits=merged.edits if is_own and not merged.notes else shown.edits,
        result_text=merged.after,
        note_changes=changed if is_own else shown.note_changes,
        risk_report=shown.risk_report,
        created_at=row.at,
    )
    proposal.current_revision_number = number


#: Seconds between two checks by readers, as often as beat runs.
EVERY = 30
#: How many events each run goes back, and how many branches it asks for: 0.1 to 0.3 ms of the processor each.
LAST_EVENTS = 30
#: The heads of main that were compared with the ledger.
_COMPARED = "approvals.heads_compared"
#: Seconds between two attempts to collect removed texts that a crash left.
COLLECT_EVERY = 300


@dataclass(frozen=True)
class RecoveryReport:
    """What `recover` did; all counts of rows or commits.

    Args:
        known_approved: open proposals that are approved on main, in a memory newer than `default`.
        recreated_proposals: proposals that were only in the memory.
        recreated_branches: missing branches of open proposals.
        failed: proposals that could not be finished and stay unchanged, for the next run.
        dirt: the commits of uncommitted rows found on main, empty when there were none.
        texts_collected: proposals whose removed texts are no longer in any file of the memory.
        away: databases of the memory that did not answer, where nothing was done.
    """

    opened: int = 0
    approved: int = 0
    reopened: int = 0
    reverted: int = 0
    ledger_rows: int = 0
    branches_dropped: int = 0
    known_approved: int = 0
    recreated_proposals: int = 0
    recreated_branches: int = 0
    failed: tuple[int, ...] = ()
    dirt: str = ""
    texts_collected: int = 0
    away: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{self.opened} opened, {self.approved} approved, {self.reopened} back to open",
            f"{self.ledger_rows} ledger rows added, {self.branches_dropped} branches dropped",
        ]
        rare = (
            (self.known_approved, "found approved in the memory"),
            (self.recreated_proposals, "proposals made again from the memory"),
            (self.recreated_branches, "branches made again"),
            (self.reverted, "reverts finished"),
        )
        parts += [f"{count} {what}" for count, what in rare if count]
        if self.texts_collected:
            parts.append(f"removed texts of {self.texts_collected} proposals collected as garbage")
        if self.failed:
            parts.append(f"not finished: {', '.join(f'#{pk}' for pk in self.failed)}")
        if self.dirt:
            parts.append(f"uncommitted changes found and recorded as {self.dirt}")
        parts += [f"{database} does not answer" for database in self.away]
        return "; ".join(parts)


def recover(
    *, everything: bool = False, trust_log: bool = False, last_ids: Mapping[str, int] | None = None
) -> RecoveryReport:
    """Finish proposals with an expired lease, complete the ledger, recreate missing and drop left-over branches.

    Args:
        everything: look at every branch and the whole ledger, as at start, by the command and once an hour; otherwise
            at what happened last, so that a run each half minute costs the same however much there is.
        trust_log: after `default` was restored from a backup older than the memory; see `sync_ledger`. Recreates
            proposals that are only in the memory, and skips ids that may have been assigned. Looks at everything.
        last_ids: with `trust_log`, the highest id of each table in the backup's manifest.
    """
    finished: Counter[str] = Counter()
    failed: list[int] = []
    if trust_log:
        erasing.remember()
        skip_ids(last_ids)
    away = set[str]()
    dirt = " ".join(filter(None, _in_each(commit_stray_rows, away)))
    for proposal in Proposal.objects.lease_ran_out().select_related("agent", "decided_by"):
        try:
            outcome = finish(proposal)
        except Exception:
            # A failure of one proposal must not stop the others.
            log.exception("recovery_failed", proposal=proposal.pk)
            failed.append(proposal.pk)
            continue
        if outcome.status == Status.APPROVED:
            finished["approved"] += 1
        elif outcome.status not in (Status.WITHDRAWN, Status.PREPARING):  # PREPARING: another call works on it
            finished["opened" if proposal.status == Status.PREPARING else "reopened"] += 1
    # Each needs what those before it have written.
    synced = _in_each(partial(sync_ledger, everything=everything or trust_log, trust_log=trust_log), away)
    ledger_rows = sum(added for added, _hashes in synced)
    compared = [commit for _added, hashes in synced for commit in hashes]
    everything = everything or trust_log or len(compared) > len(synced) * LOOK_BACK
    changes = Change.objects.all() if everything else Change.objects.filter(commit__in=compared)
    known_approved = approve_merged(changes)
    recreated_proposals = recreate_missing_proposals() if trust_log else 0
    reverted = _finish_reverts(changes)
    revisions, waiting, there = _branches_to_check(everything)
    report = RecoveryReport(
        **finished,
        failed=tuple(failed),
        dirt=dirt,
        ledger_rows=ledger_rows,
        known_approved=known_approved,
        recreated_proposals=recreated_proposals,
        reverted=reverted,
        branches_dropped=_drop_left_over(revisions, there) + (drop_unknown_branches() if trust_log else 0),
        recreated_branches=recreate_missing_branches(waiting, there),
        texts_collected=_collect_removed_texts(),
        away=tuple(sorted(away)),
    )
    recheck_unknown()
    if finished:
        records.add(records.RECOVERED, finished)
    if report != RecoveryReport():
        log.info("recovered", report=str(report))
    return report


def _in_each(work: Callable[[str], T], away: set[str] | None = None) -> list[T]:
    """Do this in each database of the memory. Of several, one that is away does not stop the others, and is put into
    `away`."""
    names, done = databases(), []
    for database in names:
        try:
            done.append(work(database))
        except (DatabaseError, DoltError):
            if len(names) == 1:
                raise
            log.exception("memory_not_recovered", database=database)
            (away if away is not None else set()).add(database)
    return done


def _branches() -> list[tuple[str, str, str]]:
    """Return database, name and head of each branch but main, of the databases that answer."""
    return [each for some in _in_each(branches) for each in some]


def recover_on_read() -> None:
    """Recover twice a minute, in a request that reads: without a worker, nothing else would before the next start.

    Only runs if a lease has expired, the head of main is not in the ledger, a direct write was abandoned, or a proposal
    could not be checked. Never fails the request.
    """
    if not settings.CELERY_TASK_ALWAYS_EAGER or not cache.add("approvals.recover", 1, timeout=EVERY):
        return
    try:
        if _is_time_to_collect():
            erasing.finish_soon()  # takes seconds: not in the request itself
        heads = set(_in_each(lambda database: dolt_of(database).head()))
        # A change of schema has no row there: it is looked at once.
        is_behind = heads != set(cache.get(_COMPARED, ())) and heads != in_ledger(heads)
        unknown = Proposal.objects.decidable().filter(mergeability=Mergeability.UNKNOWN)
        if is_behind or any(left.exists() for left in (Proposal.objects.lease_ran_out(), abandoned_writes(), unknown)):
            recover()
            cache.set(_COMPARED, sorted(heads), timeout=None)
    except (DatabaseError, DoltError):
        log.exception("recovery_on_read_failed")


def writes_under_way(owner: str) -> QuerySet[Any, Any]:
    """Return a query for the proposals whose change may be on main and not in the ledger: see `reads.catalogue`."""
    # Filters by status first: with the whole condition in one OR, SQLite read all proposals of the owner.
    under_way = Proposal.objects.of_owner(owner).filter(status__in=[Status.MERGING, Status.PREPARING])
    under_way = under_way.filter(Q(status=Status.MERGING) | Q(auto_applied=True))
    current = Revision.objects.filter(proposal=OuterRef("pk"), number=OuterRef("current_revision_number")).order_by()
    first_note = Subquery(current.values(id_=KeyTextTransform("id", KeyTransform("0", "note_changes"))))
    return unrecorded(under_way, F("target_kind"), Coalesce(first_note, F("target"), output_field=CharField()))


def finish(proposal: Proposal) -> Proposal:
    """Finish one interrupted PREPARING or MERGING proposal.

    Returns:
        The proposal, OPEN, APPLIED or APPROVED; unchanged if another call has begun to finish it.
    """
    fresh = Proposal.objects.select_related("agent", "decided_by").get(pk=proposal.pk)
    if fresh.status == Status.PREPARING:
        if not preparing.take_over(fresh):
            return fresh
        try:
            return preparing.finish_once(fresh, trust.finish, is_mine=True)
        except NotesChanged as refusal:
            log.warning("application_dropped", proposal=proposal.pk, why=refusal.message)
            fresh.status = Status.WITHDRAWN
            return fresh
    if fresh.status != Status.MERGING:
        return fresh
    try:
        return finish_merging(fresh)
    except DecisionRefused as refusal:
        log.warning("decision_undone", proposal=proposal.pk, why=refusal.message)
        return refusal.proposal


def _finish_reverts(changes: QuerySet[Change]) -> int:
    """Update proposals whose revert is only in the ledger, among these rows of it. Return how many."""
    reverts = changes.filter(action=Change.Action.REVERTED, proposal_id__isnull=False).order_by()
    taken = Proposal.objects.filter(status__in=TAKEN, reverted_by_commit="", pk__in=reverts.values("proposal_id"))
    by_proposal = {proposal.pk: proposal for proposal in taken.select_related("agent")}
    left = _last_were(Change.Action.REVERTED, Change.Action.APPROVED, by_proposal)
    for pk, row in left.items():
        with suppress(DecisionRefused):  # another Undo was faster
            finish_reverting(by_proposal[pk], row)
    return len(left)


def _is_time_to_collect() -> bool:
    """Whether to collect now: not in every run, because a server that denies it would log each attempt."""
    is_left = texts.is_garbage_left() or erasing.is_unfinished()
    return is_left and bool(cache.add("approvals.collect_removed_texts", 1, timeout=COLLECT_EVERY))


def _collect_removed_texts() -> int:
    try:
        return erasing.finish() if _is_time_to_collect() else 0
    except (DatabaseError, DoltError, RedisError):
        log.exception("removed_texts_not_collected")
        return 0


def _drop_left_over(revisions: QuerySet[Revision], there: _There) -> int:
    """Drop the branches of decided proposals and of former revisions that are still there. Return how many."""
    present = {name for names in there.values() for name in names}
    is_former = Q(proposal__status__in=DECIDABLE) & ~Q(number=F("proposal__current_revision_number"))
    # A decided one with a lease is being opened again.
    is_decided = Q(proposal__in=Proposal.objects.filter(status__in=DECIDED).without_lease())
    left_over = revisions.filter(is_decided | is_former, branch__in=present)
    dropped = 0
    for revision in list(left_over):
        if not left_over.filter(pk=revision.pk).exists():  # opened again since
            continue
        dropped += 1
        try:
            preparing.give_up_branch(revision)
        except (DatabaseError, DoltError):
            log.exception("branch_not_dropped", proposal=revision.proposal_id, branch=revision.branch)
    return dropped


def find_proposal(proposal_id: int, viewer: User) -> Proposal:
    """Return a proposal a person may see. Finish first what a crash left half done.

    Raises:
        ProposalNotFound: there is none, or it is of a memory this person may not read.
    """
    proposal = visible_proposal(viewer, proposal_id)
    if Proposal.objects.lease_ran_out().filter(pk=proposal.pk).exists():
        try:
            proposal = finish(proposal)
        except DoltError:
            log.exception("recovery_failed", proposal=proposal.pk)
        if proposal.status == Status.WITHDRAWN:  # what policy was to apply no longer fitted, and is gone
            raise ProposalNotFound
    if proposal.status == Status.PREPARING and not proposal.is_being_amended:
        raise ProposalNotFound
    return proposal
