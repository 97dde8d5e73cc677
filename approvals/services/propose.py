"""An agent proposes: the edits become a branch with one commit, and a row that waits for a person.

Row PREPARING → branch → commit → OPEN. Each step can be done again, so a crash between them is finished
by `recover` or by the same call coming back with its operation id (design.md §3 rules 7 and 16). One at a time: who
meets a row in this state waits for who makes it, and takes it over when that one's lease has run out.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, Revision
from approvals.review.summary import summarise
from approvals.risks import flags
from approvals.services.caps import equal_or_room, pending_of, require_room
from approvals.services.errors import BlockReadOnly, NoChange, OverLimit, PreconditionFailed
from approvals.services.preparing import finish_preparing, insert_prepared, lease_of, make_alone
from approvals.services.texts import require_texts
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.text import edits as text_edits

log = structlog.get_logger(__name__)


#: From this share of a block's limit on, the agent is told that little room is left.
NEARLY_FULL = 0.9


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
            caps are checked before the text: the order of refusals would otherwise tell whether an edit fits.

    Raises:
        BlockNotFound, EditError: see `reads` and `edits`; the index tells which edit.
        BlockReadOnly, PreconditionFailed, NoChange, OverLimit, TooManyPending, MemoryFull: see `errors`.
        AlreadyDecided: the operation was done before, and the texts of its proposal have been removed.
        BeingMade: another call makes this proposal, and is not done after a few seconds.
        EngineUnavailable: the branch could not be written; the row stays and `recover` finishes it.
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
        if twin := _asked_before(agent, block, edits):
            return _outcome(_finished(twin), created=False, block=block)
        require_room(agent, owner)
    applied = _apply(block, edits, expected_sha256)
    said = {"reasoning": reasoning, "confidence": confidence, "session_id": session_id, "evidence": list(evidence)}
    try:
        proposal, created = _prepare(agent, base, applied, kind, operation=operation, may_read=may_read, said=said)
        is_mine = created
    except IntegrityError:
        # The same operation came twice at once and the other call inserted its row first.
        proposal, created, is_mine = Proposal.objects.get(operation=operation), True, False
    proposal = _finished(proposal, is_mine=is_mine, base=block if is_mine else None)
    return _outcome(proposal, created=created, block=block)


def _apply(block: reads.Block, edits: Sequence[text_edits.Edit], expected_sha256: str | None) -> text_edits.Applied:
    """Return the edits applied to the block, if it is as the agent read it, changes, and stays within its limit."""
    if expected_sha256 is not None and expected_sha256 != block.body_sha256:
        raise PreconditionFailed(block)
    applied = text_edits.apply(block.body, tuple(edits))
    if applied.text == block.body:
        raise NoChange(f"The edit leaves block '{block.label}' as it is.")
    if len(applied.text) > block.limit:
        raise OverLimit(used=len(applied.text), limit=block.limit)
    return applied


def _asked_before(agent: Agent, block: reads.Block, edits: Sequence[text_edits.Edit]) -> Proposal | None:
    """Return the agent's pending proposal that asks for the same edits."""
    asked = text_edits.to_json(map(_as_asked, edits))
    pending = pending_of(agent, block.owner).filter(target_kind=TargetKind.BLOCK, target=block.label)
    for proposal in pending.order_by("-pk"):
        if text_edits.to_json(map(_as_asked, text_edits.from_json(proposal.current_revision.edits))) == asked:
            return proposal
    return None


def _as_asked(edit: text_edits.Edit) -> text_edits.Edit:
    """Return the edit without what applying it added."""
    return replace(edit, occurrences=None) if isinstance(edit, text_edits.Replace) else edit


def _prepare(
    agent: Agent,
    base: reads.Snapshot,
    applied: text_edits.Applied,
    kind: Kind,
    *,
    operation: str,
    may_read: bool,
    said: dict[str, Any],
) -> tuple[Proposal, bool]:
    """Insert the PREPARING row, unless caps forbid it or an equal proposal waits; whether it is new."""
    block = base.block
    result_sha256 = text_edits.sha256_of(applied.text)
    summary = summarise(block.body, applied.text, said=flags.said_with(said["reasoning"], said["evidence"]))
    target = {"target_kind": TargetKind.BLOCK, "target": block.label}
    now = timezone.now()
    proposal = Proposal(
        owner=block.owner,
        **target,
        target_title=block.display_title,
        kind=kind,
        agent=agent,
        search_words=summary.search_words(said["reasoning"], block.label, block.display_title),
        **summary.fields,
        result_sha256=result_sha256,
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(0),
        **said,
    )
    with transaction.atomic(durable=True):
        # An agent that may not read could learn from an equal result of another edit that its own edit fits.
        twin = equal_or_room(agent, block.owner, may_tell=may_read, **target, result_sha256=result_sha256)
        if twin:
            return twin, False
        insert_prepared(
            proposal,
            base_commit=base.commit,
            base_sha256=block.sha256,
            base_text=block.body,
            edits=text_edits.to_json(applied.edits),
            result_text=applied.text,
        )
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
