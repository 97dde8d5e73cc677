"""LangChain and LangGraph: the memory tools as `StructuredTool`s.

    from langchain.agents import create_agent
    from assent_client import Assent
    from assent_client.adapters.langchain import memory_tools

    agent = create_agent(model, memory_tools(Assent(), user="alice"))

The model reads the text; the message's `artifact` has the data. Needs the package `langchain-core`
(`pip install './clients/python[langchain]'`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

try:
    from langchain_core.tools import StructuredTool, ToolException
except ModuleNotFoundError as error:
    from assent_client.adapters import missing

    raise missing("langchain", error) from error

from assent_client import Assent, AsyncAssent
from assent_client.adapters.toolset import Definition, Outcome, Toolset, call_key

__all__ = ["amemory_tools", "memory_tools"]

#: The id of the tool call that is being run. LangChain gives it to the tool, and not to the tool's function.
_CALL_ID: ContextVar[str | None] = ContextVar("assent_call_id", default=None)


class _MemoryTool(StructuredTool):
    """A tool whose function can know which call it answers."""

    def run(self, *args: Any, tool_call_id: str | None = None, **more: Any) -> Any:
        with _answering(tool_call_id):
            return super().run(*args, tool_call_id=tool_call_id, **more)

    async def arun(self, *args: Any, tool_call_id: str | None = None, **more: Any) -> Any:
        with _answering(tool_call_id):
            return await super().arun(*args, tool_call_id=tool_call_id, **more)


@contextmanager
def _answering(call_id: str | None) -> Iterator[None]:
    token = _CALL_ID.set(call_id)
    try:
        yield
    finally:
        _CALL_ID.reset(token)


def memory_tools(
    client: Assent, *, user: str | None = None, names: Sequence[str] | None = None, session_id: str | None = None
) -> list[StructuredTool]:
    """Return the tools the client's token may use, asked of the server now; for `invoke` and `ainvoke`.

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
) -> list[StructuredTool]:
    """Return the same over an `AsyncAssent`, for `ainvoke` only."""
    toolset = Toolset(client, user=user)
    return [_tool(toolset, definition, session_id) for definition in await toolset.definitions_async(names)]


def _tool(toolset: Toolset, definition: Definition, session_id: str | None) -> StructuredTool:
    def about(arguments: dict[str, Any]) -> dict[str, Any]:
        key = None if definition.is_read_only else call_key(_CALL_ID.get(), definition.name, arguments)
        return {"session_id": session_id, "idempotency_key": key}

    def run(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _told(toolset.run(definition.name, arguments, **about(arguments)))

    async def arun(**arguments: Any) -> tuple[str, dict[str, Any]]:
        return _told(await toolset.run_async(definition.name, arguments, **about(arguments)))

    return _MemoryTool(
        name=definition.name,
        description=definition.description,
        args_schema=definition.parameters,
        func=run if isinstance(toolset.client, Assent) else None,
        coroutine=arun,
        response_format="content_and_artifact",
        # The refusal is the message's content, and its status says "error".
        handle_tool_error=True,
    )


def _told(outcome: Outcome) -> tuple[str, dict[str, Any]]:
    if outcome.is_error:
        raise ToolException(outcome.text)
    return outcome.text, outcome.data
