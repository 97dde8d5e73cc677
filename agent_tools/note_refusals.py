"""What a refused change of notes is answered with."""

from __future__ import annotations

from collections.abc import Mapping

from agent_tools import refusals
from agent_tools.arguments import invalid
from agent_tools.errors import ApiError, ErrorCode
from approvals.services import errors as services
from memory_app import edits
from memory_app.recall import NoteNotFound, RevisionNotFound

#: What `explain` has an answer for.
REFUSALS = (NoteNotFound, services.Refused, edits.ForbiddenCharacter)


def explain(error: Exception, *, tool: str, fields: Mapping[str, str] | None = None) -> ApiError:
    """The answer to a refusal of `approvals.services.notes`.

    Args:
        fields: what the tool calls a field of a note, where it calls it otherwise.
    """
    match error:
        case NoteNotFound():
            return note_not_found(error.id)
        case services.NoteInvalid():
            message = error.message.rstrip(".")
            return invalid({(fields or {}).get(error.field, error.field): f"is refused: {message}"}, tool=tool)
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
            return refusals.too_many_pending(error)
        case services.MemoryFull():
            return refusals.memory_full()
    raise error


def note_not_found(id_: str) -> ApiError:
    return ApiError(ErrorCode.NOTE_NOT_FOUND, f"Note '{id_}' not found.", details={"note_id": id_})


def revision_not_found(error: RevisionNotFound, as_of: str | None) -> ApiError:
    return ApiError(
        ErrorCode.REVISION_NOT_FOUND,
        f"as_of '{as_of}' is neither a commit of this memory nor a date or time it covers.",
        details={"as_of": as_of},
    )
