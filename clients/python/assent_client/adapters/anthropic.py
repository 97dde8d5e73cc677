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
from typing import Any

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types import beta
except ModuleNotFoundError as error:
    from assent_client.adapters import missing

    raise missing("anthropic", error) from error

from assent_client import Assent, AsyncAssent
from assent_client.adapters import memory_files
from assent_client.adapters.memory_files import CommandRefused, Step, Steps, refusal
from assent_client.errors import APIStatusError, AssentError
from assent_client.exchange import at_once

__all__ = ["AssentMemoryTool", "AsyncAssentMemoryTool"]

log = logging.getLogger(__name__)

_COMMANDS = ("view", "create", "str_replace", "insert", "delete", "rename")


class _Commands:
    """What both tools are: each command's steps, which `_run` carries out, at once or as an awaitable."""

    _wanted: type
    _run: Callable[[Steps], Any]

    def __init__(
        self,
        client: Assent | AsyncAssent,
        *,
        user: str | None = None,
        reasoning: str = "",
        session_id: str = "",
        cache_control: beta.BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        if not isinstance(client, self._wanted):
            wanted, given = self._wanted.__name__, type(client).__name__
            raise TypeError(f"{type(self).__name__} needs an {wanted}, not {given}")
        self._client: Any = client.for_user(user) if user else client
        said = {"reasoning": reasoning, "session_id": session_id}
        self._provenance = {name: value for name, value in said.items() if value}
        self._told: set[str] = set()

    async def _done(self, steps: Steps) -> str:
        """Return what the steps come to, each call made with the client, of either kind."""

        def call(step: Step) -> Any:
            return self._client.tools.call(step.tool, **step.arguments)

        try:
            return await memory_files.done(steps, call, self._told)
        except (CommandRefused, AssentError) as error:
            raise told(error) from error

    def execute(self, command: Any) -> Any:
        name = getattr(command, "command", None)
        if name not in _COMMANDS:  # the package would show its own exception
            raise ToolError(f"Unknown command: {name}. There are: {', '.join(_COMMANDS)}.")
        return super().execute(command)  # type: ignore[misc]

    def view(self, command: beta.BetaMemoryTool20250818ViewCommand) -> Any:
        return self._run(memory_files.view(command.path, command.view_range))

    def create(self, command: beta.BetaMemoryTool20250818CreateCommand) -> Any:
        return self._run(memory_files.create(command.path, command.file_text, self._provenance))

    def str_replace(self, command: beta.BetaMemoryTool20250818StrReplaceCommand) -> Any:
        return self._run(memory_files.str_replace(command.path, command.old_str, command.new_str, self._provenance))

    def insert(self, command: beta.BetaMemoryTool20250818InsertCommand) -> Any:
        return self._run(memory_files.insert(command.path, command.insert_line, command.insert_text, self._provenance))

    def delete(self, command: beta.BetaMemoryTool20250818DeleteCommand) -> Any:
        return self._run(memory_files.delete(command.path, self._provenance))

    def rename(self, command: beta.BetaMemoryTool20250818RenameCommand) -> Any:
        return self._run(memory_files.rename(command.old_path, command.new_path, self._provenance))

    def clear_all_memory(self) -> Any:
        raise ToolError("Memory is not cleared by agents: the person does that.")


class AssentMemoryTool(_Commands, BetaAbstractMemoryTool):
    """The memory tool of one person's memory.

    Args:
        client: an `Assent`, with a token that reads and proposes.
        user: whose memory; may be left out where the token serves one person.
        reasoning: shown to the person who decides about a write; by default the path says what it is about.
        session_id: the conversation that the writes belong to.
        cache_control: as for every tool of the Anthropic package.

    Refusals reach the model as errors whose text says what would work.
    """

    _wanted = Assent

    def _run(self, steps: Steps) -> str:
        return at_once(self._done(steps))  # an Assent's answers are there already


class AsyncAssentMemoryTool(_Commands, BetaAsyncAbstractMemoryTool):
    """The same for asyncio: `client` is an `AsyncAssent`."""

    _wanted = AsyncAssent

    async def _run(self, steps: Steps) -> str:
        return await self._done(steps)


def told(error: CommandRefused | AssentError) -> ToolError:
    """Return what the model reads."""
    if isinstance(error, CommandRefused):
        return ToolError(str(error))
    if isinstance(error, APIStatusError) and error.code:
        return ToolError(refusal(error))
    # Nothing answered, or something that is not Assent, such as a proxy. What it says is for the log.
    log.warning("the memory did not answer: %s", error)
    return ToolError("The memory cannot be reached at the moment. Try again shortly.")
