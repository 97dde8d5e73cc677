"""Propose a new block, or the deletion of one; or amend an undecided proposal so that it asks for that."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals.models import Agent, Kind, Proposal
from approvals.review.whole_blocks import DELETION, DELETION_SHA256, NewBlock
from approvals.services.caps import pending_of
from approvals.services.errors import BlockReadOnly, LabelInvalid, OverLimit, PreconditionFailed
from approvals.services.propose import Proposed
from approvals.services.whole_blocks import change
from approvals.services.whole_blocks.change import SaidWith, WholeChange
from approvals.services.whole_blocks.refusals import BlockExists, BlockWaits, FieldInvalid
from memory_app import reads
from memory_app.models import LABEL
from memory_app.text import edits

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
    may_read: bool = True,
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
    said = SaidWith(reasoning, confidence, session_id, list(evidence), operation, may_read, may_apply, force)
    if proposal_id is None and (done := change.made_before(operation)):
        return done
    _require_valid(label, title, description, body)
    amended: Proposal | None = None
    if proposal_id is not None:
        found = change.undecided(agent, owner, proposal_id, label, operation)
        if isinstance(found, Proposed):
            return found
        amended = found
    commit, block = change.read_target(owner, label)
    if block is not None:
        raise BlockExists(block)
    new = NewBlock(title=title, description=description, limit=settings.BLOCK_LIMIT)
    asked = _creation(owner, label, new, body, commit)
    if amended is not None:
        return change.amend_with(amended, asked, said)
    return change.make(agent, asked, said, require=partial(_require_not_waiting, agent, owner, label))


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
    may_read: bool = True,
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
    said = SaidWith(
        reasoning, confidence, session_id, list(evidence), operation, may_read, may_apply=False, force=force
    )
    if proposal_id is None and (done := change.made_before(operation)):
        return done
    amended: Proposal | None = None
    if proposal_id is not None:
        found = change.undecided(agent, owner, proposal_id, label, operation)
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
    return change.amend_with(amended, asked, said) if amended is not None else change.make(agent, asked, said)


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
