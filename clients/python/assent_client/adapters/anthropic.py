"""Anthropic's memory tool (`memory_20250818`) over Assent: what Claude writes becomes proposals.

    from anthropic import Anthropic
    from assent_client import Assent
    from assent_client.adapters.anthropic import AssentMemoryTool

    memory = AssentMemoryTool(Assent(), user="alice")
    Anthropic().beta.messages.tool_runner(..., tools=[memory]).until_done()

`AsyncAssentMemoryTool` is the same for `AsyncAnthropic` and `AsyncAssent`. Needs the package `anthropic`
(`pip install './clients/python[anthropic]'`). What the commands do and say is in `memory_files`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from operator import attrgetter
from typing import Any

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ModuleNotFoundError as error:
    from assent_client.adapters import missing

    raise missing("anthropic", error) from error

from assent_client import Assent, AsyncAssent
from assent_client.adapters.memory_files import commands
from assent_client.adapters.memory_files.steps import CommandRefused, Provenance, Step, Steps, refusal, with_decisions
from assent_client.errors import APIStatusError, AssentError

__all__ = ["AssentMemoryTool", "AsyncAssentMemoryTool"]

log = logging.getLogger(__name__)

_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


class AssentMemoryTool(BetaAbstractMemoryTool):
    """The memory tool of one person's memory.

    Args:
        client: with a token that reads and proposes.
        user: whose memory; may be left out where the token serves one person.
        reasoning: shown to the person who decides about a write; by default the path says what it is about.
        session_id: the conversation that the writes belong to.
        cache_control: as for every tool of the Anthropic package.

    Refusals reach the model as errors whose text says what would work.
    """

    def __init__(
        self,
        client: Assent,
        *,
        user: str | None = None,
        reasoning: str = "",
        session_id: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        if not isinstance(client, Assent):
            raise TypeError(f"AssentMemoryTool needs an Assent, not {type(client).__name__}")
        self._client = client.for_user(user) if user else client
        self._provenance = Provenance(reasoning, session_id)
        self._told: set[str] = set()

    def execute(self, command: Any) -> str:
        require_known(command)
        return str(super().execute(command))

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return self._run(commands.view(command.path, command.view_range))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return self._run(commands.create(command.path, command.file_text, self._provenance))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return self._run(commands.str_replace(command.path, command.old_str, command.new_str, self._provenance))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        return self._run(commands.insert(command.path, command.insert_line, command.insert_text, self._provenance))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return self._run(commands.delete(command.path, self._provenance))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return self._run(commands.rename(command.old_path, command.new_path, self._provenance))

    def clear_all_memory(self) -> str:
        raise ToolError("Memory is not cleared by agents: the person does that.")

    def _run(self, steps: Steps) -> str:
        steps = with_decisions(steps, self._told)
        try:
            step = next(steps)
            while True:
                try:
                    answer: Any = _bound(self._client, step)()
                except APIStatusError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return str(done.value)
        except (CommandRefused, AssentError) as error:
            raise told(error) from error


class AsyncAssentMemoryTool(BetaAsyncAbstractMemoryTool):
    """The same for asyncio: `client` is an `AsyncAssent`."""

    def __init__(
        self,
        client: AsyncAssent,
        *,
        user: str | None = None,
        reasoning: str = "",
        session_id: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        if not isinstance(client, AsyncAssent):
            raise TypeError(f"AsyncAssentMemoryTool needs an AsyncAssent, not {type(client).__name__}")
        self._client = client.for_user(user) if user else client
        self._provenance = Provenance(reasoning, session_id)
        self._told: set[str] = set()

    async def execute(self, command: Any) -> str:
        require_known(command)
        return str(await super().execute(command))

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        return await self._run(commands.view(command.path, command.view_range))

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        return await self._run(commands.create(command.path, command.file_text, self._provenance))

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        return await self._run(commands.str_replace(command.path, command.old_str, command.new_str, self._provenance))

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        steps = commands.insert(command.path, command.insert_line, command.insert_text, self._provenance)
        return await self._run(steps)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        return await self._run(commands.delete(command.path, self._provenance))

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        return await self._run(commands.rename(command.old_path, command.new_path, self._provenance))

    async def clear_all_memory(self) -> str:
        raise ToolError("Memory is not cleared by agents: the person does that.")

    async def _run(self, steps: Steps) -> str:
        steps = with_decisions(steps, self._told)
        try:
            step = next(steps)
            while True:
                try:
                    answer: Any = await _bound(self._client, step)()
                except APIStatusError as error:
                    step = steps.throw(error)
                else:
                    step = steps.send(answer)
        except StopIteration as done:
            return str(done.value)
        except (CommandRefused, AssentError) as error:
            raise told(error) from error


def _bound(client: Assent | AsyncAssent, step: Step) -> Callable[[], Any]:
    """Return the call of a step, to be made or awaited."""
    method = attrgetter(f"{step.resource}.{step.method}")(client)
    return lambda: method(*step.arguments, **step.named)


def require_known(command: Any) -> None:
    """Raise ToolError for a command that the memory tool does not have; the package would show its own exception."""
    name = getattr(command, "command", None)
    if name not in _COMMANDS:
        raise ToolError(f"Unknown command: {name}. There are: {', '.join(_COMMANDS)}.")


def told(error: CommandRefused | AssentError) -> ToolError:
    """Return what the model reads."""
    if isinstance(error, CommandRefused):
        return ToolError(str(error))
    if isinstance(error, APIStatusError) and error.code:
        return ToolError(refusal(error))
    # Nothing answered, or something that is not Assent, such as a proxy. What it says is for the log.
    log.warning("the memory did not answer: %s", error)
    return ToolError("The memory cannot be reached at the moment. Try again shortly.")
