"""What can go wrong, one class for each status of an answer.

Branch on `code`: it says more than the status, and every code is in the server's reference. `text` is written for a
model and says how to repair the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

#: What the package gives to its users: all of these.
__all__ = [
    "APIConnectionError",
    "APIResponseValidationError",
    "APIStatusError",
    "APITimeoutError",
    "AssentError",
    "AuthenticationError",
    "BadRequestError",
    "ConflictError",
    "ContentTooLargeError",
    "DecisionPending",
    "InternalServerError",
    "NotFoundError",
    "PermissionDeniedError",
    "RateLimitError",
    "UnprocessableEntityError",
    "WebhookVerificationError",
]


class AssentError(Exception):
    """Base of everything this package raises on purpose."""


class APIConnectionError(AssentError):
    """The server was not reached, or the connection broke. A write may have happened: repeat it with its key.

    Attributes:
        idempotency_key: of a write; the same call with this key is never carried out twice.
    """

    def __init__(self, message: str, *, idempotency_key: str | None = None) -> None:
        super().__init__(message)
        self.idempotency_key = idempotency_key


class APITimeoutError(APIConnectionError):
    """The server did not answer in time."""


class APIResponseValidationError(AssentError):
    """What answered with success is not Assent, or not a version this client knows."""


class APIStatusError(AssentError):
    """The server refused.

    Attributes:
        status_code: of the HTTP answer.
        code: the error's name, such as `old_string_not_found`; "" where something else than Assent answered.
        message: one sentence for people.
        text: for the model: what to do instead follows on new lines.
        details: the same as data.
        request_id: by which the server's log is searched.
        retry_after: seconds the server asked to wait, or None.
        idempotency_key: of a write; the same call with this key is never carried out twice.
    """

    def __init__(
        self,
        message: str,
        *,
        status_code: int,
        code: str = "",
        text: str = "",
        details: Mapping[str, Any] | None = None,
        request_id: str | None = None,
        retry_after: float | None = None,
        idempotency_key: str | None = None,
    ) -> None:
        # Never more of `text` than that it is there: it quotes the memory, and this line goes into logs.
        more = " (more in .text)" if text.strip().count("\n") else ""
        super().__init__(f"{status_code} {code}: {message}{more}" if code else message)
        self.status_code = status_code
        self.code = code
        self.message = message
        self.text = text or f"Error: {message}"
        self.details = dict(details or {})
        self.request_id = request_id
        self.retry_after = retry_after
        self.idempotency_key = idempotency_key


class BadRequestError(APIStatusError):
    """400: the arguments; `details["fields"]` names each bad one."""


class AuthenticationError(APIStatusError):
    """401: no token, or one that is unknown, revoked or expired."""


class PermissionDeniedError(APIStatusError):
    """403: the token lacks a scope, or does not serve this person."""


class NotFoundError(APIStatusError):
    """404: no such block, note, proposal, tool or address."""


class ConflictError(APIStatusError):
    """409: a precondition or a state, such as a proposal that is decided already."""


class ContentTooLargeError(APIStatusError):
    """413: the body is over the server's limit."""


class UnprocessableEntityError(APIStatusError):
    """422: the edit cannot be made; `text` and `details` say what would."""


class RateLimitError(APIStatusError):
    """429: too many calls, or as many open proposals as may be."""


class InternalServerError(APIStatusError):
    """500 and above: the server's fault, or its databases are away."""


class DecisionPending(AssentError):
    """Nobody decided within the time given to `wait`.

    Attributes:
        proposal: as it was when last looked at.
    """

    def __init__(self, proposal: Any) -> None:
        super().__init__(f"proposal {proposal.proposal_id} is {proposal.status}: nobody has decided it yet")
        self.proposal = proposal


class WebhookVerificationError(AssentError):
    """The message was not signed with this secret, is too old, or is malformed."""


_BY_STATUS: dict[int, type[APIStatusError]] = {
    400: BadRequestError,
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    413: ContentTooLargeError,
    422: UnprocessableEntityError,
    429: RateLimitError,
}


def class_for(status: int) -> type[APIStatusError]:
    """Return the class of errors with this status."""
    return _BY_STATUS.get(status, InternalServerError if status >= 500 else APIStatusError)
