"""What a refused change of notes is answered with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_tools.answers import refusals, representations
from agent_tools.calls.parsing import invalid
from agent_tools.errors import ApiError, ErrorCode
from approvals.services import errors as services
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Note, NoteNotFound, RevisionNotFound
from memory_app.text import edits

#: Seconds after which to send a file again: a thousand memories take about one.
_NEXT_TURN = 5

#: What `explain` has an answer for.
REFUSALS = (NoteNotFound, services.Refused, edits.ForbiddenCharacter)


def explain(error: Exception, *, tool: str, may_read: bool = True, fields: Mapping[str, str] | None = None) -> ApiError:
    """The answer to a refusal of `approvals.services.notes`.

    Args:
        may_read: whether the caller may read the memory; if not, refusals that depend on a note's text are one.
        fields: what the tool calls a field of a note, where it calls it otherwise.
    """
    match error:
        case services.ReplacementNotFound():
            return ApiError(
                ErrorCode.REPLACEMENT_NOT_FOUND,
                f"replacement_id: note '{error.id}' not found.",
                details={"replacement_id": error.id},
            )
        case services.NoteWithdrawn():
            told = f"Your proposal {error.proposal.pk}, which was to make it, is withdrawn already."
            return note_not_found(error.id, help=[told], proposal_id=error.proposal.pk)
        case NoteNotFound():
            return note_not_found(error.id)
        case services.NoteWaits():
            return _waits(error, may_read=may_read, fields=fields)
        case services.BeingDecided():
            shown = representations.proposal(error.proposal, may_read=may_read)
            return refusals.being_decided(error.proposal, shown=shown)
        case services.NoteInvalid():
            message = error.message[:1].lower() + error.message[1:].rstrip(".")
            return invalid({(fields or {}).get(error.field, error.field): f"is refused: {message}"}, called=tool)
        case services.NoteSuperseded() | services.NoChange() if not may_read:
            return _refused_unread()
        case services.NoteSuperseded():
            return _superseded(error.note)
        case edits.ForbiddenCharacter():
            reason = f"contains the character {error.code} at position {error.offset}"
            return ApiError(
                ErrorCode.FORBIDDEN_CHARACTER,
                f"{error.field} {reason}, which cannot be stored.",
                details={"fields": {error.field: reason}},
            )
        case services.NoChange():
            return ApiError(ErrorCode.NO_CHANGE, "The memory says exactly this already; there is nothing to change.")
        case services.NotesChanged():
            return ApiError(
                ErrorCode.NOTES_CHANGED,
                "A note changed while this call was made; nothing was written. Read it again, then try again.",
                details={"note_ids": list(error.ids[:50])},
            )
        case services.TooManyPending():
            return refusals.too_many_pending(error, may_read=may_read)
        case services.MemoryFull():
            return refusals.memory_full()
        case services.BeingMade():
            return refusals.being_made()
        case services.ImportUnderWay():
            return ApiError(
                ErrorCode.IMPORT_UNDER_WAY,
                "Another import of this user's, or of this agent's, is under way; nothing was taken. "
                "Send the file again when it is over.",
                details={"retry_after": _NEXT_TURN},
                retry_after=_NEXT_TURN,
            )
        case services.AlreadyDecided():
            return refusals.already_decided(error)
    raise error


def note_not_found(id_: str, *, help: Sequence[str] = (), **details: int) -> ApiError:
    message = f"Note '{id_}' not found."
    return ApiError(ErrorCode.NOTE_NOT_FOUND, message, help=help, details={"note_id": id_, **details})


def _waits(error: services.NoteWaits, *, may_read: bool, fields: Mapping[str, str] | None) -> ApiError:
    argument = (fields or {}).get(error.argument, error.argument)
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
            "argument": argument,
            "note_id": error.id,
            "proposal": representations.open_proposals([waiting], may_read=may_read)[0],
        },
    )


def _refused_unread() -> ApiError:
    return ApiError(
        ErrorCode.EDIT_REFUSED,
        "The change cannot be made: the note says so already, or it does not hold any more. "
        "Save a new note instead, or use a token with the scope memory:read, which is told more.",
    )


def _superseded(note: Note) -> ApiError:
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
    """The end of the chain of replacements, unless that was forgotten or deleted; in a circle none holds."""
    return next((following.id for following in reads.replacements(note) if not following.is_superseded), None)


def revision_not_found(error: RevisionNotFound, as_of: str | None) -> ApiError:
    return ApiError(
        ErrorCode.REVISION_NOT_FOUND,
        f"as_of '{as_of}' is neither a commit of this memory nor a date or time it covers.",
        details={"as_of": as_of},
    )
