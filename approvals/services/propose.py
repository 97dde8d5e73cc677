"""An agent proposes: the edits become a branch with one commit, and a row that waits for a person.

Row PREPARING → branch → commit → OPEN; what a rule of the owner lets through is committed to main at once
(`trust.applying`). Each step is idempotent: after a crash between them, `recover` or the same call
with its operation id finishes the proposal. Only one call works on a row: others wait, and take over when its lease has
expired. See docs/architecture.md, "A proposal's life".
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, Revision, TrustRule
from approvals.review import trust
from approvals.review.summary import ChangeSummary, summarise
from approvals.review.whole_blocks import is_of_whole_block, new_block_of
from approvals.risks import flags
from approvals.services.caps import Earlier, find_equal_or_require_room
from approvals.services.errors import BlockReadOnly, NoChange, OverLimit, PreconditionFailed
from approvals.services.preparing import finish_once, insert_prepared, lease_of
from approvals.services.texts import require_texts
from approvals.services.trust import finish_block
from approvals.services.turn.repeating import Repeated, find_answered, find_repeated, require_new_reasoning, verdict_of
from memory_app import reads
from memory_app.databases.prepared import update
from memory_app.models import TargetKind
from memory_app.text import alike, worddiff
from memory_app.text import edits as text_edits

log = structlog.get_logger(__name__)


#: Share of a block's limit from which the agent gets a warning.
NEARLY_FULL = 0.9


@dataclass(frozen=True)
class Proposed:
    """The result of `propose`.

    Args:
        created: False when an equal undecided proposal of this agent is returned instead.
        amended: it is the next revision of a proposal that was there.
        warnings: sentences for the agent.
        occurrences: how many places the edits replace.
        used: length of the resulting text in characters.
        limit: the block's limit in characters.
        content_sha256: of the target's current text.
    """

    proposal: Proposal
    revision: Revision
    created: bool
    warnings: tuple[str, ...]
    occurrences: int
    used: int
    limit: int
    content_sha256: str
    amended: bool = False


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
    may_apply: bool = False,
    force: bool = False,
) -> Proposed:
    """Propose edits to one block: all of them, in order, or none.

    Args:
        owner: username; the caller has checked that the agent serves this owner.
        reasoning: why, for the person who decides. Only tools that show the memory as files let it be empty.
        evidence: conversation turns `{role, content, at?}`.
        expected_sha256: of the block's text as the agent read it.
        operation: 32 hexadecimal digits; a call with the same one returns the same proposal.
        may_apply: whether a rule of the owner may apply the change at once; the proposal is APPLIED then.
        force: ask a person again about what was rejected; it takes another reasoning than then.

    Raises:
        BlockNotFound, EditError: see `reads` and `edits`; `EditError.index` names the edit.
        BlockReadOnly, PreconditionFailed, NoChange, OverLimit, TooManyPending, MemoryFull: see `errors`.
        RejectedBefore: a person rejected the same, and it is not forced.
        AlreadyDecided: the proposal of this operation exists, and its texts have been removed.
        BeingMade: another call is making this proposal, and did not finish within a few seconds.
        EngineUnavailable: the branch could not be written; the row stays, and `recover` finishes it.
    """
    earlier = Proposal.objects.filter(operation=operation).first() if operation else None
    if earlier:
        return outcome_of(_finished(earlier, is_resumed=True), created=True)
    operation = operation or uuid.uuid4().hex
    base = reads.snapshot(owner, label)
    block = base.block
    if block.read_only:
        raise BlockReadOnly(f"Block '{label}' is read-only.")
    applied = apply_edits(block, edits, expected_sha256)
    said = alike.said(label, block.body, applied.text)
    find = partial(find_repeated, agent, owner, [said], reasoning, force=force)
    given: dict[str, Any] = {"reasoning": reasoning, "confidence": confidence, "session_id": session_id}
    given |= {"kind": kind, "operation": operation, "evidence": list(evidence)}
    try:
        proposal, created, rule = _prepare(agent, base, applied, given, find, may_apply=may_apply)
    except IntegrityError:  # a concurrent call with the same operation inserted its row first
        return outcome_of(_finished(Proposal.objects.get(operation=operation)), created=True, block=block)
    proposal = _finished(proposal, is_mine=created, base=block if created else None, rule=rule)
    return outcome_of(proposal, created=created, block=block)


def apply_edits(
    block: reads.Block, edits: Sequence[text_edits.Edit], expected_sha256: str | None
) -> text_edits.Applied:
    """Return the edits applied to the block. Raise if it changed since it was read, stays the same or gets too long."""
    if expected_sha256 is not None and expected_sha256 != block.body_sha256:
        raise PreconditionFailed(block)
    applied = text_edits.apply(block.body, tuple(edits))
    if applied.text == block.body:
        raise NoChange(f"The edit leaves block '{block.label}' as it is.")
    if len(applied.text) > block.limit:
        raise OverLimit(used=len(applied.text), limit=block.limit)
    return applied


def _prepare(
    agent: Agent,
    base: reads.Snapshot,
    applied: text_edits.Applied,
    given: dict[str, Any],
    find: Callable[[], Repeated | None],
    *,
    may_apply: bool,
) -> tuple[Proposal, bool, TrustRule | None]:
    """Insert the PREPARING row, unless an equal proposal exists.

    Args:
        find: asks for what was rejected of the same. Not called for an agent of which nothing was: that is a statement.

    Returns:
        The proposal, whether it is new, and the rule that applies it at once.
    """
    block = base.block
    result_sha256 = text_edits.sha256_of(applied.text)
    summary = summarise(block.body, applied.text, said=flags.said_with(given["reasoning"], given["evidence"]))
    asked = {"kind": given["kind"], "block": block.label, "may_apply": may_apply}
    verdict = trust.verdict(block.owner, agent, weight=trust.Weight.of(summary), **asked)
    repeated = find() if verdict.applies else None
    verdict = verdict_of(repeated, verdict)
    proposal = _new_proposal(agent, block, summary, given, result_sha256=result_sha256)
    earlier = Earlier(has_rejected=verdict.applies)  # then nothing is asked of it
    with transaction.atomic(durable=True):
        if not verdict.applies:  # changes that a rule applies do not count against the caps
            equal = {"target_kind": TargetKind.BLOCK, "target": block.label, "result_sha256": result_sha256}
            earlier = find_equal_or_require_room(agent, block.owner, **equal)
            if earlier.twin:
                return earlier.twin, False, None
            if earlier.has_fingerprints and repeated is None:
                repeated = find()
                verdict = verdict_of(repeated, verdict)
        require_new_reasoning(repeated)
        proposal.auto_applied, proposal.review_reason = verdict.applies, verdict.reason
        proposal.answers = repeated.earlier if repeated else None
        insert_prepared(
            proposal,
            has_branch=not verdict.applies,
            base_commit=base.commit,
            base_sha256=block.sha256,
            base_text=block.body,
            edits=text_edits.to_json(applied.edits),
            result_text=applied.text,
        )
    # After the transaction, which locks the agent: comparing long texts takes a while.
    if earlier.has_rejected and not repeated:
        _tie_to_rejection(proposal, summary.segments, applied.text)
    return proposal, True, verdict.rule


def _new_proposal(
    agent: Agent, block: reads.Block, summary: ChangeSummary, given: dict[str, Any], *, result_sha256: str
) -> Proposal:
    """Return the row of a proposal, without the verdict about it."""
    now = timezone.now()
    return Proposal(
        owner=block.owner,
        target_kind=TargetKind.BLOCK,
        target=block.label,
        target_title=block.display_title,
        agent=agent,
        search_words=summary.search_words(given["reasoning"], block.label, block.display_title),
        **summary.fields,
        result_sha256=result_sha256,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(0),
        **given,
    )


def _tie_to_rejection(proposal: Proposal, segments: Sequence[worddiff.Segment], result_text: str) -> None:
    proposal.answers_id = find_answered(proposal, segments, result_text)
    if proposal.answers_id:
        update(Proposal, {"answers_id": proposal.answers_id}, where={"id": proposal.pk})


def _finished(
    proposal: Proposal,
    *,
    is_mine: bool = False,
    is_resumed: bool = False,
    base: reads.Block | None = None,
    rule: TrustRule | None = None,
) -> Proposal:
    require_texts(proposal)
    make = partial(finish_block, base=base, rule=rule, is_new=is_mine)
    return finish_once(proposal, make, is_mine=is_mine, is_resumed=is_resumed)


def outcome_of(
    proposal: Proposal, *, created: bool, amended: bool = False, block: reads.Block | None = None
) -> Proposed:
    """Return the result of proposing or amending.

    Args:
        block: as it is now, if the caller has read it.
    """
    revision = proposal.current_revision
    block = block or reads.find_block(proposal.owner, proposal.target)
    new = new_block_of(revision)
    used, limit = len(revision.result_text), block.limit if block else new.limit if new else settings.BLOCK_LIMIT
    warnings = []
    if used >= NEARLY_FULL * limit:
        warnings.append(
            f"Warning: block '{proposal.target}' would be {used * 100 // limit} % full "
            f"({used:,} of {limit:,} characters)."
        )
    wanted = () if is_of_whole_block(revision) else text_edits.from_json(revision.edits)
    return Proposed(
        proposal=proposal,
        revision=revision,
        created=created,
        warnings=tuple(warnings),
        occurrences=sum(edit.occurrences or 1 for edit in wanted if isinstance(edit, text_edits.Replace)),
        used=used,
        limit=limit,
        content_sha256=block.body_sha256 if block else "",
        amended=amended,
    )
