"""`tools/list` and `tools/call`.

What a tool refuses is a result with `isError` and the text of the refusal, so that the model can repair its call. Only
a tool that is not there, and parameters that are none, are errors of the protocol.
"""

from collections.abc import Callable
from typing import Any

from agent_tools.auth import grants
from agent_tools.calls import execution, registry
from agent_tools.calls.arguments import invalid
from agent_tools.calls.foreign_names import nearest
from agent_tools.calls.registry import Tool
from agent_tools.errors import ErrorCode
from agent_tools.http import body, exceptions
from agent_tools.http.json_rpc import RpcCode, RpcError
from agent_tools.mcp import paging
from agent_tools.mcp.exchange import Exchange

#: Where a result has what is for programs. Beside `structuredContent`, clients leave the text out.
DATA, ERROR, REPLAYED = "assent/data", "assent/error", "assent/replayed"

#: Definitions, written once: a schema takes a millisecond.
_written: dict[Callable[..., Any], dict[str, Any]] = {}

_USER_ID = {"type": "string", "description": "Whose memory: a username.", "pattern": "^[a-z0-9._-]{1,64}$"}


def list_tools(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return the tools that the address offers and the token may use."""
    offered = _offered(exchange)
    shown, cursor = paging.page(offered, params, key=lambda tool: tool.name)
    says_whose = exchange.owner is None
    result: dict[str, Any] = {"tools": [_definition(tool, says_whose=says_whose) for tool in shown]}
    return result | ({"nextCursor": cursor} if cursor else {})


def call_tool(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Run a tool and return what the model reads. Raise RpcError for a tool that is not there."""
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.name must be the name of a tool.")
    if arguments is not None and not isinstance(arguments, dict):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.arguments must be an object.")
    exchange.audit.tool = name if name in registry.TOOLS else "unknown"
    tool = _find(exchange, name)
    is_replayed = False
    try:
        given = _given(exchange, tool, arguments or {})
        kept = execution.execute(tool, exchange.caller, given, key=None, audit=exchange.audit)
        payload, is_replayed, exchange.status = kept.payload, kept.replayed, kept.status
    except Exception as error:  # whatever it is, the model is told in our words
        answer = exceptions.as_api_error(error, failing=tool.failing)
        exceptions.report(answer, error, exchange.audit)
        payload, exchange.status = answer.payload, answer.code.status
    if not payload["ok"]:
        exchange.outcome = payload["error"]["code"]
    return _result(payload, is_replayed=is_replayed, is_structured=exchange.options.is_structured)


def _result(payload: dict[str, Any], *, is_replayed: bool, is_structured: bool) -> dict[str, Any]:
    result: dict[str, Any] = {
        "content": [{"type": "text", "text": payload["text"]}],
        "isError": not payload["ok"],
    }
    part = "data" if payload["ok"] else "error"
    meta = {REPLAYED: True} if is_replayed else {}
    if is_structured:
        result["structuredContent"] = {"text": payload["text"], part: payload[part]}
    else:
        meta[DATA if payload["ok"] else ERROR] = payload[part]
    return result | ({"_meta": meta} if meta else {})


def _offered(exchange: Exchange) -> list[Tool[Any]]:
    token = exchange.caller.token
    # An address that chooses tools chooses among all.
    family = registry.Family.MEMORY if exchange.options.chosen is None else registry.Family.ALL
    return [
        tool
        for tool in registry.switched_on(family)
        if exchange.options.offers(tool) and grants.has_scope(token, *tool.scopes)
    ]


def _find(exchange: Exchange, name: str) -> Tool[Any]:
    """Return the tool of this name. One that the token has no scope for is refused when it is run."""
    tool = registry.TOOLS.get(name)
    if tool is not None and exchange.options.offers(tool):
        return tool
    there = [each.name for each in _offered(exchange)]
    near = nearest(name, there)
    exchange.outcome, exchange.status = ErrorCode.UNKNOWN_TOOL.code, ErrorCode.UNKNOWN_TOOL.status
    if tool is None:
        message = f"There is no tool '{name[:100]}'."
    else:
        message = f"The tool '{name}' is not offered at this address, whose query chooses the tools."
    raise RpcError(
        RpcCode.INVALID_PARAMS,
        f"{message} Did you mean {near}?" if near else message,
        data={"code": ErrorCode.UNKNOWN_TOOL.code, "nearest": near, "tools": there},
        outcome=ErrorCode.UNKNOWN_TOOL.code,
    )


def _given(exchange: Exchange, tool: Tool[Any], arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments with what the address adds. Raise ApiError for texts that cannot be, and another user."""
    body.check_texts(arguments)
    options = exchange.options
    given = dict(arguments)
    if options.user is not None and given.setdefault("user_id", options.user) != options.user:
        reason = f"is set to {options.user!r} by the address of this server; leave it out"
        raise invalid({"user_id": reason}, called=tool.called)
    if options.session_id:
        given.setdefault("session_id", options.session_id)
    return given


def _definition(tool: Tool[Any], *, says_whose: bool) -> dict[str, Any]:
    """Return what `tools/list` says of a tool.

    Args:
        says_whose: whether each call has to say whose memory it is about.
    """
    written = _written.get(tool.run) or _written.setdefault(tool.run, registry.FORMATS["mcp"](tool))
    if not says_whose:
        return written
    schema = written["inputSchema"]
    required = schema["required"] if tool.owner_optional else [*schema["required"], "user_id"]
    properties = {"user_id": _USER_ID} | schema["properties"]
    return written | {"inputSchema": schema | {"properties": properties, "required": required}}
