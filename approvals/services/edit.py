"""People edit memory blocks directly: owners their own, staff through the admin. The commit is in their name.

Each change names the sha256 the form was loaded with, so that no edit overwrites a text its author has not seen.
"""

import structlog
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.permissions import may_edit
from approvals.services.errors import BlockChanged, Refusal, label_invalid, label_taken, over_limit
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
        `not_allowed`, BlockNotFound, `over_limit`, Refusal, NoChange.
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
        `not_allowed`, `over_limit`, Refusal, ForbiddenCharacter: as for `edit_block`.
        `label_invalid`, LabelTaken.
    """
    _require_writer(actor, owner)
    if not LABEL.fullmatch(label):
        raise label_invalid()
    _require_valid(fields)
    taken = label_taken(label)
    if reads.find_block(owner, label):
        raise taken
    try:
        return _write(actor, BlockWrite(owner, label, fields, ""), action=Change.Action.CREATED, comment=comment)
    except BlockChanged:
        raise taken from None


def delete_block(*, actor: User, owner: str, label: str, loaded_sha256: str, comment: str = "") -> Change:
    """Delete a block from the memory; its history stays.

    Raises:
        `not_allowed`, BlockNotFound, BlockChanged: as for `edit_block`.
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
        raise Refusal(_("You may not edit this memory."), code="not_allowed")


def _require_valid(fields: BlockFields) -> None:
    for name in ("title", "description", "body"):
        edits.check_text(getattr(fields, name), field=name)
    if not 1 <= fields.limit <= MAX_BLOCK_LIMIT:
        raise Refusal(
            _("The limit must be between 1 and %(most)d characters.") % {"most": MAX_BLOCK_LIMIT}, field="limit"
        )
    if len(fields.body) > fields.limit:
        raise over_limit(len(fields.body), fields.limit)


def _require_as_loaded(owner: str, label: str, loaded_sha256: str) -> None:
    current = reads.block(owner, label)
    if current.sha256 != loaded_sha256:
        raise BlockChanged(current)
