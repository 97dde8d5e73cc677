"""A message, and what the two eras of the protocol ask of one.

The older versions begin with a handshake (`initialize`) and send one header. The newer ones have none: each request
says its version and what its client can do, and headers repeat parts of the body, which are compared here.
"""

import base64
import binascii
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_tools.calls.json_values import check_texts
from agent_tools.errors import ApiError
from agent_tools.http.json_rpc import Id, RpcCode, RpcError

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
MODERN_VERSIONS = ("2026-07-28",)
SUPPORTED_VERSIONS = (*MODERN_VERSIONS, *HANDSHAKE_VERSIONS)

VERSION_HEADER = "MCP-Protocol-Version"
#: The one version with batches, and the one a client speaks that sends no header: that came with the next.
_BATCHES = "2025-03-26"
#: Messages of a batch that are answered: one after the other, in one thread of the server.
_MOST_TOGETHER = 20
#: Where a request or result says what is about the protocol itself.
META = "io.modelcontextprotocol/"
_VERSION, _CAPABILITIES = f"{META}protocolVersion", f"{META}clientCapabilities"
#: The parameter that the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
#: The largest number that other parsers of JSON read too; NaN and infinity are no larger or smaller one.
_LARGEST_ID = sys.float_info.max
_BASE64 = "=?base64?"
_END = "?="


@dataclass(frozen=True)
class RpcMessage:
    """A request, or a notification, which wants no answer."""

    id: Id
    is_notification: bool
    method: str
    params: dict[str, Any]

    @property
    def meta(self) -> Any:
        return self.params.get("_meta")


def read(value: Any, *, in_batch: bool = False) -> RpcMessage:
    """Return a decoded body, or one of a batch, as a message. Raise RpcError (invalid_request, invalid_params).

    The texts are checked but for a tool's arguments, of which the tool says what is wrong.
    """
    if isinstance(value, list):
        raise _invalid_request(f"Send one message; in version {_BATCHES} alone, 1 to {_MOST_TOGETHER} in one list.")
    if not isinstance(value, dict):
        raise _invalid_request("The body must be one JSON-RPC message.")
    if value.get("jsonrpc") != "2.0":
        raise _invalid_request('A message begins with "jsonrpc": "2.0".')
    method, params = value.get("method"), value.get("params")
    if not isinstance(method, str):
        raise _invalid_request("method must be a string: this server takes requests and notifications only.")
    if in_batch and method == "initialize":
        raise _invalid_request("initialize comes alone: no batch may have it.")
    _check_texts({"method": method})
    if params is not None and not isinstance(params, dict):
        raise RpcError(RpcCode.INVALID_PARAMS, "params must be an object.")
    given: dict[str, Any] = params or {}
    _check_texts({name: inner for name, inner in given.items() if name != "arguments"})
    return RpcMessage(id_of(value), "id" not in value, method, given)


def is_batch(value: Any, headers: Mapping[str, str]) -> bool:
    """Whether a decoded body is several messages that are answered together. Raise RpcError for too many."""
    if not isinstance(value, list) or not value or headers.get(VERSION_HEADER, _BATCHES) != _BATCHES:
        return False
    if len(value) > _MOST_TOGETHER:
        raise _invalid_request(f"A batch has at most {_MOST_TOGETHER} messages.")
    return True


def is_response(value: Any) -> bool:
    """Whether a message answers a request of ours: of which there are none, and its id is none of a client's."""
    return isinstance(value, dict) and "method" not in value and not value.keys().isdisjoint(("result", "error"))


def id_of(value: Any) -> Id:
    """Return the id of a decoded request, or None where it has none. Raise RpcError for one that is no id."""
    if not isinstance(value, dict) or "id" not in value or is_response(value):
        return None
    id = value["id"]
    if isinstance(id, str):
        _check_texts({"id": id})
        return id
    if isinstance(id, int | float) and not isinstance(id, bool) and abs(id) <= _LARGEST_ID:
        return id
    raise _invalid_request("id must be a string or a number.")


def is_modern(message: RpcMessage, headers: Mapping[str, str]) -> bool:
    """Whether a message is of a version without a handshake, as its header or its body says."""
    version = headers.get(VERSION_HEADER)
    said = isinstance(message.meta, dict) and _VERSION in message.meta
    return said or (version is not None and version not in HANDSHAKE_VERSIONS)


def check_envelope(message: RpcMessage, headers: Mapping[str, str]) -> None:
    """Raise RpcError unless a message of a modern version says what it has to, in its body and in its headers."""
    header, meta = headers.get(VERSION_HEADER), message.meta
    if message.is_notification:
        _check_version(header)
        return
    missing = [key for key in (_VERSION, _CAPABILITIES) if not isinstance(meta, dict) or key not in meta]
    if missing:
        if header not in MODERN_VERSIONS:
            _check_version(header)
        raise RpcError(RpcCode.INVALID_PARAMS, f"params._meta lacks {' and '.join(missing)}.")
    if not isinstance(meta[_CAPABILITIES], dict):
        raise RpcError(RpcCode.INVALID_PARAMS, f"params._meta: {_CAPABILITIES} must be an object.")
    if header is None or header != meta[_VERSION]:
        raise _mismatch(VERSION_HEADER, f"params._meta[{_VERSION}]")
    if headers.get("Mcp-Method") != message.method:
        raise _mismatch("Mcp-Method", "method")
    parameter = _NAMED.get(message.method)
    # One that is missing is named by the method itself.
    named = message.params.get(parameter) if parameter else None
    if named is not None and decoded(headers.get("Mcp-Name")) != named:
        raise _mismatch("Mcp-Name", f"params.{parameter}")
    _check_version(header)


def decoded(header: str | None) -> str | None:
    """Return what a header says, which has other than visible ASCII in base64; None where it says nothing."""
    if header is None or not (header.startswith(_BASE64) and header.endswith(_END)):
        return header
    packed = header[len(_BASE64) : -len(_END)]
    try:
        plain = base64.b64decode(packed, validate=True)
        # Another spelling of the same bytes would be another header to a proxy that compares them.
        return plain.decode() if base64.b64encode(plain).decode() == packed else None
    except (binascii.Error, UnicodeDecodeError):
        return None


def _check_version(requested: str | None) -> None:
    if requested in MODERN_VERSIONS:
        return
    raise RpcError(
        RpcCode.UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        data={"supported": list(SUPPORTED_VERSIONS), "requested": requested or ""},
    )


def _check_texts(value: dict[str, Any]) -> None:
    try:
        check_texts(value)
    except ApiError as error:
        raise RpcError(RpcCode.INVALID_PARAMS, error.message) from error


def _invalid_request(message: str) -> RpcError:
    return RpcError(RpcCode.INVALID_REQUEST, message)


def _mismatch(header: str, part: str) -> RpcError:
    return RpcError(RpcCode.HEADER_MISMATCH, f"The header {header} does not say what {part} says.")
