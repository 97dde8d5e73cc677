"""An agent proposes a new block, or the deletion of one; and what becomes of the others about it when that is approved.

Called through `approvals.services`. The same life as an edit: see `services.propose`.
"""

from __future__ import annotations

from functools import partial
from typing import Unpack

import structlog
from django.conf import settings
from django.db import DatabaseError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Mergeability, Proposal, Status
from approvals.review.collisions import others_on_target
from approvals.review.targets import BlockState, current_state
from approvals.review.turn import BLOCK_DELETED, BLOCK_EXISTS, change_requests, why_handed_back
from approvals.review.whole_blocks import DELETION, DELETION_SHA256, WHOLE_KINDS, NewBlock
from approvals.services import events
from approvals.services.caps import pending_of
from approvals.services.errors import BlockExists, BlockWaits, FieldInvalid, LabelInvalid, OverLimit, PreconditionFailed
from approvals.services.propose import ask, require_writable
from approvals.services.proposed import ChangeContext, Proposed, ProposedChange, SaidWith
from approvals.services.turn.hand_back import hand_back
from memory_app import reads
from memory_app.databases.prepared import update
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.dolt.errors import DoltError
from memory_app.models import LABEL, TargetKind
from memory_app.text import edits

log = structlog.get_logger(__name__)

#: Characters of the longest title and description, as of a block that a person makes.
MOST_TITLE, MOST_DESCRIPTION = 200, 1_000
#: Others that are handed back in the call that decides; an agent may have 20 for one owner.
MOST_AT_ONCE = 100


def propose_block(
    *, agent: Agent, owner: str, label: str, title: str, body: str, description: str = "", **said: Unpack[SaidWith]
) -> Proposed:
    """Propose a new block.

    Args:
        label: as `models.LABEL`; never changed later.
        title: one line of at most 200 characters; empty where the label stands for it.
        body: the text, at most `BLOCK_LIMIT` characters; may be empty.
        description: what belongs in it, at most 1,000 characters.
        said: see `proposed.ChangeContext`.

    Raises:
        LabelInvalid, FieldInvalid, ForbiddenCharacter, OverLimit: what was given is no block.
        BlockExists: there is a block with this label.
        BlockWaits: the agent has proposed one with this label and other words.
        What else `propose.ask` raises.
    """
    _require_valid(label, title, description, body)
    new = NewBlock(title=title, description=description, limit=settings.BLOCK_LIMIT)

    def change() -> ProposedChange:
        commit, block = _target(owner, label)
        if block is not None:
            raise BlockExists(block)
        return ProposedChange(
            kind=Kind.CREATE_BLOCK,
            owner=owner,
            target_kind=TargetKind.BLOCK,
            target=label,
            title=new.display_title(label),
            before="",
            after=body,
            result_sha256=new.sha256_with(body),
            base_commit=commit,
            edits=new.as_edits(),
            beside=new.beside,
        )

    by = ChangeContext(actor=agent, **said)
    return ask(by, owner, label, change, require=partial(_require_not_waiting, agent, owner, label))


def propose_deletion(
    *, agent: Agent, owner: str, label: str, expected_sha256: str | None = None, **said: Unpack[SaidWith]
) -> Proposed:
    """Propose to delete a block. A person always decides: no rule applies it.

    Args:
        expected_sha256: of the block's text as the agent read it.
        said: see `proposed.ChangeContext`.

    Raises:
        BlockNotFound, BlockReadOnly, PreconditionFailed: as for `propose`.
        What else `propose.ask` raises.
    """

    def change() -> ProposedChange:
        base = reads.snapshot(owner, label)
        require_writable(base.block)
        if expected_sha256 is not None and expected_sha256 != base.block.body_sha256:
            raise PreconditionFailed(base.block)
        return ProposedChange(
            kind=Kind.DELETE_BLOCK,
            owner=owner,
            target_kind=TargetKind.BLOCK,
            target=label,
            title=base.block.display_title,
            before=base.block.body,
            after="",
            result_sha256=DELETION_SHA256,
            base_commit=base.commit,
            block=base.block,
            edits=DELETION,
        )

    return ask(ChangeContext(actor=agent, **said), owner, label, change)


def _target(owner: str, label: str) -> tuple[str, reads.Block | None]:
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


# -- What becomes of the other proposals about a block when it is made or deleted, and when that is undone.


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
