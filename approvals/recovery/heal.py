"""Restore rows that `default` lacks from a newer memory: for `recover`, after a restore.

A backup copies `default` first and the memory a moment later. In between people approve and reject, agents propose, and
policy applies changes. The memory contains who decided, and the texts before and after. Reasons and comments are only
in `default`: those of that moment are lost, and the restored rows say so.
"""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from approvals.models import DECIDABLE, Approval, Event, Mergeability, Proposal, Revision, Status, User
from approvals.recovery.missing_proposals import commit_of, texts_of_change
from approvals.review.targets import targets_of
from approvals.services import events
from approvals.services.branches import (
    branch_name,
    drop_branches,
    give_up_branch,
    parse_branch_name,
    write_revision_branch,
)
from approvals.services.recheck import after_change, recheck
from memory_app import reads
from memory_app.databases.backups import sequences
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import Change
from memory_app.text.trailers import Trailers
from memory_app.writing import authors
from memory_app.writing.rows import TargetMoved

log = structlog.get_logger(__name__)

#: Ids to skip after a restore: those assigned after the copy are unknown here, but people may have seen them.
SKIPPED_IDS = 1_000

_PROPOSALS = Proposal._meta.db_table


def approve_merged() -> int:
    """Mark open proposals APPROVED whose approval is in the ledger. Return how many.

    On a running site there are none: a proposal leaves OPEN before it is merged.
    """
    waiting = Proposal.objects.decidable().values("pk")
    rows = Change.objects.filter(action=Change.Action.APPROVED, proposal_id__in=waiting).order_by()
    merges = {int(row.proposal_id or 0): row for row in sorted(rows, key=lambda row: row.pk)}
    for proposal in Proposal.objects.filter(pk__in=merges).select_related("agent"):
        _approve(proposal, merges[proposal.pk])
    return len(merges)


def recreate_missing_branches() -> int:
    """Recreate missing branches of open proposals from the texts in `default`. Return how many.

    A decision dropped them that the restored `default` does not contain.
    """
    present = {branch.name for branch in dolt().branches()}
    is_current = Q(proposal__status__in=DECIDABLE, number=F("proposal__current_revision_number"))
    current = Revision.objects.filter(is_current).exclude(branch="")
    missing = [pk for pk, name in current.values_list("pk", "branch") if name not in present]
    made = 0
    for revision in Revision.objects.filter(pk__in=missing).select_related("proposal__agent"):
        proposal = revision.proposal
        try:
            head = write_revision_branch(proposal, revision)
        except (RevisionNotFound, reads.BlockNotFound, TargetMoved):
            # Its base is not in this memory: check_memory reports it, and a person can reject the proposal.
            log.warning("branch_not_made_again", proposal=proposal.pk, base=revision.base_commit)
            continue
        Revision.objects.filter(pk=revision.pk).update(head_commit=head)
        if not Proposal.objects.decidable().filter(pk=proposal.pk).exists():
            # Decided since it was read, when there was no branch to drop.
            give_up_branch(revision)
            continue
        recheck(proposal.owner, targets_of(proposal, revision))
        made += 1
    return made


def drop_unknown_branches() -> int:
    """Drop branches without a revision, from decisions that ran while the memory was copied. Return how many."""
    present = [branch.name for branch in dolt().branches() if parse_branch_name(branch.name)]
    known = set(Revision.objects.exclude(branch="").values_list("branch", flat=True))
    unknown = [name for name in present if name not in known]
    for name in unknown:
        dolt().drop_branch(name)
    return len(unknown)


def skip_ids(last: Mapping[str, int] | None = None) -> None:
    """Advance the id sequences past all known ids, and `SKIPPED_IDS` further, so that no id is assigned twice.

    Ids are known from the backup's manifest, the databases, the log of main and the names of branches.

    Args:
        last: the highest id of each table in the manifest.
    """
    numbers = [Change.objects.aggregate(Max("proposal_id"))["proposal_id__max"] or 0]
    numbers += [named[0] for branch in dolt().branches() if (named := parse_branch_name(branch.name))]
    numbers += [Trailers.of(commit.message).proposal_id or 0 for commit in dolt().log()]
    known, present = last or {}, sequences.last_ids()
    highest = {table: max(known.get(table, 0), present.get(table, 0)) for table in {*known, *present}}
    highest[_PROPOSALS] = max(highest.get(_PROPOSALS, 0), *numbers)
    sequences.go_on_above({table: id_ + SKIPPED_IDS for table, id_ in highest.items()})


# -- steps ----------------------------------------------------------------------------------------


def _approve(proposal: Proposal, row: Change) -> None:
    merge = commit_of(row.commit)
    head = next(iter(merge.parents[1:]), "")
    if head and head != proposal.current_revision.head_commit:
        _add_merged_revision(proposal, row, head)
    person = User.objects.filter(username=row.actor).first()
    # DoltLite's log has whole seconds for older commits: the decision must not precede the proposal's events.
    at = max([row.at, *proposal.events.values_list("at", flat=True)])
    with transaction.atomic(durable=True):
        closed = Proposal.objects.filter(pk=proposal.pk, status__in=DECIDABLE).update(
            status=Status.APPROVED,
            # Whether conflicts were resolved, or only a part was accepted, is not in the memory.
            approval=Approval.EDITED if proposal.current_revision.made_by_id else "",
            current_revision_number=proposal.current_revision_number,
            mergeability=Mergeability.CLEAN,
            decided_by=person,
            decided_at=at,
            decision_comment=row.comment,
            merge_operation=Trailers.of(merge.message).operation,
            main_before=merge.parents[0],
            merge_commit=row.commit,
            updated_at=timezone.now(),
        )
        if closed:
            proposal.proposed_notes.all().delete()
            events.record(proposal, Event.What.APPROVED, actor=person, text=row.comment, at=at, commit=row.commit)
    proposal.refresh_from_db()
    drop_branches(proposal)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))


def _add_merged_revision(proposal: Proposal, row: Change, head: str) -> None:
    """Add the revision that was merged: the proposal on a newer base, or in the reviewer's words."""
    if known := proposal.revisions.filter(head_commit=head).first():
        proposal.current_revision_number = known.number
        return
    shown = proposal.current_revision
    texts = texts_of_change(row.owner, targets_of(proposal, shown), dolt().parent(head), head)
    written = commit_of(head)
    is_own = written.email != authors.agent(proposal.agent.name).email
    reviewer = User.objects.filter(username=row.actor).first() if is_own else None
    changed = [change.as_json() for change in texts.changes if change.before != change.after]
    number = proposal.revisions.order_by("-number").values_list("number", flat=True)[0] + 1
    Revision.objects.create(
        proposal=proposal,
        number=number,
        origin=Revision.Origin.REVIEWER if is_own else Revision.Origin.REAPPLIED,
        made_by=reviewer,
        branch=branch_name(proposal.pk, number),
        base_commit=dolt().parent(head),
        head_commit=head,
        base_sha256=texts.base_sha256,
        base_text=texts.before,
        edits=texts.edits if is_own and not texts.changes else shown.edits,
        result_text=texts.after,
        note_changes=changed if is_own else shown.note_changes,
        risk_report=shown.risk_report,
        created_at=row.at,
    )
    proposal.current_revision_number = number
