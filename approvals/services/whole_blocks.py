"""An agent proposes a new block, or the deletion of one.

Called through `approvals.services`. The same life as an edit (`services.propose`, `services.turn.amend`); here is what
such a proposal says, what is checked before, and what becomes of the others about the block when it is approved.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Mergeability, Proposal, Revision, Status
from approvals.review import trust
from approvals.review.collisions import others_on_target
from approvals.review.summary import ChangeSummary, summarise
from approvals.review.targets import BlockState, current_state
from approvals.review.turn import BLOCK_DELETED, BLOCK_EXISTS, change_requests, said_of_whole_block, why_handed_back
from approvals.review.whole_blocks import DELETION, DELETION_SHA256, WHOLE_KINDS, NewBlock
from approvals.risks import flags
from approvals.services import events
from approvals.services.caps import find_equal_or_require_room, pending_of
from approvals.services.errors import (
    BlockExists,
    BlockReadOnly,
    BlockWaits,
    FieldInvalid,
    LabelInvalid,
    NothingAmended,
    OverLimit,
    PreconditionFailed,
)
from approvals.services.preparing import finish_once, finish_preparing, insert_prepared, lease_of
from approvals.services.propose import Proposed, outcome_of
from approvals.services.texts import require_texts
from approvals.services.trust import finish_block
from approvals.services.turn import amend
from approvals.services.turn.hand_back import hand_back
from approvals.services.turn.repeating import find_answered, find_repeated, require_new_reasoning, verdict_of
from memory_app import reads
from memory_app.databases.prepared import update
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.dolt.errors import DoltError
from memory_app.models import LABEL, TargetKind
from memory_app.text import edits

# -- What becomes of the other proposals about a block when it is made or deleted, and when that is undone.

log = structlog.get_logger(__name__)

#: Others that are handed back in the call that decides; an agent may have 20 for one owner.
MOST_AT_ONCE = 100


def hand_back_others(proposal: Proposal) -> None:
    """Hand back what no longer fits because `proposal`, just approved, made or deleted its block."""
    if proposal.kind not in WHOLE_KINDS:
        return
    try:
        for other in others_on_target(proposal).filter(status=Status.OPEN).order_by("id")[:MOST_AT_ONCE]:
            _hand_back_if_in_conflict(other)
    except (DatabaseError, DoltError):
        log.exception("others_not_handed_back", proposal=proposal.pk)


def take_back_others(proposal: Proposal) -> None:
    """Let those wait again that were handed back by approving `proposal`, which was just undone, and fit now."""
    if proposal.kind not in WHOLE_KINDS:
        return
    why = BLOCK_DELETED if proposal.kind == Kind.DELETE_BLOCK else BLOCK_EXISTS
    try:
        others = others_on_target(proposal).filter(status=Status.CHANGES_REQUESTED).order_by("id")[:MOST_AT_ONCE]
        asked = change_requests(others)
        for other in others:
            if other.pk in asked and asked[other.pk].automatic == why:
                _take_back_if_it_fits(other)
    except (DatabaseError, DoltError):
        log.exception("others_not_taken_back", proposal=proposal.pk)


def _hand_back_if_in_conflict(other: Proposal) -> None:
    revision = other.current_revision
    target = current_state(other, revision)
    if target.assess(revision).state != Mergeability.CONFLICT:
        return
    why = why_handed_back(revision, target.block if isinstance(target, BlockState) else None)
    with transaction.atomic(durable=True):
        is_handed_back = hand_back(other, actor=None, automatic=why)
    if is_handed_back:
        log.info("handed_back", proposal=other.pk, user_id=other.owner, why=why)


def _take_back_if_it_fits(other: Proposal) -> None:
    revision = other.current_revision
    if not current_state(other, revision).assess(revision).can_be_approved:
        return
    values = {"status": Status.OPEN, "handed_back_at": None, "updated_at": timezone.now()}
    as_read = {
        "id": other.pk,
        "status": Status.CHANGES_REQUESTED,
        "current_revision_number": other.current_revision_number,
    }
    with transaction.atomic(durable=True):
        if update(Proposal, values, where=as_read):
            events.record(other, Event.What.REOPENED, actor=None)


# -- What a proposal of a whole block asks for, and the steps that new blocks and deletions have in common.


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
    proposal = amend.own_proposal(agent, owner, proposal_id)
    if done := amend.made_before(proposal, operation, partial(_opened, is_resumed=True)):
        return outcome_of(done, created=True, amended=True)
    proposal = amend.require_amendable(proposal, _opened)
    amend.require_target(proposal, TargetKind.BLOCK, label)
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
    amend.begin(
        proposal,
        operation=said.operation,
        said=said.fields,
        values=_values(change, said, summary),
        **change.texts,
    )
    proposal = finish_once(proposal, finish_preparing, is_mine=True)
    amend.drop_former_branch(proposal, former)
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
            equal = {"kind": change.kind, "target": change.label, "result_sha256": change.result_sha256}
            if twin := find_equal_or_require_room(agent, change.owner, **equal).twin:
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


# -- Propose a new block, or the deletion of one; or amend an undecided proposal so that it asks for that.

#: Characters of the longest title and description, as of a block that a person makes.
MOST_TITLE, MOST_DESCRIPTION = 200, 1_000


def propose_block(
    *,
    agent: Agent,
    owner: str,
    label: str,
    title: str,
    body: str,
    reasoning: str,
    description: str = "",
    confidence: str = "medium",
    session_id: str = "",
    evidence: Sequence[dict[str, Any]] = (),
    operation: str | None = None,
    proposal_id: int | None = None,
    may_apply: bool = False,
    force: bool = False,
) -> Proposed:
    """Propose a new block.

    Args:
        label: as `models.LABEL`; never changed later.
        title: one line of at most 200 characters; empty where the label stands for it.
        body: the text, at most `BLOCK_LIMIT` characters; may be empty.
        description: what belongs in it, at most 1,000 characters.
        proposal_id: the agent's undecided proposal about this label, to amend instead of making another.
        may_apply: whether a rule of the owner may make the block at once.
        The others as for `propose`.

    Raises:
        LabelInvalid, FieldInvalid, ForbiddenCharacter, OverLimit: what was given is no block.
        BlockExists: there is a block with this label.
        BlockWaits: the agent has proposed one with this label and other words.
        RejectedBefore: as for `propose`.
        TooManyPending, MemoryFull, AlreadyDecided, BeingMade, EngineUnavailable: as for `propose`.
        ProposalNotFound, BeingDecided, OtherTarget, TooManyRevisions, NothingAmended: as for `amend`.
    """
    said = SaidWith(reasoning, confidence, session_id, list(evidence), operation, may_apply, force)
    if proposal_id is None and (done := made_before(operation)):
        return done
    _require_valid(label, title, description, body)
    amended: Proposal | None = None
    if proposal_id is not None:
        found = undecided(agent, owner, proposal_id, label, operation)
        if isinstance(found, Proposed):
            return found
        amended = found
    commit, block = read_target(owner, label)
    if block is not None:
        raise BlockExists(block)
    new = NewBlock(title=title, description=description, limit=settings.BLOCK_LIMIT)
    asked = _creation(owner, label, new, body, commit)
    if amended is not None:
        return amend_with(amended, asked, said)
    return make(agent, asked, said, require=partial(_require_not_waiting, agent, owner, label))


def _creation(owner: str, label: str, new: NewBlock, body: str, base_commit: str) -> WholeChange:
    return WholeChange(
        kind=Kind.CREATE_BLOCK,
        owner=owner,
        label=label,
        title=new.display_title(label),
        base_commit=base_commit,
        block=None,
        result_text=body,
        result_sha256=new.sha256_with(body),
        edits=new.as_edits(),
        beside=new.beside,
    )


def propose_deletion(
    *,
    agent: Agent,
    owner: str,
    label: str,
    reasoning: str,
    confidence: str = "medium",
    session_id: str = "",
    evidence: Sequence[dict[str, Any]] = (),
    expected_sha256: str | None = None,
    operation: str | None = None,
    proposal_id: int | None = None,
    force: bool = False,
) -> Proposed:
    """Propose to delete a block. A person always decides: no rule applies it.

    Args:
        proposal_id: the agent's undecided proposal about this block, to amend instead of making another.
        The others as for `propose`.

    Raises:
        BlockNotFound, BlockReadOnly, PreconditionFailed, RejectedBefore: as for `propose`.
        TooManyPending, MemoryFull, AlreadyDecided, BeingMade, EngineUnavailable: as for `propose`.
        ProposalNotFound, BeingDecided, OtherTarget, TooManyRevisions, NothingAmended: as for `amend`.
    """
    said = SaidWith(reasoning, confidence, session_id, list(evidence), operation, may_apply=False, force=force)
    if proposal_id is None and (done := made_before(operation)):
        return done
    amended: Proposal | None = None
    if proposal_id is not None:
        found = undecided(agent, owner, proposal_id, label, operation)
        if isinstance(found, Proposed):
            return found
        amended = found
    base = reads.snapshot(owner, label)
    block = base.block
    if block.read_only:
        raise BlockReadOnly(f"Block '{label}' is read-only.")
    if expected_sha256 is not None and expected_sha256 != block.body_sha256:
        raise PreconditionFailed(block)
    asked = WholeChange(
        kind=Kind.DELETE_BLOCK,
        owner=owner,
        label=label,
        title=block.display_title,
        base_commit=base.commit,
        block=block,
        result_text="",
        result_sha256=DELETION_SHA256,
        edits=DELETION,
    )
    return amend_with(amended, asked, said) if amended is not None else make(agent, asked, said)


def waiting_block(agent: Agent, owner: str, label: str) -> Proposal | None:
    """Return the agent's undecided proposal of a new block with this label; the newest of several."""
    waiting = pending_of(agent, owner).filter(kind=Kind.CREATE_BLOCK, target=label)
    return waiting.select_related("agent", "decided_by").order_by("-pk").first()


def _require_not_waiting(agent: Agent, owner: str, label: str) -> None:
    """Raise BlockWaits if the agent has proposed this block before: one of the two could never be approved."""
    if waiting := waiting_block(agent, owner, label):
        raise BlockWaits(waiting)


def _require_valid(label: str, title: str, description: str, body: str) -> None:
    if not LABEL.fullmatch(label):
        raise LabelInvalid(
            _("Use small letters, digits, dash and underscore, at most 64, beginning with a letter or digit.")
        )
    for name, text in (("title", title), ("description", description), ("body", body)):
        edits.check_text(text, field=name)
    if len(title) > MOST_TITLE:
        raise FieldInvalid("title", f"must have at most {MOST_TITLE} characters")
    if len(title.splitlines()) > 1:
        # Lists have a line for each block: a title of two lines would look like another one.
        raise FieldInvalid("title", "must be one line")
    if len(description) > MOST_DESCRIPTION:
        raise FieldInvalid("description", f"must have at most {MOST_DESCRIPTION:,} characters")
    if len(body) > settings.BLOCK_LIMIT:
        raise OverLimit(used=len(body), limit=settings.BLOCK_LIMIT)
