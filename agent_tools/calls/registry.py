"""The one list of tools: name, description, arguments, scope, effect, timeout.

REST, the four formats of `GET /api/v1/tools/`, the OpenAPI document and the reference page are made
from it. What a tool does is in `tools/`; running one, with everything around it, in `calls`.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Generic, TypeVar

from django.conf import settings

from agent_tools.auth import grants
from agent_tools.auth.authentication import Caller
from agent_tools.calls import arguments
from agent_tools.calls import arguments as arguments_of  # `tool` has a parameter of that name
from agent_tools.errors import ApiError, ErrorCode
from agent_tools.models import Scope

A = TypeVar("A", bound=arguments.Arguments)


#: Tools and endpoints that are about notes: `MEMORIES_ENABLED` switches them off, and leaves those about blocks.
NOTE_TOOLS = frozenset(
    "memory_search memory_save memory_update memory_delete remember recall forget prime_memories "
    "search note_list note_read import_file export_file".split()
)


class Effect(StrEnum):
    READ_ONLY = "read_only"
    SIDE_EFFECTING = "side_effecting"


@dataclass(frozen=True)
class Call:
    """Who calls, about whom.

    Args:
        owner: username, granted to the token; "" where a tool works on all owners the token serves.
        operation: 32 hexadecimal digits that stay the same when the call is repeated with its
            idempotency key; None for a call without one.
    """

    caller: Caller
    owner: str
    operation: str | None = None

    @property
    def may_read(self) -> bool:
        """Whether the token may read the memory; if not, nothing that depends on its texts is answered."""
        return grants.has_scope(self.caller.token, Scope.MEMORY_READ)

    @property
    def may_read_deleted(self) -> bool:
        """Whether the token may read what people deleted since."""
        return grants.has_scope(self.caller.token, Scope.MEMORY_HISTORY)


@dataclass(frozen=True)
class Answer:
    """A text for the model, and the same as data."""

    text: str
    data: dict[str, Any]

    def payload(self) -> dict[str, Any]:
        """Return the body of a success, as every endpoint sends it."""
        return {"ok": True, "text": self.text, "data": self.data}


@dataclass(frozen=True)
class Tool(Generic[A]):
    """One thing a machine can ask for.

    Args:
        timeout: seconds after which a call is answered with 504 (see `time_limit`).
        returns: the fields of `data` and what they mean.
        failing: begins the text when *we* fail: `Error reading memory block`.
        or_scope: a scope that does instead of `scope`, with what comes of it waiting for a person.
        owner_optional: works without `user_id` also for a token that serves several owners.
        target: name of the argument that names what the call is about, for the audit row.
        if_timed_out: what to do when the time was up, where that is more than with other tools.
    """

    name: str
    description: str
    arguments: type[A]
    scope: Scope
    effect: Effect
    timeout: int
    failing: str
    run: Callable[[Call, A], Answer]
    returns: dict[str, str]
    or_scope: Scope | None = None
    owner_optional: bool = False
    target: str = ""
    if_timed_out: str = ""

    @property
    def scopes(self) -> tuple[Scope, ...]:
        """Those of which a token needs one."""
        return (self.scope, self.or_scope) if self.or_scope else (self.scope,)

    @property
    def is_on(self) -> bool:
        return settings.MEMORIES_ENABLED or self.name not in NOTE_TOOLS

    @property
    def time_limit(self) -> float:
        """`timeout`, or what this installation allows any tool, if that is less."""
        return min(self.timeout, settings.TOOL_TIMEOUT or self.timeout)

    @property
    def schema(self) -> dict[str, Any]:
        return arguments.schema(self.arguments)


TOOLS: dict[str, Tool[Any]] = {}
ENDPOINTS: dict[str, Tool[Any]] = {}


def tool(
    *,
    description: str,
    arguments: type[A],
    scope: Scope,
    effect: Effect,
    failing: str,
    returns: dict[str, str],
    timeout: int = 10,
    or_scope: Scope | None = None,
    owner_optional: bool = False,
    target: str = "",
    if_timed_out: str = "",
    listed: bool = True,
    called: str = "this endpoint",
) -> Callable[[Callable[[Call, A], Answer]], Tool[A]]:
    """Make a function the tool of its name, and register it.

    Args:
        listed: False for an endpoint that runs like a tool but is offered to no model.
        called: what such an endpoint is called in a refusal: `the list of notes`.
    """

    def register(run: Callable[[Call, A], Answer]) -> Tool[A]:
        made = Tool(
            name=run.__name__,
            description=description,
            arguments=arguments,
            scope=scope,
            effect=effect,
            timeout=timeout,
            failing=failing,
            run=run,
            returns=returns,
            or_scope=or_scope,
            owner_optional=owner_optional,
            target=target,
            if_timed_out=if_timed_out,
        )
        (TOOLS if listed else ENDPOINTS)[made.name] = made
        if not listed:
            arguments_of.CALLED[made.name] = called
        return made

    return register


def switched_on() -> list[Tool[Any]]:
    """The tools of this installation."""
    return [tool for tool in TOOLS.values() if tool.is_on]


def require_on(tool: Tool[Any]) -> None:
    """Raise ApiError (`notes_disabled`) for a tool that is switched off."""
    if not tool.is_on:
        raise ApiError(
            ErrorCode.NOTES_DISABLED,
            f"This installation keeps no notes (MEMORIES_ENABLED is off), so {tool.name} is switched off.",
            help=["Memory blocks are there as ever: list_memory_blocks names them."],
        )


def find(name: str) -> Tool[Any]:
    """The tool of this name. Raises ApiError (`unknown_tool`) with the nearest one."""
    if name in TOOLS:
        return TOOLS[name]
    there = [tool.name for tool in switched_on()]
    near = difflib.get_close_matches(name, there, n=1, cutoff=0.5)
    hint = f" Did you mean {near[0]}?" if near else ""
    raise ApiError(
        ErrorCode.UNKNOWN_TOOL,
        f"There is no tool '{name[:100]}'.{hint}",
        help=[f"There are: {', '.join(there)}."],
        details={"nearest": near[0] if near else None, "tools": there},
    )


# -- definitions for models -----------------------------------------------------------------------


def _native(tool: Tool[Any]) -> dict[str, Any]:
    return {
        "name": tool.name,
        "description": tool.description,
        "parameters": tool.schema,
        "scope": tool.scope.value,
        "effect": tool.effect.value,
        "timeout": tool.time_limit,
        "url": f"/api/v1/tools/{tool.name}/",
    }


def _openai(tool: Tool[Any]) -> dict[str, Any]:
    """Chat Completions."""
    return {
        "type": "function",
        "function": {"name": tool.name, "description": tool.description, "parameters": tool.schema},
    }


def _anthropic(tool: Tool[Any]) -> dict[str, Any]:
    return {"name": tool.name, "description": tool.description, "input_schema": tool.schema}


def _mcp(tool: Tool[Any]) -> dict[str, Any]:
    read_only = tool.effect is Effect.READ_ONLY
    return {
        "name": tool.name,
        "description": tool.description,
        "inputSchema": tool.schema,
        # Nothing a tool does destroys: it waits for a person, or is one click from being put back.
        "annotations": {"readOnlyHint": read_only, "destructiveHint": False, "openWorldHint": False},
    }


FORMATS: dict[str, Callable[[Tool[Any]], dict[str, Any]]] = {
    "native": _native,
    "openai": _openai,
    "anthropic": _anthropic,
    "mcp": _mcp,
}
