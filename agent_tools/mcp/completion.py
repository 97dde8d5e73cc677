"""`completion/complete`: labels of blocks, and the users a token serves, for the addresses of resources."""

from typing import Any

from agent_tools.auth import grants
from agent_tools.http.json_rpc import RpcCode, RpcError
from agent_tools.mcp.exchange import Exchange
from agent_tools.models import Scope
from agent_tools.tools.read import block_list
from memory_app.models import USERNAME

#: Values the protocol allows.
_MOST = 100
#: Blocks that are looked at; the API gives no more at once.
_LABELS = 200


def complete(exchange: Exchange, params: dict[str, Any]) -> dict[str, Any]:
    """Return the values that begin as what was typed; none for what has no list."""
    reference, argument = params.get("ref"), params.get("argument")
    if not isinstance(reference, dict) or reference.get("type") not in ("ref/resource", "ref/prompt"):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.ref must name a prompt or the template of a resource.")
    if not isinstance(argument, dict) or not all(isinstance(argument.get(part), str) for part in ("name", "value")):
        raise RpcError(RpcCode.INVALID_PARAMS, "params.argument must have a name and a value, both strings.")
    found = _values(exchange, params, argument["name"], argument["value"])
    return {"completion": {"values": found[:_MOST], "total": len(found), "hasMore": len(found) > _MOST}}


def _values(exchange: Exchange, params: dict[str, Any], name: str, typed: str) -> list[str]:
    token = exchange.caller.token
    if params["ref"]["type"] != "ref/resource" or not grants.has_scope(token, Scope.MEMORY_READ):
        return []
    if name == "user":
        if exchange.owner is not None:
            return [exchange.owner] if exchange.owner.startswith(typed) else []
        return grants.owners_beginning(token, typed, _MOST + 1)
    context = params.get("context")
    chosen = context.get("arguments") if isinstance(context, dict) else None
    owner = exchange.owner or (chosen.get("user") if isinstance(chosen, dict) else None)
    if name != "label" or not isinstance(owner, str) or not USERNAME.fullmatch(owner):
        return []
    items = exchange.run(block_list, {"user_id": owner, "limit": _LABELS})["data"]["items"]
    return [item["label"] for item in items if item["label"].startswith(typed)]
