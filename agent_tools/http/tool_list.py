"""docs/tools.md: every tool on a line of its own, written from the registry by `manage.py tool_list` and committed.

Not here: what each argument means and what is answered, which is in the reference (`reference`).
"""

from __future__ import annotations

from typing import Any

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.registry import FILE_TOOLS, NOTE_TOOLS, TOOLS, Tool
from agent_tools.http.reference import scopes, table

_HEAD = """\
# The tools

*Written by `manage.py tool_list` from the registry (`make docs`); edit that, not this.*

A tool has this name in each way in: REST, MCP, the client, the adapters. A `?` marks an argument that may be left out.
What each argument means, what is answered and every error is in the reference: `/api/docs/` of an installation, or
`docs/api.md` after `make docs`. Which tool when: [Connecting an agent](agents.md#which-tool-when).

Each tool also takes `user_id?` (whose memory, where the token serves several people) and `session_id?` (the
conversation). Those that are `side_effecting` take `idempotency_key?`, too.
"""

#: Said above the tables, so not in each row.
_COMMON = ("session_id", "idempotency_key")


def page() -> str:
    """Return the whole page, in Markdown."""
    files = [tool for tool in TOOLS.values() if tool.name in FILE_TOOLS]
    notes = [tool for tool in TOOLS.values() if tool.name in NOTE_TOOLS]
    others = [tool for tool in TOOLS.values() if tool not in [*files, *notes]]
    parts = [
        _HEAD,
        "## Blocks, proposals and conversations",
        _rows(others),
        "## Notes",
        "There unless `MEMORIES_ENABLED` is off.",
        _rows(notes),
        "## The memory as files",
        "Listed for a model that asks for them: `?family=files` of `/api/v1/tools/`, `?toolset=files` of `/mcp`.",
        _rows(files),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _rows(group: list[Tool[Any]]) -> str:
    rows = [
        (f"`{tool.name}`", tool.first_sentence, _arguments(tool), scopes(tool), f"`{tool.effect}`") for tool in group
    ]
    return table(("tool", "what it does", "arguments", "scope", "effect"), rows)


def _arguments(tool: Tool[Any]) -> str:
    required = tool.schema["required"]
    names = [name for name in tool.schema["properties"] if name in required or name not in _COMMON]
    return ", ".join(f"`{name}{'' if name in required else '?'}`" for name in names) or "–"
