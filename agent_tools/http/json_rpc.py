"""The answers of `/mcp`: JSON-RPC results and errors, as HTTP.

Not here: what the methods do, and what the protocol asks of a message (`agent_tools.mcp`).
"""

from collections.abc import Sequence
from enum import IntEnum
from typing import Any

from agent_tools.errors import ApiError, ErrorCode
from agent_tools.http import messages

Id = str | int | float | None


class RpcCode(IntEnum):
    """`error.code`. Those from -32020 on are the protocol's own, those down to -32019 ours to choose."""

    PARSE_ERROR = -32700
    INVALID_REQUEST = -32600
    METHOD_NOT_FOUND = -32601
    INVALID_PARAMS = -32602
    INTERNAL_ERROR = -32603
    #: Refused as HTTP: the token, the rate, the address. The SDKs use -32000 and -32001 for themselves.
    REFUSED = -32010
    HEADER_MISMATCH = -32020
    UNSUPPORTED_VERSION = -32022


#: What the versions without a handshake ask for; the older ones have errors in a 200.
_UNREAD = (RpcCode.PARSE_ERROR, RpcCode.INVALID_REQUEST, RpcCode.HEADER_MISMATCH, RpcCode.UNSUPPORTED_VERSION)
_MODERN_STATUS = dict.fromkeys((*_UNREAD, RpcCode.INVALID_PARAMS), 400) | {RpcCode.METHOD_NOT_FOUND: 404}


class RpcError(Exception):
    """An error of the protocol. What a tool refuses is none: it is a result that the model reads.

    Args:
        status: of HTTP, where it is not the one that goes with the code.
        outcome: for the audit row.
    """

    def __init__(
        self,
        code: RpcCode,
        message: str,
        *,
        data: dict[str, Any] | None = None,
        status: int | None = None,
        headers: dict[str, str] | None = None,
        outcome: str = "",
    ) -> None:
        self.code = code
        self.message = message
        self.data = data or {}
        self.status = status
        self.headers = headers or {}
        self.outcome = outcome or code.name.lower()
        super().__init__(message)


def _as_rpc_error(error: Exception) -> RpcError:
    """Return an exception as an error of the protocol; one that is not its own has the status and headers of HTTP."""
    if isinstance(error, RpcError):
        return error
    error = messages.as_api_error(error)
    code = RpcCode.REFUSED
    if error.code is ErrorCode.INVALID_JSON:
        code = RpcCode.PARSE_ERROR
    elif error.code.status == 400:
        code = RpcCode.INVALID_PARAMS
    elif error.code.status >= 500:
        code = RpcCode.INTERNAL_ERROR
    return RpcError(
        code,
        error.message,
        data=data_of(error),
        status=error.code.status,
        headers=error.headers,
        outcome=error.code.code,
    )


def data_of(error: ApiError) -> dict[str, Any]:
    """Return what a program reads in an error: our code, and the details."""
    return {"code": error.code.code, "details": error.details}


def failed(raised: Exception, id: Id = None, *, is_modern: bool = False) -> messages.ApiResponse:
    """Return the answer to a request that failed.

    Args:
        id: of the request; None where it is not known.
        is_modern: whether it is of a version without a handshake.
    """
    error = _as_rpc_error(raised)
    status = error.status
    if status is None:
        status = _MODERN_STATUS.get(error.code, 200) if is_modern or error.code in _UNREAD else 200
    said: dict[str, Any] = {"code": error.code.value, "message": error.message}
    if error.data:
        said["data"] = error.data
    payload = {"jsonrpc": "2.0", "id": id, "error": said}
    return messages.json_response(payload, status=status, headers=error.headers, outcome=error.outcome)


def succeeded(result: dict[str, Any], id: Id, *, outcome: str = "ok") -> messages.ApiResponse:
    """Return the answer to a request that succeeded."""
    return messages.json_response({"jsonrpc": "2.0", "id": id, "result": result}, outcome=outcome)


def together(answers: Sequence[messages.ApiResponse]) -> messages.ApiResponse:
    """Return the answers to a batch as one: a list of those that there are."""
    said = [answer.content for answer in answers if answer.content]
    if not said:
        return accepted()
    response = messages.json_response({})
    response.content = b"[" + b",".join(said) + b"]"
    return response


def accepted() -> messages.ApiResponse:
    """Return the answer to a notification, which has none."""
    response = messages.ApiResponse(status=202)
    del response["Content-Type"]  # of a body that is not there
    response["Cache-Control"] = "no-store"
    response.outcome = "ok"
    return response
