"""What agents propose of blocks (other text, a new one, the deletion of one), and what people change directly.

Called through `approvals.services`. What is proposed lives as `services.proposing` says. People edit blocks directly,
owners their own, staff through the admin: the commit is in their name. Each names the sha256 its form was loaded
with, so that no edit overwrites a text its author has not seen.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import structlog
from django.conf import settings
from django.utils.translation import gettext as _

from approvals.models import Agent, Kind, Proposal, User
from approvals.review.targets import DELETION, DELETION_SHA256, NewBlock
from approvals.services.errors import BlockChanged, NoChange, Refusal, label_invalid, label_taken, require_within
from approvals.services.preparing import ChangeContext, Proposed, ProposedChange
from approvals.services.proposing import ask
from approvals.services.writing import require_editor, write_as_person
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import LABEL, MAX_BLOCK_LIMIT, Change, TargetKind
from memory_app.text import edits as text_edits
from memory_app.text import repairs
from memory_app.writing import rows
from memory_app.writing.values import BlockFields, BlockWrite

log = structlog.get_logger(__name__)

#: Characters of the longest title and description, as of a block that a person makes.
MOST_TITLE, MOST_DESCRIPTION = 200, 1_000


def propose(
    *,
    agent: Agent,
    owner: str,
    label: str,
    edits: Sequence[text_edits.Edit],
    kind: Kind,
    expected_sha256: str | None = None,
    **said: Any,
) -> Proposed:
    """Propose edits to one block: all of them, in order, or none. On the block's text as it is now.

    Args:
        owner: username; the caller has checked that the agent serves this owner.
        expected_sha256: of the block's text as the agent read it.
        said: see `ChangeContext`.

    Raises:
        BlockNotFound, EditError: see `reads` and `edits`; `EditError.index` names the edit.
        `block_read_only`, `precondition_failed`, NoChange, `over_limit`: see `errors`.
        What else `ask` raises.
    """

    def change() -> ProposedChange:
        commit, block = reads.snapshot(owner, label)
        _require_writable(block, expected_sha256)
        applied = repairs.apply(block.body, edits, heading=block.display_title)
        if applied.text == block.body:
            raise NoChange(f"The edit leaves block '{label}' as it is.")
        require_within(applied.text, block.limit)
        return change_of(kind, owner, label, commit, block, applied.text, made=applied.edits)

    return ask(ChangeContext(actor=agent, **said), owner, label, change)


def change_of(
    kind: Kind,
    owner: str,
    label: str,
    commit: str,
    block: reads.Block | None,
    text: str = "",
    *,
    made: Sequence[text_edits.Edit] = (),
    new: NewBlock | None = None,
) -> ProposedChange:
    """Return what is asked for of a block, as it is at `commit`.

    Args:
        text: what it gets; empty for a deletion.
        made: the edits that make it of the text before.
        new: what a new block has beside it.
    """
    if new:
        sha256, asked = new.sha256_with(text), new.as_edits()
    elif kind == Kind.DELETE_BLOCK:
        sha256, asked = DELETION_SHA256, DELETION
    else:
        sha256, asked = text_edits.sha256_of(text), text_edits.to_json(made)
    titled = block or new
    return ProposedChange(
        kind=kind,
        owner=owner,
        target_kind=TargetKind.BLOCK,
        target=label,
        title=(titled.title if titled else "") or reads.title_of(label),
        before=block.body if block else "",
        after=text,
        result_sha256=sha256,
        base_commit=commit,
        block=block,
        edits=asked,
        beside=new.beside if new else ("", ""),
    )


def _require_writable(block: reads.Block, expected_sha256: str | None) -> None:
    """Raise a refusal for a block that agents cannot change, or that changed since it was read."""
    if block.read_only:
        raise Refusal(f"Block '{block.label}' is read-only.", code="block_read_only")
    if expected_sha256 is not None and expected_sha256 != block.body_sha256:
        raise Refusal(_("The block changed since it was read."), code="precondition_failed", block=block)


def propose_block(
    *, agent: Agent, owner: str, label: str, title: str, body: str, description: str = "", **said: Any
) -> Proposed:
    """Propose a new block.

    Args:
        label: as `models.LABEL`; never changed later.
        title: one line of at most 200 characters; empty where the label stands for it.
        body: the text, at most `BLOCK_LIMIT` characters; may be empty.
        description: what belongs in it, at most 1,000 characters.
        said: see `ChangeContext`.

    Raises:
        `label_invalid`, `invalid_arguments`, ForbiddenCharacter, `over_limit`: what was given is no block.
        LabelTaken: there is a block with this label.
        `block_waits`: the agent has proposed one with this label and other words.
        What else `proposing.ask` raises.
    """
    _require_valid_new(label, title, description, body)
    new = NewBlock(title=title, description=description, limit=settings.BLOCK_LIMIT)

    def change() -> ProposedChange:
        commit = retrying(lambda: head_of_main(owner))
        if block := reads.find_block(owner, label, commit):
            raise label_taken(label, block)
        return change_of(Kind.CREATE_BLOCK, owner, label, commit, None, body, new=new)

    def require_not_waiting() -> None:
        """Raise `block_waits` for another one of the agent's: one of the two could never be approved."""
        waiting = Proposal.objects.pending_of(agent, owner).filter(kind=Kind.CREATE_BLOCK, target=label)
        if other := waiting.select_related("agent", "decided_by").order_by("-pk").first():
            raise Refusal(f"Block '{label}' waits for a decision.", code="block_waits", proposal=other)

    return ask(ChangeContext(actor=agent, **said), owner, label, change, require=require_not_waiting)


def propose_deletion(
    *, agent: Agent, owner: str, label: str, expected_sha256: str | None = None, **said: Any
) -> Proposed:
    """Propose to delete a block. A person always decides: no rule applies it.

    Args:
        expected_sha256: of the block's text as the agent read it.
        said: see `ChangeContext`.

    Raises:
        BlockNotFound, `block_read_only`, `precondition_failed`: as for `propose`.
        What else `proposing.ask` raises.
    """

    def change() -> ProposedChange:
        commit, block = reads.snapshot(owner, label)
        _require_writable(block, expected_sha256)
        return change_of(Kind.DELETE_BLOCK, owner, label, commit, block)

    return ask(ChangeContext(actor=agent, **said), owner, label, change)


def _require_valid_new(label: str, title: str, description: str, body: str) -> None:
    if not LABEL.fullmatch(label):
        raise label_invalid()
    for name, text in (("title", title), ("description", description), ("body", body)):
        text_edits.check_text(text, field=name)
    if len(title) > MOST_TITLE:
        raise _invalid("title", f"must have at most {MOST_TITLE} characters")
    if len(title.splitlines()) > 1:
        # Lists have a line for each block: a title of two lines would look like another one.
        raise _invalid("title", "must be one line")
    if len(description) > MOST_DESCRIPTION:
        raise _invalid("description", f"must have at most {MOST_DESCRIPTION:,} characters")
    require_within(body, settings.BLOCK_LIMIT)


def _invalid(field: str, reason: str) -> Refusal:
    return Refusal(f"{field} {reason}", code="invalid_arguments", fields={field: reason})


#: What commit messages begin with.
_VERBS = {Change.Action.EDITED: "Edit", Change.Action.CREATED: "Create", Change.Action.DELETED: "Delete"}


def edit_block(
    *, actor: User, owner: str, label: str, fields: BlockFields, loaded_sha256: str, comment: str = ""
) -> Change:
    """Change a block.

    Args:
        loaded_sha256: `Block.sha256` of the block the form was filled from.

    Raises:
        `not_allowed`, BlockNotFound, `over_limit`, Refusal, NoChange.
        BlockChanged: it is no longer at `loaded_sha256`; has the current block.
        ForbiddenCharacter: NUL or a lone surrogate in a text.
    """
    require_editor(actor, owner)
    _require_valid_fields(fields)
    _require_as_loaded(owner, label, loaded_sha256)
    return _write(actor, BlockWrite(owner, label, fields, loaded_sha256), action=Change.Action.EDITED, comment=comment)


def create_block(
    *, actor: User, owner: str, label: str, fields: BlockFields, comment: str = "", made_at: datetime | None = None
) -> Change:
    """Create a block.

    Args:
        made_at: when it was made, where that is not now.

    Raises:
        `not_allowed`, `over_limit`, Refusal, ForbiddenCharacter: as for `edit_block`.
        `label_invalid`, LabelTaken.
    """
    require_editor(actor, owner)
    if not LABEL.fullmatch(label):
        raise label_invalid()
    _require_valid_fields(fields)
    taken = label_taken(label)
    if reads.find_block(owner, label):
        raise taken
    try:
        write = BlockWrite(owner, label, fields, "", made_at)
        return _write(actor, write, action=Change.Action.CREATED, comment=comment)
    except BlockChanged:
        raise taken from None


def delete_block(*, actor: User, owner: str, label: str, loaded_sha256: str, comment: str = "") -> Change:
    """Delete a block from the memory; its history stays.

    Raises:
        `not_allowed`, BlockNotFound, BlockChanged: as for `edit_block`.
    """
    require_editor(actor, owner)
    _require_as_loaded(owner, label, loaded_sha256)
    return _write(actor, BlockWrite(owner, label, None, loaded_sha256), action=Change.Action.DELETED, comment=comment)


def _write(actor: User, write: BlockWrite, *, action: Change.Action, comment: str) -> Change:
    targets = ((TargetKind.BLOCK, write.label),)
    subject = f"{_VERBS[action]} {write.label} of {write.owner}"
    try:
        change = write_as_person(
            actor, write.owner, action, (write,), targets=targets, subject=subject, comment=comment
        )
    except rows.TargetMoved as error:
        raise BlockChanged(reads.find_block(write.owner, write.label)) from error
    log.info("block_written", action=str(action), user_id=write.owner, target=write.label, actor=actor.username)
    return change


def _require_valid_fields(fields: BlockFields) -> None:
    for name in ("title", "description", "body"):
        text_edits.check_text(getattr(fields, name), field=name)
    if not 1 <= fields.limit <= MAX_BLOCK_LIMIT:
        raise Refusal(
            _("The limit must be between 1 and %(most)d characters.") % {"most": MAX_BLOCK_LIMIT}, field="limit"
        )
    require_within(fields.body, fields.limit)


def _require_as_loaded(owner: str, label: str, loaded_sha256: str) -> None:
    current = reads.block(owner, label)
    if current.sha256 != loaded_sha256:
        raise BlockChanged(current)
