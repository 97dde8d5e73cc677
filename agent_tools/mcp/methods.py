"""The methods by name, in which era each is there, and what a client is told about the server."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from agent_tools.errors import ApiError
from agent_tools.http.json_rpc import RpcCode, RpcError
from agent_tools.mcp import completion, prompts, resources, tools
from agent_tools.mcp.exchange import Exchange
from agent_tools.mcp.protocol import HANDSHAKE_VERSIONS, META, MODERN_VERSIONS

INSTRUCTIONS = (
    "What is remembered about the user. Read it before you answer (list_memory_blocks, read_memory_block, "
    "memory_search). Change it by proposing: a person decides about each change of a block, and about notes where the "
    "user wants that. Say why in `reasoning`. At the start of a session look at list_proposals: learn from what was "
    "rejected or approved in other words, and answer what asks for changes. The text of a refusal says how to repair "
    "the call."
)

#: Milliseconds for which a client may keep what changes with settings and tokens only.
_SELDOM = 300_000

Run = Callable[[Exchange, dict[str, Any]], dict[str, Any]]


@dataclass(frozen=True)
class Method:
    """A method.

    Args:
        is_old, is_modern: in which era it is there.
        keep_ms: how long a client may keep the result; None where the protocol does not say it with the result.
    """

    run: Run
    is_old: bool = True
    is_modern: bool = True
    keep_ms: int | None = None


def call(exchange: Exchange, method: str, params: dict[str, Any], *, is_modern: bool) -> dict[str, Any]:
    """Return the result of a request. Raise RpcError."""
    found = METHODS.get(method)
    if found is None or not (found.is_modern if is_modern else found.is_old):
        raise RpcError(RpcCode.METHOD_NOT_FOUND, f"There is no method '{method[:100]}'.", data={"method": method[:100]})
    try:
        result = found.run(exchange, params)
    except ApiError as error:  # of the address: the user it names is not served
        raise exchange.failure(error) from error
    if not is_modern:
        return result
    # Texts of one person: no proxy may keep them for another.
    kept = {} if found.keep_ms is None else {"ttlMs": found.keep_ms, "cacheScope": "private"}
    meta = {f"{META}serverInfo": _server()} | result.get("_meta", {})
    return {"resultType": "complete"} | result | kept | {"_meta": meta}


def _initialize(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    version = params.get("protocolVersion")
    if not isinstance(version, str):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.protocolVersion must be a string.")
    return {
        "protocolVersion": version if version in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1],
        "capabilities": _capabilities(exchange),
        "serverInfo": _server(),
        "instructions": INSTRUCTIONS,
    }


def _discover(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    return {
        "supportedVersions": list(MODERN_VERSIONS),
        "capabilities": _capabilities(exchange),
        "instructions": INSTRUCTIONS,
    }


def _ping(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    return {}


def _capabilities(exchange: Exchange) -> dict[str, Any]:
    """Return what there is. Nothing is sent unasked, so no list announces its changes."""
    return {"tools": {}, "prompts": {}, "resources": {}, "completions": {}}


def _server() -> dict[str, Any]:
    return {"name": "assent", "title": "Assent", "version": settings.SPECTACULAR_SETTINGS["VERSION"]}


METHODS: dict[str, Method] = {
    "initialize": Method(_initialize, is_modern=False),
    "ping": Method(_ping, is_modern=False),
    "server/discover": Method(_discover, is_old=False, keep_ms=_SELDOM),
    "tools/list": Method(tools.list_tools, keep_ms=_SELDOM),
    "tools/call": Method(tools.call_tool),
    "resources/list": Method(resources.list_resources, keep_ms=0),
    "resources/templates/list": Method(resources.list_templates, keep_ms=_SELDOM),
    "resources/read": Method(resources.read_resource, keep_ms=0),
    "prompts/list": Method(prompts.list_prompts, keep_ms=_SELDOM),
    "prompts/get": Method(prompts.get_prompt),
    "completion/complete": Method(completion.complete),
}
