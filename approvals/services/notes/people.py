"""People change notes at once: a commit in their name, in their own memory or, for staff, in any."""

from __future__ import annotations

import uuid

import structlog
from django.utils.translation import gettext as _

from approvals.models import User
from approvals.permissions import may_edit
from approvals.recovery.ledger import retry_after_committing_stray_rows
from approvals.review.targets import note_rows_to_write
from approvals.services.errors import EditNotAllowed, NoChange, NotesChanged
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome
from approvals.services.recheck import after_change
from memory_app.dolt.errors import NothingToCommit
from memory_app.models import Change, TargetKind
from memory_app.writing import authors, commits, ledger, rows

log = structlog.get_logger(__name__)


def write(
    by: ChangeContext, actor: User, owner: str, action: Change.Action, changes: tuple[NoteChange, ...], *, subject: str
) -> NoteChangeOutcome:
    """Commit `changes` and record them as `action`.

    Args:
        subject: the verb the commit message begins with.

    Raises:
        EditNotAllowed: this person may not write this memory.
        NotesChanged: a note is no longer its `before`.
        NoChange: the notes are already so.
    """
    if not may_edit(actor, owner):
        raise EditNotAllowed(_("You may not edit this memory."))
    entry = ledger.LedgerEntry(
        action=action,
        owner=owner,
        targets=tuple((TargetKind.NOTE, change.id) for change in changes),
        operation=uuid.uuid4().hex,
        actor=actor.username,
        comment=by.reasoning.strip(),
    )
    named = changes[0].id if len(changes) == 1 else f"{len(changes)} notes"
    try:
        made = retry_after_committing_stray_rows(
            lambda: commits.write_main(
                note_rows_to_write(owner, [change.as_json() for change in changes]),
                entry=entry,
                author=authors.person(actor.username, actor.display_name),
                subject=f"{subject} {named} of {owner}",
            )
        )
    except rows.TargetMoved as error:
        raise NotesChanged([change.id for change in changes]) from error
    except NothingToCommit as error:
        raise NoChange(_("Nothing was changed.")) from error
    log.info("notes_written", action=str(action), user_id=owner, notes=len(changes), actor=actor.username)
    after_change(owner, entry.targets)
    return NoteChangeOutcome(changes, made.commit, None)
