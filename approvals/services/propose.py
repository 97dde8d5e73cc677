"""An agent proposes: the edits become a branch with one commit, and a row that waits for a person.

Row PREPARING → branch → commit → OPEN. Each step can be done again, so a crash between them is finished
by `recover` or by the same call coming back with its operation id (design.md §3 rules 7 and 16). One at a time: who
meets a row in this state waits for who makes it, and takes it over when that one's lease has run out.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, IntegrityError, connection, transaction
from django.utils import timezone

from approvals.models import PENDING, Agent, Event, Kind, Proposal, ProposalQuerySet, Revision, Status
from approvals.review.search_words import search_words
from approvals.review.targets import rows_to_write, targets_of
from approvals.risks import flags
from approvals.services import events
from approvals.services.errors import (
    BeingMade,
    BlockReadOnly,
    MemoryFull,
    NoChange,
    OverLimit,
    PreconditionFailed,
    TooManyPending,
)
from approvals.services.texts import give_up_branch, require_texts
from memory_app import reads
from memory_app.databases.prepared import Prepared, insert, update
from memory_app.models import TargetKind
from memory_app.runtime import deadlines
from memory_app.text import edits as text_edits
from memory_app.text import worddiff
from memory_app.writing import commits

log = structlog.get_logger(__name__)

_BRANCH = re.compile(r"p/(\d{1,18})(?:-(\d{1,9}))?")

#: From this share of a block's limit on, the agent is told that little room is left.
NEARLY_FULL = 0.9

#: Writing 100,000 notes took from 25 s to well over 100 on a busy server: nobody else is to finish an import meanwhile.
_LEASE_OF_A_NOTE = timedelta(milliseconds=3)

#: Seconds to wait for another call that makes the same proposal, which takes some 50 ms.
_PATIENCE = 5.0


@dataclass(frozen=True)
class Proposed:
    """What came of a call to `propose`.

    Args:
        created: False when an equal proposal of this agent waits already and is returned instead.
        warnings: sentences for the agent.
        occurrences: how many places the edits replace.
        used: length of the resulting text in characters.
        limit: the block's limit in characters.
        content_sha256: of the target's text now.
    """

    proposal: Proposal
    revision: Revision
    created: bool
    warnings: tuple[str, ...]
    occurrences: int
    used: int
    limit: int
    content_sha256: str


def propose(
    *,
    agent: Agent,
    owner: str,
    label: str,
    edits: Sequence[text_edits.Edit],
    kind: Kind,
    reasoning: str,
    confidence: str = "medium",
    session_id: str = "",
    evidence: Sequence[dict[str, Any]] = (),
    expected_sha256: str | None = None,
    operation: str | None = None,
    may_read: bool = True,
) -> Proposed:
    """Propose edits to one block: all of them, in order, or none.

    Args:
        owner: username; the caller has made sure that the agent serves this owner.
        reasoning: why, for the person who decides; not empty.
        evidence: conversation turns `{role, content, at?}`.
        expected_sha256: of the block's text as the agent read it.
        operation: 32 hexadecimal digits; the same one gives the same proposal.
        may_read: whether the agent may read the block. If not, an equal proposal is one with the same edits, and the
            caps are looked at before the text: what comes first would tell whether an edit fits.

    Raises:
        BlockNotFound, EditError: see `recall` and `edits`; the index tells which edit.
        BlockReadOnly, PreconditionFailed, NoChange, OverLimit, TooManyPending, MemoryFull: see `errors`.
        AlreadyDecided: the operation was done before, and the texts of its proposal are removed by now.
        BeingMade: another call makes this proposal, and is not done after a few seconds.
        EngineUnavailable: the branch could not be made; the row stays and is finished by `recover`.
    """
    earlier = Proposal.objects.filter(operation=operation).first() if operation else None
    if earlier:
        return _outcome(_finished(earlier, is_resumed=True), created=True)
    operation = operation or uuid.uuid4().hex

    base = reads.snapshot(owner, label)
    block = base.block
    if block.read_only:
        raise BlockReadOnly(f"Block '{label}' is read-only.")
    if not may_read:
        pending = Proposal.objects.by_agent(agent).of_owner(owner).pending()
        if twin := _asked_before(pending, label, edits):
            return _outcome(_finished(twin), created=False, block=block)
        require_room(pending)
    if expected_sha256 is not None and expected_sha256 != block.body_sha256:
        raise PreconditionFailed(block)
    applied = text_edits.apply(block.body, tuple(edits))
    if applied.text == block.body:
        raise NoChange(f"The edit leaves block '{label}' as it is.")
    if len(applied.text) > block.limit:
        raise OverLimit(used=len(applied.text), limit=block.limit)

    try:
        proposal, created = _prepare(
            agent=agent,
            base=base,
            applied=applied,
            kind=kind,
            operation=operation,
            may_read=may_read,
            fields={
                "reasoning": reasoning,
                "confidence": confidence,
                "session_id": session_id,
                "evidence": list(evidence),
            },
        )
        is_mine = created
    except IntegrityError:
        # The same operation came twice at once and the other call inserted its row first.
        proposal, created, is_mine = Proposal.objects.get(operation=operation), True, False
    finished = _finished(proposal, is_mine=is_mine, base=block if is_mine else None)
    return _outcome(finished, created=created, block=block)


def make_alone(
    proposal: Proposal, make: Callable[[Proposal], Proposal], *, is_mine: bool, is_resumed: bool = False
) -> Proposal:
    """What `make` makes of a PREPARING proposal, or what another call made of it meanwhile.

    Args:
        is_mine: the caller has just begun it, or taken it over, and holds its lease.
        is_resumed: the caller holds its operation id, which is for one call at a time: if who began it is not done
            after a few seconds, it was killed. The lease of a large import would run on for minutes.

    Raises:
        BeingMade: another call is at it still, or found that it no longer fits.
    """
    if not is_mine:
        proposal = _when_made(proposal, is_resumed=is_resumed)
    if proposal.status != Status.PREPARING:
        return proposal
    try:
        return make(proposal)
    except Exception:
        _let_go(proposal)
        raise


def take_over(proposal: Proposal, *, is_left: bool = False) -> bool:
    """Take the lease of a PREPARING proposal that nobody is at any more; False where somebody may be.

    Args:
        is_left: whoever has the lease, as the row was read, is known to be gone.
    """
    held, now = proposal.lease_expires_at, timezone.now()
    if held and held >= now and not is_left:
        return False
    until = now + lease_of(len(proposal.current_revision.note_changes))
    if not _as_read(proposal).update(lease_expires_at=until):
        return False
    proposal.lease_expires_at = until
    return True


def lease_of(notes: int) -> timedelta:
    """How long a proposal about so many notes may take to be made before others take it over."""
    return settings.LEASE + notes * _LEASE_OF_A_NOTE


def _when_made(proposal: Proposal, *, is_resumed: bool) -> Proposal:
    end = time.monotonic() + min(_PATIENCE, deadlines.remaining())
    while proposal.status == Status.PREPARING and not take_over(proposal):
        if time.monotonic() >= end:
            if is_resumed and take_over(proposal, is_left=True):
                break
            raise BeingMade
        time.sleep(0.02)
        try:
            proposal.refresh_from_db()
        except Proposal.DoesNotExist as error:
            raise BeingMade from error
    return proposal


def _let_go(proposal: Proposal) -> None:
    """Let others finish what failed here without waiting for its lease, which runs out where this cannot be written."""
    deadlines.extend()
    try:
        _as_read(proposal).update(lease_expires_at=None)
    except DatabaseError as error:
        log.warning("proposal_not_let_go", proposal=proposal.pk, error=type(error).__name__)


def _as_read(proposal: Proposal) -> ProposalQuerySet:
    """The row, unless it is made or its lease is another's by now."""
    return Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, lease_expires_at=proposal.lease_expires_at)


def finish_preparing(proposal: Proposal, *, base: reads.Block | None = None) -> Proposal:
    """Make the branch of a PREPARING proposal and open it. Harmless when done twice.

    Args:
        base: the block at the revision's base commit, where the caller has it.
    """
    revision = proposal.current_revision
    revision.head_commit = write_revision_branch(proposal, revision, base=base)
    opened = {"status": Status.OPEN, "lease_expires_at": None, "updated_at": timezone.now()}
    with transaction.atomic(durable=True):
        update(Revision, {"head_commit": revision.head_commit}, where={"id": revision.pk})
        if update(Proposal, opened, where={"id": proposal.pk, "status": Status.PREPARING}):
            events.record(proposal, Event.What.PROPOSED, actor=proposal.agent, text=proposal.reasoning)
            proposal.set_written(opened)
    if proposal.status == Status.PREPARING:
        proposal.refresh_from_db()
    if proposal.is_decided:  # by others who finished it, since this call outlived its lease
        give_up_branch(revision)
    return proposal


def write_revision_branch(proposal: Proposal, revision: Revision, *, base: reads.Block | None = None) -> str:
    """Put what a revision says on its branch, on top of its base commit; the head's hash.

    Args:
        base: see `finish_preparing`.
    """
    return commits.write_branch(
        revision.branch,
        base=revision.base_commit,
        writes=rows_to_write(proposal, revision, base=base),
        entry=commits.LedgerEntry(
            action="proposed",
            owner=proposal.owner,
            targets=targets_of(proposal, revision),
            operation=uuid.uuid5(uuid.UUID(proposal.operation), str(revision.number)).hex,
            agent=proposal.agent.name,
            proposal_id=proposal.pk,
        ),
        author=commits.agent(proposal.agent.name),
        subject=f"Propose {proposal.kind} of {proposal.target}",
    )


def branch_name(proposal_id: int, revision: int) -> str:
    """Short, since DoltLite rewrites the list of all branches on each write."""
    return f"p/{proposal_id}" if revision == 1 else f"p/{proposal_id}-{revision}"


def named_by(branch: str) -> tuple[int, int] | None:
    """The proposal and the revision `branch_name` made this name of; None when it is no such name."""
    found = _BRANCH.fullmatch(branch)
    return (int(found[1]), int(found[2] or 1)) if found else None


def require_room(pending: ProposalQuerySet) -> None:
    """Raise TooManyPending or MemoryFull where no further proposal may wait.

    Args:
        pending: the agent's own for this owner.
    """
    _require_room(lambda: pending, own=pending.count(), everybodys=Proposal.objects.pending().count())


def _require_room(pending: Callable[[], ProposalQuerySet], *, own: int, everybodys: int) -> None:
    if own >= settings.PENDING_CAP:
        raise TooManyPending(tuple(pending().order_by("created_at", "id")), settings.PENDING_CAP)
    if everybodys >= settings.MAX_OPEN_PROPOSALS:
        raise MemoryFull(f"{settings.MAX_OPEN_PROPOSALS} proposals wait for a decision already.")


def lock_agent(agent: Agent) -> None:
    """Have one agent's calls wait for each other until the transaction ends: the cap could be passed by racing.

    SQLite has one writer anyway.
    """
    if connection.features.has_select_for_update:
        _LOCKED.all(pk=agent.pk)


_LOCKED = Prepared(lambda pk: Agent.objects.filter(pk=pk).select_for_update().order_by().values_list("pk"), pk=int)


_PENDING = ", ".join(f"'{status.value}'" for status in PENDING)
#: An equal proposal, and how many wait: of this agent for this owner, and in all. In one statement: each call asks.
_WAITING = f"""
    SELECT
        (SELECT MIN(id) FROM {Proposal._meta.db_table} WHERE agent_id = %s AND owner = %s AND status IN ({_PENDING})
            AND target_kind = 'block' AND target = %s AND result_sha256 = %s),
        (SELECT COUNT(*) FROM {Proposal._meta.db_table} WHERE agent_id = %s AND owner = %s AND status IN ({_PENDING})),
        (SELECT COUNT(*) FROM {Proposal._meta.db_table} WHERE status IN ({_PENDING}))
"""  # noqa: S608 (names of our own)


def _asked_before(pending: ProposalQuerySet, label: str, edits: Sequence[text_edits.Edit]) -> Proposal | None:
    """The agent's pending proposal that asks for the same edits."""
    asked = text_edits.to_json(map(_as_asked, edits))
    for proposal in pending.filter(target_kind=TargetKind.BLOCK, target=label).order_by("-pk"):
        if text_edits.to_json(map(_as_asked, text_edits.from_json(proposal.current_revision.edits))) == asked:
            return proposal
    return None


def _as_asked(edit: text_edits.Edit) -> text_edits.Edit:
    """The edit without what applying it added."""
    return replace(edit, occurrences=None) if isinstance(edit, text_edits.Replace) else edit


def _prepare(
    *,
    agent: Agent,
    base: reads.Snapshot,
    applied: text_edits.Applied,
    kind: Kind,
    operation: str,
    may_read: bool,
    fields: dict[str, Any],
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row, unless caps forbid it or an equal proposal waits."""
    block = base.block
    result_sha256 = text_edits.sha256_of(applied.text)
    segments = worddiff.diff(block.body, applied.text)
    added, removed = worddiff.count_words(segments)
    said = flags.said_with(fields["reasoning"], fields["evidence"])
    found = flags.flags(block.body, applied.text, segments=segments, said=said)
    excerpt = worddiff.excerpt(segments)
    words = search_words(segments, excerpt, fields["reasoning"], block.label, block.display_title)
    now = timezone.now()
    with transaction.atomic(durable=True):
        lock_agent(agent)
        with connection.cursor() as cursor:
            whose: tuple[int, str] = (agent.pk, block.owner)
            cursor.execute(_WAITING, [*whose, block.label, result_sha256, *whose])
            twin, own, everybodys = cursor.fetchone()
        # Another edit with the same result would tell who may not read that it fits, and leave no trace of the asking.
        if may_read and twin:
            return Proposal.objects.get(pk=twin), False
        _require_room(
            lambda: Proposal.objects.by_agent(agent).of_owner(block.owner).pending(), own=own, everybodys=everybodys
        )
        proposal = Proposal(
            owner=block.owner,
            target_kind=TargetKind.BLOCK,
            target=block.label,
            target_title=block.display_title,
            kind=kind,
            agent=agent,
            excerpt=excerpt,
            search_words=words,
            words_added=added,
            words_removed=removed,
            risks=[risk.key for risk in found],
            result_sha256=result_sha256,
            operation=operation,
            created_at=now,
            expires_at=now + settings.PROPOSAL_EXPIRY,
            lease_expires_at=now + lease_of(0),
            **fields,
        )
        insert(proposal)
        revision = Revision(
            proposal=proposal,
            number=1,
            branch=branch_name(proposal.pk, 1),
            base_commit=base.commit,
            base_sha256=block.sha256,
            base_text=block.body,
            edits=text_edits.to_json(applied.edits),
            result_text=applied.text,
            created_at=now,
        )
        proposal.hold_current_revision(insert(revision))
    return proposal, True


def _finished(
    proposal: Proposal, *, is_mine: bool = False, is_resumed: bool = False, base: reads.Block | None = None
) -> Proposal:
    require_texts(proposal)
    return make_alone(proposal, partial(finish_preparing, base=base), is_mine=is_mine, is_resumed=is_resumed)


def _outcome(proposal: Proposal, *, created: bool, block: reads.Block | None = None) -> Proposed:
    revision = proposal.current_revision
    block = block or reads.find_block(proposal.owner, proposal.target)
    used, limit = len(revision.result_text), block.limit if block else settings.BLOCK_LIMIT
    warnings = []
    if used >= NEARLY_FULL * limit:
        warnings.append(
            f"Warning: block '{proposal.target}' would be {used * 100 // limit} % full "
            f"({used:,} of {limit:,} characters)."
        )
    wanted = text_edits.from_json(revision.edits)
    return Proposed(
        proposal=proposal,
        revision=revision,
        created=created,
        warnings=tuple(warnings),
        occurrences=sum(edit.occurrences or 1 for edit in wanted if isinstance(edit, text_edits.Replace)),
        used=used,
        limit=limit,
        content_sha256=block.body_sha256 if block else "",
    )
