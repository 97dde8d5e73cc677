"""Recreate the rows of proposals that are only in the memory, after a restore of an older `default`."""

import uuid
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from approvals.models import Agent, Event, Kind, Proposal, Revision, Status, User
from approvals.review.note_changes import NoteChange
from approvals.review.targets import NewBlock, targets_of
from approvals.services import blocks, events, notes
from approvals.services.preparing import ProposedChange, branch_name, name_notes, parse_branch_name
from approvals.services.recheck import recheck
from memory_app import reads
from memory_app.dolt.connections import branches, dolt, dolt_of
from memory_app.dolt.placement import database_of, databases, put_in
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.text import edits
from memory_app.text.trailers import Trailers
from memory_app.writing import ledger

log = structlog.get_logger(__name__)


def recreate_missing_proposals() -> int:
    """Recreate the rows of proposals that are only in the memory: approved, applied by policy, or open on a branch.

    Returns:
        How many. They keep their numbers, which agents and people may have seen.
    """
    known = set(Proposal.objects.values_list("pk", flat=True))
    decided = Change.objects.filter(
        action__in=[Change.Action.APPROVED, Change.Action.APPLIED], proposal_id__isnull=False
    ).order_by("id")
    unknown = {row.proposal_id: row for row in decided if row.proposal_id not in known}
    for number, row in unknown.items():
        _recreate_decided(int(number or 0), row)
    known |= {number for number in unknown if number}
    made = len(unknown)
    for database, name, head in (each for held in databases() for each in branches(held)):
        named = parse_branch_name(name)
        if named is None or dolt_of(database).was_on_main(head):
            continue  # a branch without a commit yet
        number, revision = named
        if number not in known and revision == 1:
            made += _recreate_open(database, number, head)
    return made


def _recreate_decided(number: int, row: Change) -> None:
    """Recreate the row of a proposal that was approved or applied by policy, from its row in the ledger."""
    targets = tuple(
        Change.objects.filter(commit=row.commit, owner=row.owner).order_by("id").values_list("target_kind", "target")
    )
    auto_applied = row.action == Change.Action.APPLIED
    commit = commit_of(row.owner, row.commit)
    before = commit.parents[0]
    operation = Trailers.of(commit.message).operation
    person = None if auto_applied else User.objects.filter(username=row.actor).first()
    _recreate(
        number,
        change_between(row.owner, targets, before, row.commit),
        agent=row.agent,
        at=row.at,
        head=next(iter(commit.parents[1:]), ""),
        # If policy applied it, this is the commit's operation: a repeated call finds the proposal by it.
        operation=operation if auto_applied else uuid.uuid4().hex,
        status=Status.APPLIED if auto_applied else Status.APPROVED,
        auto_applied=auto_applied,
        decided_by=person,
        decided_at=row.at,
        decision_comment=row.comment,
        merge_operation="" if auto_applied else operation,
        main_before="" if auto_applied else before,
        merge_commit=row.commit,
        earlier=_undone_before(row),
    )


def _undone_before(row: Change) -> list[Change]:
    """Return a row of the ledger for each approval, and each undoing of one, of a proposal before the last approval."""
    both = (Change.Action.APPROVED, Change.Action.REVERTED)
    rows = Change.objects.filter(proposal_id=row.proposal_id, action__in=both, id__lt=row.pk).exclude(commit=row.commit)
    return list({each.commit: each for each in rows.order_by("id")}.values())


def _recreate_open(database: str, number: int, head: str) -> int:
    """Recreate the row of an open proposal from its branch. Return 1, or 0 if the branch is not about one owner who
    has a memory in this database."""
    (commit,) = dolt_of(database).log(head, limit=1)
    changed = ledger.targets_changed(database, commit)
    if len(changed) != 1:
        return 0
    ((owner, targets),) = changed.items()
    put_in(owner, database)
    if database_of(owner) != database:
        return 0
    proposal = _recreate(
        number,
        change_between(owner, targets, commit.parents[0], head),
        agent=commit.email.partition("@")[0],
        at=Trailers.of(commit.message).at or commit.at,
        head=head,
        operation=uuid.uuid4().hex,
        status=Status.OPEN,
    )
    recheck(owner, targets_of(proposal, proposal.current_revision))
    return 1


def _recreate(
    number: int,
    change: ProposedChange,
    *,
    agent: str,
    at: datetime,
    head: str,
    earlier: Sequence[Change] = (),
    **fields: object,
) -> Proposal:
    summary = change.summary("", ())
    target = change.target or f"import-{number}"
    reasoning = "The reason is lost: the backup contains this change, but not what was said about it."
    with transaction.atomic(durable=True):
        proposal = Proposal.objects.create(
            pk=number,
            owner=change.owner,
            target_kind=change.target_kind,
            target=target,
            agent=_agent(agent),
            reasoning=reasoning,
            created_at=at,
            expires_at=max(at, timezone.now() - timedelta(days=1)) + settings.PROPOSAL_EXPIRY,
            **change.fields(summary, reasoning, target),
            **fields,
        )
        Revision.objects.create(
            proposal=proposal,
            number=1,
            branch="" if proposal.auto_applied else branch_name(number, 1),
            head_commit=head,
            created_at=at,
            **change.texts(summary) | {"base_commit": dolt(change.owner).parent(head) if head else change.base_commit},
        )
        if proposal.status == Status.OPEN:
            name_notes(proposal)
        made: dict[str, Any] = {"actor": proposal.agent, "at": at, "commit": proposal.merge_commit}
        if proposal.auto_applied:
            events.record(proposal, Event.What.APPLIED, text=proposal.reasoning, **made)
        else:
            events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning, at=at)
        for row in earlier:
            person = User.objects.filter(username=row.actor).first()
            undone = {"waits": True} if row.action == Change.Action.REVERTED else {}
            events.record(
                proposal, Event.What(row.action), actor=person, text=row.comment, at=row.at, commit=row.commit, **undone
            )
        if proposal.status == Status.APPROVED:
            said = {"actor": proposal.decided_by, "text": proposal.decision_comment}
            events.record(proposal, Event.What.APPROVED, **made | said)
    log.info("proposal_made_again", proposal=number, user_id=change.owner, status=str(proposal.status))
    return proposal


def change_between(owner: str, targets: Sequence[tuple[str, str]], before: str, after: str) -> ProposedChange:
    """Return the change of some targets as it would be asked for, read at the commits before and after it.

    Which words were asked for of a block is not in the memory.
    """
    if targets[0][0] == TargetKind.BLOCK:
        label = targets[0][1]
        old, new = (reads.find_block(owner, label, commit) for commit in (before, after))
        kind = Kind.REWRITE if old and new else Kind.CREATE_BLOCK if new else Kind.DELETE_BLOCK
        text = new.body if new else ""
        made = NewBlock(new.title, new.description, new.limit) if new and not old else None
        return blocks.change_of(kind, owner, label, before, old, text, made=[edits.Rewrite(text)], new=made)
    ids = [target for _kind, target in targets]
    olds, news = reads.find_notes(owner, ids, before), reads.find_notes(owner, ids, after)
    changes = tuple(NoteChange(id_, olds.get(id_), news.get(id_)) for id_ in ids)
    return notes.change_of(owner, _kind_of(changes), changes, before)


def _kind_of(changes: Sequence[NoteChange]) -> Kind:
    if len(changes) > 1:
        return Kind.IMPORT
    before, after = changes[0].before, changes[0].after
    if before is None:
        return Kind.SAVE
    if after is None:
        return Kind.DELETE
    return Kind.FORGET if after.is_superseded and not before.is_superseded else Kind.UPDATE


def _agent(name: str) -> Agent:
    """Return the agent of this name. One created after the copy of `default` has no token, and becomes inactive."""
    return Agent.objects.get_or_create(
        name=name or "unknown", defaults={"is_active": False, "description": "Known from the memory only"}
    )[0]


def commit_of(owner: str, hash_: str) -> Commit:
    return dolt(owner).log(hash_, limit=1)[0]
