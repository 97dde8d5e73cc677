"""What `default` lacks beside a newer memory, read from the memory: for `recover`, after a restore.

A backup copies `default` first and the memory a moment later. In between people approve and reject, agents propose,
and policy applies. What of that reached the memory is put down here: who decided, and what the texts were before and
after. Reasons and comments are only in `default`; those of that moment are lost, and the rows say so.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Mergeability, Proposal, ProposedNote, Revision, Status, User
from approvals.review.search_words import search_words
from approvals.review.targets import targets_of
from approvals.risks import flags
from approvals.services import events
from approvals.services.decide.close import drop_branches
from approvals.services.notes.agents import text_of, title_of
from approvals.services.notes.values import NoteChange, said_beside
from approvals.services.propose import branch_name, named_by, write_revision_branch
from approvals.services.recheck import after_change, recheck
from approvals.services.texts import give_up_branch
from memory_app import reads
from memory_app.databases.backups import sequences
from memory_app.dolt.connections import dolt
from memory_app.dolt.errors import RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.text import edits, worddiff
from memory_app.text.trailers import Trailers
from memory_app.writing import commits

log = structlog.get_logger(__name__)

#: Ids given out after a copy was made are known to nobody but those who saw them: so many are left out.
SKIPPED_IDS = 1_000

_PROPOSALS = Proposal._meta.db_table

#: Segments of a difference that an excerpt is looked for in.
_EXCERPTED = 400


def approve_merged() -> int:
    """Mark open proposals APPROVED that the ledger, made from main's log, says were approved; how many.

    On a running site there are none: a proposal leaves OPEN before it is merged.
    """
    waiting = Proposal.objects.open().values("pk")
    rows = Change.objects.filter(action=Change.Action.APPROVED, proposal_id__in=waiting).order_by()
    merges = {int(row.proposal_id or 0): row for row in sorted(rows, key=lambda row: row.pk)}
    for proposal in Proposal.objects.filter(pk__in=merges).select_related("agent"):
        _approve(proposal, merges[proposal.pk])
    return len(merges)


def make_proposals_again() -> int:
    """Make the rows of proposals that only the memory knows: approved, applied by policy, or waiting on a branch.

    Returns:
        How many. They keep their numbers, which agents and people have seen.
    """
    known = set(Proposal.objects.values_list("pk", flat=True))
    decided = Change.objects.filter(
        action__in=[Change.Action.APPROVED, Change.Action.APPLIED], proposal_id__isnull=False
    ).order_by("id")
    unknown = {row.proposal_id: row for row in decided if row.proposal_id not in known}
    for number, row in unknown.items():
        _make_decided_again(int(number or 0), row)
    known |= {number for number in unknown if number}
    made = len(unknown)
    for branch in dolt().branches():
        named = named_by(branch.name)
        if named is None or dolt().is_ancestor(branch.head):
            continue  # main, or a branch on which nothing was written yet
        number, revision = named
        if number not in known and revision == 1:
            made += _make_open_again(number, branch.head)
    return made


def make_branches_again() -> int:
    """Make the branches again that open proposals should have and do not; how many.

    They were dropped by a decision that is not in `default`, which holds the texts.
    """
    present = {branch.name for branch in dolt().branches()}
    is_current = Q(proposal__status=Status.OPEN, number=F("proposal__current_revision_number"))
    current = Revision.objects.filter(is_current).exclude(branch="")
    missing = [pk for pk, name in current.values_list("pk", "branch") if name not in present]
    made = 0
    for revision in Revision.objects.filter(pk__in=missing).select_related("proposal__agent"):
        proposal = revision.proposal
        try:
            head = write_revision_branch(proposal, revision)
        except (RevisionNotFound, reads.BlockNotFound, commits.TargetMoved):
            # Its base is not in this memory: check_memory tells of it, and a person can reject it.
            log.warning("branch_not_made_again", proposal=proposal.pk, base=revision.base_commit)
            continue
        Revision.objects.filter(pk=revision.pk).update(head_commit=head)
        if not Proposal.objects.open().filter(pk=proposal.pk).exists():
            # Decided since it was read, by somebody who found no branch to drop.
            give_up_branch(revision)
            continue
        recheck(proposal.owner, targets_of(proposal, revision))
        made += 1
    return made


def drop_unknown_branches() -> int:
    """Drop branches no revision has: made for a decision that was under way when the memory was copied; how many."""
    present = [branch.name for branch in dolt().branches() if named_by(branch.name)]
    known = set(Revision.objects.exclude(branch="").values_list("branch", flat=True))
    unknown = [name for name in present if name not in known]
    for name in unknown:
        dolt().drop_branch(name)
    return len(unknown)


def skip_ids(last: Mapping[str, int] | None = None) -> None:
    """Give no id out again that a backup's manifest, the databases, main's log or a branch knows, nor the next ones.

    Args:
        last: the highest id of each table that the manifest knows.
    """
    numbers = [Change.objects.aggregate(Max("proposal_id"))["proposal_id__max"] or 0]
    numbers += [named[0] for branch in dolt().branches() if (named := named_by(branch.name))]
    numbers += [Trailers.of(commit.message).proposal_id or 0 for commit in dolt().log()]
    known, present = last or {}, sequences.last_ids()
    highest = {table: max(known.get(table, 0), present.get(table, 0)) for table in {*known, *present}}
    highest[_PROPOSALS] = max(highest.get(_PROPOSALS, 0), *numbers)
    sequences.go_on_above({table: id_ + SKIPPED_IDS for table, id_ in highest.items()})


# -- steps ----------------------------------------------------------------------------------------


def _approve(proposal: Proposal, row: Change) -> None:
    merge = _commit(row.commit)
    head = next(iter(merge.parents[1:]), "")
    if head and head != proposal.current_revision.head_commit:
        _add_merged_revision(proposal, row, head)
    person = User.objects.filter(username=row.actor).first()
    # Of older commits DoltLite's log knows whole seconds: not before what it decides about was proposed.
    at = max([row.at, *proposal.events.values_list("at", flat=True)])
    with transaction.atomic(durable=True):
        closed = Proposal.objects.filter(pk=proposal.pk, status=Status.OPEN).update(
            status=Status.APPROVED,
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
    """What was merged was made again for the decision, on the memory as it was then: a revision of its own."""
    if known := proposal.revisions.filter(head_commit=head).first():
        proposal.current_revision_number = known.number
        return
    shown = proposal.current_revision
    texts = _texts(row.owner, targets_of(proposal, shown), dolt().parent(head), head)
    number = proposal.revisions.order_by("-number").values_list("number", flat=True)[0] + 1
    Revision.objects.create(
        proposal=proposal,
        number=number,
        origin=Revision.Origin.REAPPLIED,
        branch=branch_name(proposal.pk, number),
        base_commit=dolt().parent(head),
        head_commit=head,
        base_sha256=texts.base_sha256,
        base_text=texts.before,
        edits=shown.edits,
        result_text=texts.after,
        note_changes=shown.note_changes,
        risk_report=shown.risk_report,
        created_at=row.at,
    )
    proposal.current_revision_number = number


def _make_decided_again(number: int, row: Change) -> None:
    """The row of a proposal that the ledger says was approved, or applied by policy."""
    targets = tuple(
        Change.objects.filter(commit=row.commit, owner=row.owner).order_by("id").values_list("target_kind", "target")
    )
    auto_applied = row.action == Change.Action.APPLIED
    commit = _commit(row.commit)
    before = commit.parents[0]
    operation = Trailers.of(commit.message).operation
    person = None if auto_applied else User.objects.filter(username=row.actor).first()
    _make_again(
        number,
        owner=row.owner,
        targets=targets,
        agent=row.agent,
        before=before,
        after=row.commit,
        at=row.at,
        head=next(iter(commit.parents[1:]), ""),
        # Of what policy applied it is the commit's own: the same call that comes again finds it by that.
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


def _make_open_again(number: int, head: str) -> int:
    """The row of a proposal that waits on a branch; 0 where that is no proposal of one owner's."""
    commit = _commit(head)
    changed = commits.targets_changed(commit)
    if len(changed) != 1:
        return 0
    ((owner, targets),) = changed.items()
    proposal = _make_again(
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


def _make_again(
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
    texts = _texts(owner, targets, before, after)
    is_import = len(texts.changes) > 1
    segments = worddiff.diff(texts.before, texts.after)
    added, removed = worddiff.count_words(segments)
    stored = [change.as_json() for change in texts.changes]
    beside = said_beside(stored)
    risk_report = flags.report(
        texts.before, texts.after, segments=segments, is_deletion=texts.kind == Kind.DELETE, beside=beside
    )
    target = f"import-{number}" if is_import else targets[0][1]
    reasoning = _("The reason is lost: the backup contains this change, but not what was said about it.")
    excerpt = worddiff.excerpt(segments[:_EXCERPTED])
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
            excerpt=excerpt,
            search_words=search_words(segments, excerpt, reasoning, target, texts.title, *beside),
            words_added=added,
            words_removed=removed,
            risks=[risk.key for risk in risk_report.risks],
            result_sha256=edits.sha256_of(texts.after),
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
            edits=[] if texts.changes else edits.to_json([edits.Rewrite(texts.after)]),
            result_text=texts.after,
            note_changes=stored,
            risk_report=risk_report.as_json() if is_import else None,
            created_at=at,
        )
        if is_import and proposal.status == Status.OPEN:
            named = (ProposedNote(proposal=proposal, note_id=change.id) for change in texts.changes)
            ProposedNote.objects.bulk_create(named, batch_size=commits.ROWS)
        what = {Status.APPLIED: Event.What.APPLIED, Status.APPROVED: Event.What.APPROVED}
        if proposal.status != Status.APPLIED:
            events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning, at=at)
        if proposal.is_decided:
            by = proposal.agent if proposal.auto_applied else proposal.decided_by
            events.record(proposal, what[Status(proposal.status)], actor=by, at=at, commit=proposal.merge_commit)
    log.info("proposal_made_again", proposal=number, user_id=owner, status=str(proposal.status))
    return proposal


@dataclass(frozen=True)
class _Texts:
    """A change as its two sides say it; `changes` for notes alone."""

    before: str
    after: str
    base_sha256: str
    title: str
    kind: Kind
    changes: tuple[NoteChange, ...] = ()


def _texts(owner: str, targets: Sequence[tuple[str, str]], before: str, after: str) -> _Texts:
    """What a change made of its targets, read at the commits before and after it."""
    if targets[0][0] == TargetKind.BLOCK:
        label = targets[0][1]
        old, new = _block_at(owner, label, before), _block_at(owner, label, after)
        title = next((block.display_title for block in (new, old) if block), label)
        sha256 = old.sha256 if old else ""
        return _Texts(old.body if old else "", new.body if new else "", sha256, title, Kind.REWRITE)
    ids = [target for _kind, target in targets]
    olds, news = reads.find_notes(owner, ids, before), reads.find_notes(owner, ids, after)
    changes = tuple(NoteChange(id_, olds.get(id_), news.get(id_)) for id_ in ids)
    sides = text_of([change.before for change in changes]), text_of([change.after for change in changes])
    return _Texts(*sides, "", title_of(changes), _kind_of(changes), changes)


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
    """The agent of this name. One made after `default` was copied has no token any more, and is made inactive."""
    return Agent.objects.get_or_create(
        name=name or "unknown", defaults={"is_active": False, "description": _("Known from the memory only")}
    )[0]


def _commit(hash_: str) -> Commit:
    return dolt().log(hash_, limit=1)[0]
