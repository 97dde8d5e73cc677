"""Agno: `MemoryBlockTools`, a toolkit with which an agent reads memory blocks and proposes edits.

    from agno.agent import Agent
    from assent_client import Assent
    from assent_client.adapters.agno import MemoryBlockTools

    agent = Agent(model=..., tools=[MemoryBlockTools(Assent(), user_id="alice")])

Needs the package `agno` (`pip install './clients/python[agno]'`). Do not switch on Agno's own confirmation for these
tools: a person approves in Assent, and would be asked twice.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

try:
    from agno.run import RunContext
    from agno.tools.function import Function
    from agno.tools.toolkit import Toolkit
except ModuleNotFoundError as error:
    from assent_client.adapters import missing

    raise missing("agno", error) from error

from assent_client import Assent, AsyncAssent
from assent_client.adapters.toolset import Definition, Outcome, Toolset

__all__ = ["MemoryBlockTools", "strip_agno_fields"]

log = logging.getLogger(__name__)

#: How a text begins where the memory could not be asked.
_FAILING = {
    "list_memory_blocks": "Error listing memory blocks",
    "read_memory_block": "Error reading memory block",
    "propose_memory_edit": "Error creating edit proposal",
}

#: What the fields of a function are called that only Agno reads. Some providers (Mistral, behind OpenRouter) refuse
#: a tool that has them, also with the value false.
_OF_AGNO = ("strict", "requires_confirmation", "external_execution", "approval_type")


class MemoryBlockTools(Toolkit):
    """Tools for reading and proposing edits to student memory blocks.

    Memory blocks contain persistent information about the student that helps personalize tutoring. Agents can read
    blocks and propose edits, but edits require user approval before being applied.

    Every tool returns a string and raises nothing: what goes wrong is a text that begins with "Error".

    Args:
        client: an `Assent`, which serves `agent.run` and `agent.arun`; an `AsyncAssent` serves `arun` only, and no
            `more_tools`.
        user_id: whose memory. None: the `user_id` of each run.
        agent_id: names this agent in the log. The proposals name the agent of the token.
        more_tools: names of further tools to offer, such as "propose_memory_append" or "memory_search"; asked of the
            server once, now.
        kwargs: as for every Agno toolkit (`include_tools`, `instructions`, …).
    """

    def __init__(
        self,
        client: Assent | AsyncAssent,
        user_id: str | None = None,
        agent_id: str = "ralph",
        *,
        more_tools: Sequence[str] = (),
        **kwargs: Any,
    ) -> None:
        if not isinstance(client, (Assent, AsyncAssent)):
            raise TypeError(f"MemoryBlockTools needs an Assent or an AsyncAssent, not {type(client).__name__}")
        self.client = client
        self._toolset = Toolset(client)
        self.user_id = user_id
        self.agent_id = agent_id
        tools: list[Callable[..., Any]] = [self.list_memory_blocks, self.read_memory_block, self.propose_memory_edit]
        super().__init__(name="memory_block_tools", tools=tools, **kwargs)
        if isinstance(client, Assent):
            for tool in tools:
                self.register(self._blocking(tool))
        for definition in self._toolset.definitions(more_tools) if more_tools else ():
            self._offer(definition)

    async def list_memory_blocks(self, run_context: RunContext | None = None) -> str:
        """
        List all available memory blocks for the current student.

        Returns:
            A formatted list of memory blocks with their labels and titles,
            or a message if no blocks exist.
        """
        return await self._call("list_memory_blocks", {}, run_context)

    async def read_memory_block(self, block_label: str, run_context: RunContext | None = None) -> str:
        """
        Read the current content of a memory block.

        Use this before proposing edits to see the exact current content.

        Args:
            block_label: The label/identifier of the block to read (e.g., "student", "goals")

        Returns:
            The block's current content, or an error message if not found.
        """
        return await self._call("read_memory_block", {"block_label": block_label}, run_context)

    async def propose_memory_edit(
        self,
        block_label: str,
        old_string: str,
        new_string: str,
        reasoning: str,
        replace_all: bool = False,
        run_context: RunContext | None = None,
    ) -> str:
        """
        Propose an edit to a memory block using string replacement.

        The edit will be submitted as a proposal that requires user approval.
        The old_string must match exactly (including whitespace) and must be
        unique in the block unless replace_all is True.

        IMPORTANT: You must read the memory block first to see its exact content.
        The edit will FAIL if old_string is not found or is not unique.

        Args:
            block_label: The label of the block to edit (e.g., "student", "goals")
            old_string: The exact text to find and replace. Must be unique unless replace_all=True.
            new_string: The text to replace it with. Must be different from old_string.
            reasoning: Brief explanation of why this edit is needed (shown to user for approval).
            replace_all: If True, replace all occurrences. If False (default), old_string must be unique.

        Returns:
            Success message if proposal created, or error message explaining what went wrong.
        """
        arguments = {
            "block_label": block_label,
            "old_string": old_string,
            "new_string": new_string,
            "reasoning": reasoning,
            "replace_all": replace_all,
        }
        return await self._call("propose_memory_edit", arguments, run_context)

    async def _call(self, name: str, arguments: dict[str, Any], run_context: RunContext | None) -> str:
        outcome = await self._toolset.run_async(name, arguments, **self._about(run_context))
        return self._told(name, outcome)

    def _call_blocking(self, name: str, arguments: dict[str, Any], run_context: RunContext | None) -> str:
        return self._told(name, self._toolset.run(name, arguments, **self._about(run_context)))

    def _about(self, run_context: RunContext | None) -> dict[str, Any]:
        """Return whose memory a call is about, and in which conversation."""
        user = self.user_id or (run_context.user_id if run_context else None)
        return {"user": user, "session_id": run_context.session_id if run_context else None}

    def _told(self, name: str, outcome: Outcome) -> str:
        if outcome.is_ours:  # not what the agent asked for, but the way there or the server
            log.error(
                "%s_error", name, extra={"user_id": self.user_id, "agent_id": self.agent_id, "code": outcome.code}
            )
        if outcome.is_unreached and name in _FAILING:
            return f"{_FAILING[name]}: {outcome.text.removeprefix('Error: ')}"
        return outcome.text

    def _blocking(self, tool: Callable[..., Any]) -> Callable[..., str]:
        """Return the same tool for `agent.run`, which finds no coroutine."""
        signature = inspect.signature(tool)

        @functools.wraps(tool)
        def call(*args: Any, **kwargs: Any) -> str:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            run_context = bound.arguments.pop("run_context")
            return self._call_blocking(tool.__name__, bound.arguments, run_context)

        return call

    def _offer(self, definition: Definition) -> None:
        """Add a tool as the server describes it."""

        def call(run_context: RunContext | None = None, **arguments: Any) -> str:
            return self._call_blocking(definition.name, arguments, run_context)

        async def acall(run_context: RunContext | None = None, **arguments: Any) -> str:
            return await self._call(definition.name, arguments, run_context)

        for functions, entrypoint in ((self.functions, call), (self.async_functions, acall)):
            functions[definition.name] = Function(
                name=definition.name,
                description=definition.description,
                parameters=definition.parameters,
                entrypoint=entrypoint,
                skip_entrypoint_processing=True,
            )


T = TypeVar("T", bound=Toolkit)


def strip_agno_fields(toolkit: T) -> T:
    """Return the toolkit, its tools without the fields that only Agno reads.

    Agno sends them to the model's provider with each tool, and some providers refuse the request because of them:
    Mistral, also behind OpenRouter. A tool that needs confirmation loses it.
    """
    for function in (*toolkit.functions.values(), *toolkit.async_functions.values()):
        for field in _OF_AGNO:
            setattr(function, field, None)
    return toolkit
