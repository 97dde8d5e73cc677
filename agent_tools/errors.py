"""Every error a machine can get, the one shape they all have, and what a table of them is made of.

Which exception is answered with which row: `answers.refusals` for what the memory refuses, `http.exceptions` for what
happens before and around a call.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any


class ErrorCode(Enum):
    """Its HTTP status and what it means; `error.code` is its name in small letters. The OpenAPI document has them."""

    NOT_AUTHENTICATED = (401, "No `Authorization: Bearer <token>` header.")
    INVALID_TOKEN = (401, "The token is unknown, revoked, expired or its agent deactivated.")
    MISSING_SCOPE = (403, "The token lacks the scope named in `required`.")
    OWNER_NOT_GRANTED = (403, "The token does not serve this `user_id`, or nobody has it; the answer is the same.")
    BAD_REQUEST = (400, "The request is malformed below the level of JSON.")
    INVALID_JSON = (400, "The body is not one JSON object in UTF-8 without duplicate keys or NaN.")
    INVALID_ARGUMENTS = (400, "`fields` has the bad arguments (the first 20), each with the reason.")
    FORBIDDEN_CHARACTER = (400, "A text holds NUL or half of a surrogate pair; `fields` says where.")
    IDENTICAL_STRINGS = (400, "`old_string` and `new_string` are the same.")
    EMPTY_OLD_STRING = (400, "`old_string` is empty.")
    MISSING_REASONING = (400, "`reasoning` is missing, empty or only white space.")
    MISSING_SESSION_ID = (400, "`scope` is session, and no `session_id` says which.")
    LABEL_INVALID = (400, "`label` is no label; `nearest`, where it is given, is one.")
    PATH_REFUSED = (400, "`path` does not begin with `/memories`, or could lead out of it.")
    MALFORMED_FILE = (400, "The memories.md cannot be read: binary, or two headings with one id.")
    NOT_FOUND = (404, "There is no endpoint at this address.")
    UNKNOWN_TOOL = (404, "There is no tool of that name; `nearest` and `tools` help.")
    PATH_NOT_FOUND = (404, "`path` names no file, or, to list, no folder.")
    BLOCK_NOT_FOUND = (404, "The owner has no block of that label; `available` lists the labels.")
    NOTE_NOT_FOUND = (404, "The owner has no note of that id; a note of somebody else gets the same answer.")
    REPLACEMENT_NOT_FOUND = (404, "The owner has no note of the id given as `replacement_id`.")
    REVISION_NOT_FOUND = (404, "`as_of` names no commit of the memory and no time it covers.")
    TEXT_ERASED = (410, "The version at `as_of` was erased for good at `erased_at`: nobody can read it any more.")
    PROPOSAL_NOT_FOUND = (404, "No proposal of this agent, for an owner this token serves.")
    SESSION_NOT_FOUND = (404, "No message of a conversation of that id is kept for the owner.")
    NOTES_DISABLED = (403, "Notes are switched off here (MEMORIES_ENABLED); blocks are not.")
    METHOD_NOT_ALLOWED = (405, "The endpoint does not answer to this method; see `allowed`.")
    NOT_ACCEPTABLE = (406, "The `Accept` header leaves out application/json.")
    PRECONDITION_FAILED = (409, "The block is not at `expected_sha256`; `content_sha256` is what it is at now.")
    NOTES_CHANGED = (409, "A note changed while this call was made; `note_ids` were to be changed.")
    NOTE_SUPERSEDED = (409, "The note was forgotten at `superseded_at`; `holds` took its place, or null.")
    NOTE_WAITS = (409, "The note given as `argument` is not in the memory yet: it waits as your own `proposal`.")
    LABEL_TAKEN = (409, "There is a block with this label; `block` is that one.")
    BLOCK_WAITS = (409, "Your own `proposal` of this new block waits, with other words. Amend it.")
    ALREADY_DECIDED = (409, "The proposal is not open any more; `proposal` says what it is.")
    REJECTED_BEFORE = (
        409,
        "The user rejected the same before, as `proposal_id`, for `reason` with `comment`; nothing was made. "
        "`passages` are what of this call was rejected. With `force` and new reasoning the user is asked again; "
        "`force_needs` is `reasoning` or `new_reasoning` where only that is missing, else null.",
    )
    BEING_DECIDED = (409, "A decision about the proposal is under way.")
    OTHER_TARGET = (409, "The proposal of `proposal_id` is about another block or note, named here.")
    TOO_MANY_REVISIONS = (409, "The proposal has as many `revisions` as it may have.")
    BEING_MADE = (503, "Another call makes the same proposal this moment; the same call again finds it.")
    IDEMPOTENCY_KEY_REUSED = (409, "The key was used with other arguments.")
    IDEMPOTENCY_IN_PROGRESS = (409, "The first call with this key is not done yet.")
    LENGTH_REQUIRED = (411, "A body without Content-Length cannot be read here.")
    BODY_TOO_LARGE = (413, "The body is over `limit` bytes.")
    UNSUPPORTED_MEDIA_TYPE = (415, "The body has not the `Content-Type` the endpoint reads.")
    OLD_STRING_NOT_FOUND = (
        422,
        "`old_string` does not occur; `in_proposal`, `nearest` (or `places`, all that fit equally well) and "
        "`corrected_call` help where they can.",
    )
    ALREADY_TRUE = (
        422,
        "The change was made already, on `line`: one of the block's last 20 versions had `old_string`, and the edit "
        "makes of it what stands there now.",
    )
    OLD_STRING_REPEATED = (422, "`old_string` occurs `count` times, on these `lines`.")
    WRONG_COUNT = (422, "`old_string` does not occur `expected_replacements` times.")
    LINE_OUT_OF_RANGE = (422, "The block has no line `insert_line`, which is between 0 and `last`.")
    SECTION_NOT_FOUND = (
        422,
        "No header is `section_header`; `headers` names the first 30 of `count`, and `nearest` the one most like it, "
        "with the `corrected_call` where that names one section.",
    )
    SECTION_REPEATED = (422, "`section_header` is on these `lines`, below `paths`: say which as `section_line`.")
    SECTION_UNCLOSED = (422, "`new_content` opens what would swallow the header `swallowed`: close it.")
    NO_CHANGE = (422, "The result equals what is there.")
    OVER_LIMIT = (422, "The result is longer than the block's limit: `used`, `limit`, `over_by`.")
    BLOCK_READ_ONLY = (422, "Agents may not change this block.")
    HEADERS_TOO_LARGE = (431, "Address and headers are over 65,536 bytes; a tool takes a query in the body.")
    RATE_LIMITED = (429, "Too many calls with this token in this minute.")
    TOO_MANY_AT_ONCE = (429, "`most` calls with this token are under way, and this one has waited for its turn.")
    IMPORT_UNDER_WAY = (429, "One import at a time for each owner and each agent; nothing was taken.")
    TOO_MANY_PENDING = (429, "As many proposals of this agent wait for this owner as may; `proposals` names them.")
    INTERNAL_ERROR = (500, "Our fault; the log has more under `request_id`.")
    ENGINE_UNAVAILABLE = (503, "A database does not answer or stayed busy.")
    MEMORY_FULL = (503, "As many proposals wait, in all, as this installation handles well.")
    TIMEOUT = (
        504,
        "The call took longer than `timeout` seconds. A write (`may_have_happened`) is called again with its "
        "`idempotency_key`, or looked for first.",
    )
    NOT_READY = (503, "`/readyz`: a part named in `parts` does not work.")

    def __init__(self, status: int, meaning: str) -> None:
        self.code = self.name.lower()
        self.status = status
        self.meaning = meaning


class ApiError(Exception):
    """An error with its code. `payload` is what the caller reads.

    Args:
        message: one sentence, without the prefix `Error: `.
        text: the first line for the model, where a contract gives it; `Error: {message}` otherwise.
        help: more for the model, on new lines after the first; empty ones are left out.
        details: the same as data.
        retry_after: seconds, for the header of that name and the details.
    """

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        text: str | None = None,
        help: Iterable[str] = (),
        details: dict[str, Any] | None = None,
        retry_after: int | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.text = "\n".join([text or f"Error: {message}", *filter(None, help)])
        self.details = dict(details or {})
        self.headers = dict(headers or {})
        if retry_after is not None:
            self.details["retry_after"] = retry_after
            self.headers["Retry-After"] = str(retry_after)
        super().__init__(message)

    @property
    def payload(self) -> dict[str, Any]:
        return {
            "ok": False,
            "text": self.text,
            "error": {"code": self.code.code, "message": self.message, "details": self.details},
        }


def invalid_token() -> ApiError:
    """Return the refusal of a token; the same whatever is wrong with it."""
    return ApiError(
        ErrorCode.INVALID_TOKEN,
        "The token is not valid: it is unknown, ended or revoked. A person makes one under Settings, Agents.",
        headers={"WWW-Authenticate": 'Bearer realm="assent", error="invalid_token"'},
    )


def error_because(code: ErrorCode, failing: str, message: str, **more: Any) -> ApiError:
    """Return an error whose text for the model says what failed, and goes on with why.

    Args:
        failing: what could not be done: `Error creating edit proposal`, or `Error`.
        message: why, as the end of that sentence.
        more: as for `ApiError`.
    """
    return ApiError(code, message[0].upper() + message[1:], text=f"{failing}: {message}", **more)


@dataclass(frozen=True)
class ErrorRow:
    """What an exception is answered with. Texts are templates over `error`, the exception, and `about`, the call.

    Args:
        details: a function of both.
        retry_after: seconds.
    """

    code: ErrorCode
    message: str
    help: tuple[str, ...] = ()
    details: Callable[[Any, Any], dict[str, Any]] | None = None
    retry_after: int | None = None

    def __call__(self, error: Exception, about: Any) -> ApiError:
        return ApiError(
            self.code,
            self.message.format(error=error, about=about),
            help=[line.format(error=error, about=about) for line in self.help],
            details=self.details(error, about) if self.details else None,
            retry_after=self.retry_after,
        )


#: From the class of an exception, or the code of a refusal, to its row, or to a function that makes the answer of more
#: than texts.
ErrorTable = Mapping[type[Exception] | str, Callable[[Any, Any], ApiError]]


def find_row(table: ErrorTable, error: Exception) -> Callable[[Any, Any], ApiError] | None:
    """Return the row of the exception's own class or of its nearest base class; None where the table has none."""
    return next((table[kind] for kind in type(error).__mro__ if kind in table), None)
