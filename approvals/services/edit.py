"""People edit memory blocks directly: owners their own, staff through the admin. The commit is in their name.

Each change names the sha256 the form was loaded with, so that no edit overwrites a text its author has not seen.
"""

from __future__ import annotations

import structlog
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.permissions import may_edit
from approvals.services.errors import (
    BlockChanged,
    EditNotAllowed,
    LabelInvalid,
    LabelTaken,
    LimitInvalid,
    OverLimit,
)
from approvals.services.writing import write_as_person
from memory_app import reads
from memory_app.models import LABEL, MAX_BLOCK_LIMIT, Change, TargetKind
from memory_app.text import edits
from memory_app.writing import rows
from memory_app.writing.values import BlockFields, BlockWrite

log = structlog.get_logger(__name__)

#: What commit messages begin with.
_VERBS = {Change.Action.EDITED: "Edit", Change.Action.CREATED: "Create", Change.Action.DELETED: "Delete"}


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
    _require_as_loaded(owner, label, loaded_sha256)
    return _write(actor, BlockWrite(owner, label, fields, loaded_sha256), action=Change.Action.EDITED, comment=comment)


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
        return _write(actor, BlockWrite(owner, label, fields, ""), action=Change.Action.CREATED, comment=comment)
    except BlockChanged:
        raise taken from None


def delete_block(*, actor: User, owner: str, label: str, loaded_sha256: str, comment: str = "") -> Change:
    """Delete a block from the memory; its history stays.

    Raises:
        EditNotAllowed, BlockNotFound, BlockChanged: as for `edit_block`.
    """
    _require_writer(actor, owner)
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
        raise BlockChanged(error.current) from error
    log.info("block_written", action=str(action), user_id=write.owner, target=write.label, actor=actor.username)
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


def _require_as_loaded(owner: str, label: str, loaded_sha256: str) -> None:
    current = reads.block(owner, label)
    if current.sha256 != loaded_sha256:
        raise BlockChanged(current)
