"""People edit memory blocks directly: owners their own, staff through the admin. The commit is in their name.

Each change names the sha256 the form was loaded with, so that no edit overwrites a text its author has not seen.
"""

from __future__ import annotations

import uuid

import structlog
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.permissions import may_edit
from approvals.recovery.ledger import retry_after_committing_stray_rows
from approvals.services.errors import (
    BlockChanged,
    EditNotAllowed,
    LabelInvalid,
    LabelTaken,
    LimitInvalid,
    NoChange,
    OverLimit,
)
from approvals.services.recheck import after_change
from memory_app import reads
from memory_app.dolt.errors import NothingToCommit
from memory_app.models import LABEL, MAX_BLOCK_LIMIT, Change, TargetKind
from memory_app.text import edits
from memory_app.writing import authors, commits, ledger, rows
from memory_app.writing.values import BlockFields, BlockWrite

log = structlog.get_logger(__name__)


def edit_block(
    *, actor: User, owner: str, label: str, fields: BlockFields, loaded_sha256: str, comment: str = ""
) -> Change:
    """Change a block.

    Args:
        loaded_sha256: `Block.sha256` of the block the form was filled from.

    Raises:
        EditNotAllowed, BlockNotFound, OverLimit, LimitInvalid, NoChange.
        BlockChanged: it is no longer at `loaded_sha256`; has the current block.
        ForbiddenCharacter: NUL or a lone surrogate in a text.
    """
    _require_writer(actor, owner)
    _require_valid(fields)
    current = reads.block(owner, label)
    if current.sha256 != loaded_sha256:
        raise BlockChanged(current)
    return _write(
        actor,
        BlockWrite(owner, label, fields, loaded_sha256),
        action=Change.Action.EDITED,
        subject=f"Edit {label} of {owner}",
        comment=comment,
    )


def create_block(*, actor: User, owner: str, label: str, fields: BlockFields, comment: str = "") -> Change:
    """Create a block.

    Raises:
        EditNotAllowed, OverLimit, LimitInvalid, ForbiddenCharacter: as for `edit_block`.
        LabelInvalid, LabelTaken.
    """
    _require_writer(actor, owner)
    if not LABEL.fullmatch(label):
        raise LabelInvalid(
            _("Use small letters, digits, dash and underscore, at most 64, beginning with a letter or digit.")
        )
    _require_valid(fields)
    taken = LabelTaken(_("There is a block “%(label)s” already.") % {"label": label})
    if reads.find_block(owner, label):
        raise taken
    try:
        return _write(
            actor,
            BlockWrite(owner, label, fields, ""),
            action=Change.Action.CREATED,
            subject=f"Create {label} of {owner}",
            comment=comment,
        )
    except BlockChanged:
        raise taken from None


def delete_block(*, actor: User, owner: str, label: str, loaded_sha256: str, comment: str = "") -> Change:
    """Delete a block from the memory; its history stays.

    Raises:
        EditNotAllowed, BlockNotFound, BlockChanged: as for `edit_block`.
    """
    _require_writer(actor, owner)
    current = reads.block(owner, label)
    if current.sha256 != loaded_sha256:
        raise BlockChanged(current)
    return _write(
        actor,
        BlockWrite(owner, label, None, loaded_sha256),
        action=Change.Action.DELETED,
        subject=f"Delete {label} of {owner}",
        comment=comment,
    )


def _write(actor: User, write: BlockWrite, *, action: Change.Action, subject: str, comment: str) -> Change:
    entry = ledger.LedgerEntry(
        action=action,
        owner=write.owner,
        targets=((TargetKind.BLOCK, write.label),),
        operation=uuid.uuid4().hex,
        actor=actor.username,
        comment=comment.strip(),
    )
    author = authors.person(actor.username, actor.display_name)

    def attempt() -> Change:
        return commits.write_main((write,), entry=entry, author=author, subject=subject)

    try:
        change = retry_after_committing_stray_rows(attempt)
    except rows.TargetMoved as error:
        raise BlockChanged(error.current) from error
    except NothingToCommit as error:
        raise NoChange(_("Nothing was changed.")) from error
    log.info("block_written", action=str(action), user_id=write.owner, target=write.label, actor=actor.username)
    after_change(write.owner, ((TargetKind.BLOCK, write.label),))
    return change


def _require_writer(actor: User, owner: str) -> None:
    if not may_edit(actor, owner):
        raise EditNotAllowed(_("You may not edit this memory."))


def _require_valid(fields: BlockFields) -> None:
    for name in ("title", "description", "body"):
        edits.check_text(getattr(fields, name), field=name)
    if not 1 <= fields.limit <= MAX_BLOCK_LIMIT:
        raise LimitInvalid(_("The limit must be between 1 and %(most)d characters.") % {"most": MAX_BLOCK_LIMIT})
    if len(fields.body) > fields.limit:
        raise OverLimit(used=len(fields.body), limit=fields.limit)
