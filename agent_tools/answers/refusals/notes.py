"""What is wrong with a change of notes, where the answer is more than a row of the error table (`table`)."""

from __future__ import annotations

from agent_tools.answers import representations
from agent_tools.answers.subject import Subject
from agent_tools.calls.parsing import invalid
from agent_tools.errors import ApiError, ErrorCode
from approvals.services import errors
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Note


def note_withdrawn(error: errors.NoteWithdrawn, subject: Subject) -> ApiError:
    number = error.proposal.pk
    return ApiError(
        ErrorCode.NOTE_NOT_FOUND,
        f"Note '{error.id}' not found.",
        help=[f"Your proposal {number}, which was to make it, is withdrawn already."],
        details={"note_id": error.id, "proposal_id": number},
    )


def note_invalid(error: errors.NoteInvalid, subject: Subject) -> ApiError:
    message = error.message[:1].lower() + error.message[1:].rstrip(".")
    field = subject.fields.get(error.field, error.field)
    return invalid({field: f"is refused: {message}"}, called=subject.call.called)


def note_waits(error: errors.NoteWaits, subject: Subject) -> ApiError:
    waiting = error.proposal
    help = [
        f"The user, or a tutor of theirs, decides about it at {representations.review_url(waiting)}; get_proposal "
        "tells what became of it."
    ]
    if waiting.target_kind == TargetKind.NOTE:
        help.append("Until then memory_update changes what it proposes, and memory_delete takes it back.")
    else:
        help.append("It is part of an import, which is decided as a whole; withdraw_proposal takes all of it back.")
    return ApiError(
        ErrorCode.NOTE_WAITS,
        f"Note '{error.id}' is not in the memory yet: it waits as your proposal {waiting.pk}.",
        help=help,
        details={
            "argument": subject.fields.get(error.argument, error.argument),
            "note_id": error.id,
            "proposal": representations.open_proposals([waiting], may_read=subject.call.may_read)[0],
        },
    )


def note_superseded(error: errors.NoteSuperseded, subject: Subject) -> ApiError:
    note = error.note
    holds = _what_holds_instead_of(note)
    if holds is not None:
        message = f"Note '{note.id}' is superseded: note '{holds}' took its place. If that one has to change, name it."
    else:
        message = (
            f"Note '{note.id}' is superseded: it was forgotten, and nothing took its place. "
            "Save a new note if there is something to remember; only the user can put this one back."
        )
    details = {
        "note_id": note.id,
        "superseded_at": representations.time(note.superseded_at) if note.superseded_at else None,
        "superseded_reason": note.superseded_reason,
        "superseded_by": note.superseded_by,
        "holds": holds,
    }
    return ApiError(ErrorCode.NOTE_SUPERSEDED, message, details=details)


def _what_holds_instead_of(note: Note) -> str | None:
    """Return the end of the chain of replacements, unless that was forgotten or deleted; in a circle none holds."""
    return next((following.id for following in reads.replacements(note) if not following.is_superseded), None)
