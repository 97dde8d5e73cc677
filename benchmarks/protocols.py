"""A tool's call by MCP beside the same call by REST, in turns: what the protocol adds. `make bench ARGS='--part mcp'`.

Both sides are one request on a connection that is kept, run the same tool and write the same audit row.
"""

import json
from collections.abc import Callable
from typing import Any

from benchmarks import beside, processes
from benchmarks.beside import LABELS, OWNER, Timed
from benchmarks.measure import Against

AT_MOST = 1.2
_MODERN = "2026-07-28"
_META = "io.modelcontextprotocol/"


def fill() -> None:
    """Give the owner the blocks and notes that are asked for."""
    from memory_app.search import store

    beside.make_blocks()
    beside.import_notes(0, beside.FEW_NOTES)
    store.reindex(OWNER)


def measure(agent: processes.Session) -> list[Against]:
    """Two reads, a search and a save, in each era of the protocol."""
    results = []
    for version in (_MODERN, "2025-11-25"):
        for tool, arguments in (
            ("list_memory_blocks", {}),
            ("read_memory_block", {"block_label": LABELS[0]}),
            ("memory_search", {"query": "algebra exam"}),
            ("memory_save", {"content": "She said so."}),
        ):
            case = Timed(tool, _by_rest(agent, tool, arguments), _by_mcp(agent, version, tool, arguments), AT_MOST)
            results.append(beside.in_turns(case, f"MCP {version} beside REST"))
    return results


def _by_rest(agent: processes.Session, tool: str, arguments: dict[str, Any]) -> Callable[[], object]:
    body = json.dumps({"user_id": OWNER} | arguments).encode()

    def call() -> None:
        reply = agent.post_json(f"/api/v1/tools/{tool}/", body)
        if reply.status != 200:
            raise RuntimeError(f"{tool} answered {reply.status}: {reply.text[:500]}")

    return call


def _by_mcp(agent: processes.Session, version: str, tool: str, arguments: dict[str, Any]) -> Callable[[], object]:
    params: dict[str, Any] = {"name": tool, "arguments": {"user_id": OWNER} | arguments}
    headers = {"MCP-Protocol-Version": version, "Accept": "application/json, text/event-stream"}
    if version == _MODERN:
        params["_meta"] = {f"{_META}protocolVersion": version, f"{_META}clientCapabilities": {}}
        headers |= {"Mcp-Method": "tools/call", "Mcp-Name": tool}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}).encode()

    def call() -> None:
        reply = agent.post_json("/mcp", body, headers)
        if reply.status != 200 or '"isError": false' not in reply.text:
            raise RuntimeError(f"{tool} answered {reply.status}: {reply.text[:500]}")

    return call
