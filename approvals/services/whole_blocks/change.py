"""What a proposal of a whole block asks for, and the steps that new blocks and deletions have in common.

Row PREPARING → branch → commit → OPEN, as for an edit; `recover` finishes it the same way.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from approvals.models import Agent, Kind, Proposal, Revision
from approvals.review import trust
from approvals.review.summary import ChangeSummary, summarise
from approvals.review.turn.proposed_again import said_of_whole_block
from approvals.risks import flags
from approvals.services.caps import find_equal_or_require_room
from approvals.services.preparing import finish_once, finish_preparing, insert_prepared, lease_of
from approvals.services.propose import Proposed, outcome_of
from approvals.services.texts import require_texts
from approvals.services.trust.applying import finish_block
from approvals.services.turn import next_revision
from approvals.services.turn.answering import find_answered
from approvals.services.turn.refusals import NothingAmended
from approvals.services.turn.repeating import find_repeated, require_new_reasoning, verdict_of
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import TargetKind


@dataclass(frozen=True)
class WholeChange:
    """What is asked for.

    Args:
        title: what the block is called.
        base_commit: the commit of main at which `block` was read.
        block: as it is now; None for a new one.
        result_sha256: two proposals with the same one ask for the same.
        edits: as the revision keeps them.
        beside: what stands beside the text, before and after.
    """

    kind: Kind
    owner: str
    label: str
    title: str
    base_commit: str
    block: reads.Block | None
    result_text: str
    result_sha256: str
    edits: list[dict[str, Any]]
    beside: tuple[str, str] = ("", "")

    @property
    def texts(self) -> dict[str, Any]:
        """Return the fields of its revision."""
        return {
            "base_commit": self.base_commit,
            "base_sha256": self.block.sha256 if self.block else "",
            "base_text": self.block.body if self.block else "",
            "edits": self.edits,
            "result_text": self.result_text,
        }

    def summary(self, reasoning: str, evidence: list[dict[str, Any]]) -> ChangeSummary:
        said = flags.said_with(reasoning, evidence)
        is_deletion = self.kind == Kind.DELETE_BLOCK
        before = self.block.body if self.block else ""
        return summarise(before, self.result_text, is_deletion=is_deletion, beside=self.beside, said=said)


@dataclass(frozen=True)
class SaidWith:
    """What the agent says with a change, and what its token may do.

    Args:
        operation: 32 hexadecimal digits; a call with the same one returns the same proposal.
        force: ask a person again about what was rejected.
    """

    reasoning: str
    confidence: str
    session_id: str
    evidence: list[dict[str, Any]]
    operation: str | None
    may_read: bool
    may_apply: bool
    force: bool = False

    @property
    def fields(self) -> dict[str, Any]:
        """Return the fields of the proposal."""
        names = ("reasoning", "confidence", "session_id", "evidence")
        return {name: getattr(self, name) for name in names}


def made_before(operation: str | None) -> Proposed | None:
    """Return what an earlier call with this operation made, finished if a crash interrupted it."""
    earlier = Proposal.objects.filter(operation=operation).first() if operation else None
    return outcome_of(_finished(earlier, is_resumed=True), created=True) if earlier else None


def read_target(owner: str, label: str) -> tuple[str, reads.Block | None]:
    """Return the head of main, and the block at it; None where there is none."""
    try:
        found = reads.snapshot(owner, label)
    except reads.BlockNotFound:
        commit = retrying(head_of_main)
        try:
            return commit, reads.block_at(owner, label, commit)
        except reads.BlockNotFound:
            return commit, None
    return found.commit, found.block


def make(agent: Agent, change: WholeChange, said: SaidWith, *, require: Callable[[], None] | None = None) -> Proposed:
    """Make a proposal of the change, or return the agent's undecided one that asks for the same.

    Args:
        require: raises what else stands against it, called where no other call of the agent is being made.
    """
    operation = said.operation or uuid.uuid4().hex
    try:
        proposal, created, rule = _prepare(agent, change, said, operation, require)
        is_mine = created
    except IntegrityError:
        # A concurrent call with the same operation inserted its row first.
        proposal, created, is_mine, rule = Proposal.objects.get(operation=operation), True, False, None
    return outcome_of(_finished(proposal, is_mine=is_mine, rule=rule), created=created, block=change.block)


def undecided(agent: Agent, owner: str, proposal_id: int, label: str, operation: str | None) -> Proposal | Proposed:
    """Return the agent's undecided proposal to amend, or the outcome of an earlier call with this operation.

    Raises:
        ProposalNotFound, AlreadyDecided, BeingDecided, BeingMade, OtherTarget, TooManyRevisions: as for `amend`.
    """
    proposal = next_revision.own_proposal(agent, owner, proposal_id)
    if done := next_revision.made_before(proposal, operation, partial(_opened, is_resumed=True)):
        return outcome_of(done, created=True, amended=True)
    proposal = next_revision.require_amendable(proposal, _opened)
    next_revision.require_target(proposal, TargetKind.BLOCK, label)
    return proposal


def amend_with(proposal: Proposal, change: WholeChange, said: SaidWith) -> Proposed:
    """Make the change the next revision of an undecided proposal, which may have asked for another kind of change.

    Raises:
        NothingAmended: it asks for exactly this already, and no other evidence is given.
    """
    former = proposal.current_revision
    if _is_same(former, change) and said.evidence in ([], proposal.evidence):
        raise NothingAmended(proposal)
    summary = change.summary(said.reasoning, said.evidence or proposal.evidence)
    next_revision.begin(
        proposal,
        operation=said.operation,
        said=said.fields,
        values=_values(change, said, summary),
        **change.texts,
    )
    proposal = finish_once(proposal, finish_preparing, is_mine=True)
    next_revision.drop_former_branch(proposal, former)
    return outcome_of(proposal, created=True, amended=True, block=change.block)


# -- steps ----------------------------------------------------------------------------------------


def _prepare(
    agent: Agent, change: WholeChange, said: SaidWith, operation: str, require: Callable[[], None] | None
) -> tuple[Proposal, bool, Any]:
    """Insert the PREPARING row, unless an equal proposal exists.

    Returns:
        The proposal, whether it is new, and the rule that applies it at once.
    """
    summary = change.summary(said.reasoning, said.evidence)
    is_deletion = change.kind == Kind.DELETE_BLOCK
    says = said_of_whole_block(change.label, change.result_text, is_deletion=is_deletion)
    repeated = find_repeated(agent, change.owner, [says], said.reasoning, force=said.force)
    verdict = verdict_of(repeated, _verdict(agent, change, said, summary))
    now = timezone.now()
    proposal = Proposal(
        owner=change.owner,
        target_kind=TargetKind.BLOCK,
        target=change.label,
        agent=agent,
        operation=operation,
        created_at=now,
        expires_at=now + settings.PROPOSAL_EXPIRY,
        lease_expires_at=now + lease_of(0),
        auto_applied=verdict.applies,
        review_reason=verdict.reason,
        **said.fields,
        **_values(change, said, summary),
    )
    proposal.answers_id = (
        repeated.earlier.pk if repeated else find_answered(proposal, summary.segments, change.result_text)
    )
    with transaction.atomic(durable=True):
        if not verdict.applies:  # changes that a rule applies do not count against the caps
            # What it asks for is the agent's own words, or a label: an equal one tells nothing of the memory.
            equal = {"kind": change.kind, "target": change.label, "result_sha256": change.result_sha256}
            if twin := find_equal_or_require_room(agent, change.owner, may_tell=True, **equal).twin:
                return twin, False, None
        if require:
            require()
        require_new_reasoning(repeated)
        insert_prepared(proposal, has_branch=not verdict.applies, **change.texts)
    return proposal, True, verdict.rule


def _verdict(agent: Agent, change: WholeChange, said: SaidWith, summary: ChangeSummary) -> trust.Verdict:
    """Return whether a rule of the owner makes the new block at once; a deletion always waits for a person."""
    if change.kind == Kind.DELETE_BLOCK:
        return trust.Verdict(applies=False)
    return trust.verdict(
        change.owner,
        agent,
        kind=change.kind,
        block=change.label,
        weight=trust.Weight.of(summary),
        may_apply=said.may_apply,
        may_read=said.may_read,
    )


def _values(change: WholeChange, said: SaidWith, summary: ChangeSummary) -> dict[str, Any]:
    """Return the fields of the proposal that follow from the change."""
    return {
        "kind": change.kind,
        "target_title": change.title,
        "search_words": summary.search_words(said.reasoning, change.label, change.title),
        "result_sha256": change.result_sha256,
        **summary.fields,
    }


def _finished(proposal: Proposal, *, is_mine: bool = False, is_resumed: bool = False, rule: Any = None) -> Proposal:
    require_texts(proposal)
    return finish_once(
        proposal, partial(finish_block, rule=rule, is_new=is_mine), is_mine=is_mine, is_resumed=is_resumed
    )


def _opened(proposal: Proposal, *, is_resumed: bool = False) -> Proposal:
    return finish_once(proposal, finish_preparing, is_mine=False, is_resumed=is_resumed)


def _is_same(former: Revision, change: WholeChange) -> bool:
    """Whether a revision asks for this already, on the block as it is now."""
    asked = (former.edits, former.result_text, former.base_sha256)
    return asked == tuple(change.texts[name] for name in ("edits", "result_text", "base_sha256"))
