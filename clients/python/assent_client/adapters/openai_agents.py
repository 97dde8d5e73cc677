"""OpenAI Agents SDK: the memory tools as `FunctionTool`s.

    from agents import Agent
    from assent_client import Assent
    from assent_client.adapters.openai_agents import memory_tools

    agent = Agent(name="tutor", tools=memory_tools(Assent(), user="alice"))

Needs the package `openai-agents` (`pip install './clients/python[openai-agents]'`).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

try:
    from agents import FunctionTool
    from agents.tool_context import ToolContext
except ModuleNotFoundError as error:
    from assent_client.adapters import missing

    raise missing("openai-agents", error) from error

from assent_client import Assent, AsyncAssent
from assent_client.adapters.toolset import Definition, Toolset, call_key

__all__ = ["amemory_tools", "memory_tools"]


def memory_tools(
    client: Assent, *, user: str | None = None, names: Sequence[str] | None = None, session_id: str | None = None
) -> list[FunctionTool]:
    """Return the tools the client's token may use, asked of the server now.

    Args:
        user: whose memory; may be left out where the token serves one person.
        names: only these tools. Raises ValueError for one there is not. Otherwise those the token chooses, or the ten
            that are needed most.
        session_id: the conversation the calls belong to.
    """
    toolset = Toolset(client, user=user)
    return [_tool(toolset, definition, session_id) for definition in toolset.definitions(names)]


async def amemory_tools(
    client: AsyncAssent, *, user: str | None = None, names: Sequence[str] | None = None, session_id: str | None = None
) -> list[FunctionTool]:
    """Return the same over an `AsyncAssent`."""
    toolset = Toolset(client, user=user)
    return [_tool(toolset, definition, session_id) for definition in await toolset.definitions_async(names)]


def _tool(toolset: Toolset, definition: Definition, session_id: str | None) -> FunctionTool:
    async def invoke(context: ToolContext[Any], given: str) -> str:
        try:
            arguments = json.loads(given or "{}")
        except (ValueError, RecursionError):
            return f"Error: the arguments of {definition.name} are not JSON."
        if not isinstance(arguments, dict):
            return f"Error: the arguments of {definition.name} must be an object."
        key = None if definition.is_read_only else call_key(context.tool_call_id, definition.name, arguments)
        outcome = await toolset.run_async(definition.name, arguments, session_id=session_id, idempotency_key=key)
        return outcome.text

    return FunctionTool(
        name=definition.name,
        description=definition.description,
        params_json_schema=definition.parameters,
        on_invoke_tool=invoke,
        # Strict would make every argument a required one.
        strict_json_schema=False,
    )
