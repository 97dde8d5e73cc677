"""Recreate the rows of proposals that are only in the memory, after a restore of an older `default`."""

import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Proposal, ProposedNote, Revision, Status, User
from approvals.review.note_changes import NoteChange, said_beside, text_of, title_of
from approvals.review.summary import summarise
from approvals.review.targets import DELETION, DELETION_SHA256, NewBlock, targets_of
from approvals.services import events
from approvals.services.preparing import branch_name, parse_branch_name
from approvals.services.recheck import recheck
from memory_app import reads
from memory_app.databases.prepared import BATCH
from memory_app.dolt.connections import dolt
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
    for branch in dolt().branches():
        named = parse_branch_name(branch.name)
        if named is None or dolt().is_ancestor(branch.head):
            continue  # main, or a branch without a commit yet
        number, revision = named
        if number not in known and revision == 1:
            made += _recreate_open(number, branch.head)
    return made


def _recreate_decided(number: int, row: Change) -> None:
    """Recreate the row of a proposal that was approved or applied by policy, from its row in the ledger."""
    targets = tuple(
        Change.objects.filter(commit=row.commit, owner=row.owner).order_by("id").values_list("target_kind", "target")
    )
    auto_applied = row.action == Change.Action.APPLIED
    commit = commit_of(row.commit)
    before = commit.parents[0]
    operation = Trailers.of(commit.message).operation
    person = None if auto_applied else User.objects.filter(username=row.actor).first()
    _recreate(
        number,
        owner=row.owner,
        targets=targets,
        agent=row.agent,
        before=before,
        after=row.commit,
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
    )


def _recreate_open(number: int, head: str) -> int:
    """Recreate the row of an open proposal from its branch. Return 1, or 0 if the branch is not about one owner."""
    commit = commit_of(head)
    changed = ledger.targets_changed(commit)
    if len(changed) != 1:
        return 0
    ((owner, targets),) = changed.items()
    proposal = _recreate(
        number,
        owner=owner,
        targets=targets,
        agent=commit.email.partition("@")[0],
        before=commit.parents[0],
        after=head,
        at=Trailers.of(commit.message).at or commit.at,
        head=head,
        operation=uuid.uuid4().hex,
        status=Status.OPEN,
    )
    recheck(owner, targets_of(proposal, proposal.current_revision))
    return 1


def _recreate(
    number: int,
    *,
    owner: str,
    targets: Sequence[tuple[str, str]],
    agent: str,
    before: str,
    after: str,
    at: datetime,
    head: str,
    **fields: object,
) -> Proposal:
    texts = texts_of_change(owner, targets, before, after)
    is_import = len(texts.changes) > 1
    stored = [change.as_json() for change in texts.changes]
    is_deletion = texts.kind in (Kind.DELETE, Kind.DELETE_BLOCK)
    summary = summarise(texts.before, texts.after, is_deletion=is_deletion, beside=texts.beside)
    target = f"import-{number}" if is_import else targets[0][1]
    reasoning = _("The reason is lost: the backup contains this change, but not what was said about it.")
    with transaction.atomic(durable=True):
        proposal = Proposal.objects.create(
            pk=number,
            owner=owner,
            target_kind=TargetKind.IMPORT if is_import else targets[0][0],
            target=target,
            target_title=texts.title,
            kind=texts.kind,
            agent=_agent(agent),
            reasoning=reasoning,
            search_words=summary.search_words(reasoning, target, texts.title),
            **summary.fields,
            result_sha256=texts.result_sha256,
            created_at=at,
            expires_at=max(at, timezone.now() - timedelta(days=1)) + settings.PROPOSAL_EXPIRY,
            **fields,
        )
        Revision.objects.create(
            proposal=proposal,
            number=1,
            branch="" if proposal.auto_applied else branch_name(number, 1),
            base_commit=dolt().parent(head) if head else before,
            head_commit=head,
            base_sha256=texts.base_sha256,
            base_text=texts.before,
            edits=texts.edits,
            result_text=texts.after,
            note_changes=stored,
            risk_report=summary.risk_report.as_json() if is_import else None,
            created_at=at,
        )
        if is_import and proposal.status == Status.OPEN:
            named = (ProposedNote(proposal=proposal, note_id=change.id) for change in texts.changes)
            ProposedNote.objects.bulk_create(named, batch_size=BATCH)
        _record_events(proposal, at)
    log.info("proposal_made_again", proposal=number, user_id=owner, status=str(proposal.status))
    return proposal


def _record_events(proposal: Proposal, at: datetime) -> None:
    commit = proposal.merge_commit
    if proposal.auto_applied:
        events.record(proposal, Event.What.APPLIED, actor=proposal.agent, at=at, commit=commit)
        return
    events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning, at=at)
    if proposal.is_decided:
        events.record(proposal, Event.What.APPROVED, actor=proposal.decided_by, at=at, commit=commit)


@dataclass(frozen=True)
class ChangeTexts:
    """The texts before and after a change; `changes` for notes only, `new_block` where a block is made."""

    before: str
    after: str
    base_sha256: str
    title: str
    kind: Kind
    changes: tuple[NoteChange, ...] = ()
    new_block: NewBlock | None = None

    @property
    def edits(self) -> list[dict[str, Any]]:
        """Return the change of a block as a revision keeps it: which words were asked for is not in the memory."""
        if self.kind == Kind.DELETE_BLOCK:
            return DELETION
        if self.new_block:
            return self.new_block.as_edits()
        return [] if self.changes else edits.to_json([edits.Rewrite(self.after)])

    @property
    def result_sha256(self) -> str:
        if self.kind == Kind.DELETE_BLOCK:
            return DELETION_SHA256
        return self.new_block.sha256_with(self.after) if self.new_block else edits.sha256_of(self.after)

    @property
    def beside(self) -> tuple[str, str]:
        if self.new_block:
            return self.new_block.beside
        return said_beside([change.as_json() for change in self.changes])


def texts_of_change(owner: str, targets: Sequence[tuple[str, str]], before: str, after: str) -> ChangeTexts:
    """Return the texts of a change's targets, read at the commits before and after it."""
    if targets[0][0] == TargetKind.BLOCK:
        label = targets[0][1]
        old, new = _block_at(owner, label, before), _block_at(owner, label, after)
        title = next((block.display_title for block in (new, old) if block), label)
        sha256 = old.sha256 if old else ""
        kind = Kind.REWRITE if old and new else Kind.CREATE_BLOCK if new else Kind.DELETE_BLOCK
        made = NewBlock(new.title, new.description, new.limit) if new and not old else None
        return ChangeTexts(old.body if old else "", new.body if new else "", sha256, title, kind, new_block=made)
    ids = [target for _kind, target in targets]
    olds, news = reads.find_notes(owner, ids, before), reads.find_notes(owner, ids, after)
    changes = tuple(NoteChange(id_, olds.get(id_), news.get(id_)) for id_ in ids)
    sides = text_of([change.before for change in changes]), text_of([change.after for change in changes])
    return ChangeTexts(*sides, "", title_of(changes), _kind_of(changes), changes)


def _block_at(owner: str, label: str, revision: str) -> reads.Block | None:
    try:
        return reads.block_at(owner, label, revision)
    except reads.BlockNotFound:
        return None


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
        name=name or "unknown", defaults={"is_active": False, "description": _("Known from the memory only")}
    )[0]


def commit_of(hash_: str) -> Commit:
    return dolt().log(hash_, limit=1)[0]
