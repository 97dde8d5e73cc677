"""What the query of the address chooses: `/mcp?user=alice&readonly=1&toolset=blocks`.

The person who connects a client writes it, once; a model sees nothing of it. So a mistake is refused with each request.
"""

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry
from agent_tools.calls.arguments import Arguments, invalid, parse
from agent_tools.calls.json_values import check_texts

_CALLED = "this address"
_SWITCHES = {"1": True, "true": True, "0": False, "false": False}
#: Which set the tools of a module or folder of `tools` belong to, where it is not called like that.
_SETS = {"read": "blocks", "propose": "blocks", "whole_blocks": "blocks", "memory_files": "files"}


class AddressQuery(Arguments):
    user: Annotated[str | None, Field(description="Whose memory all calls are about.", min_length=1)] = None
    readonly: Annotated[bool, Field(description="Only tools that change nothing.")] = False
    structured: Annotated[bool, Field(description="Results also as structuredContent.")] = False
    tools: Annotated[list[str], Field(description="Only these tools.", max_length=200)] = Field(default_factory=list)
    toolset: Annotated[list[str], Field(description="Only the tools of these sets.", max_length=50)] = Field(
        default_factory=list
    )


@dataclass(frozen=True)
class AddressChoices:
    """What is chosen.

    Args:
        user: whose memory, or None where the token or the call says.
        session_id: of calls that name none.
        chosen: names of tools; None for all.
    """

    user: str | None = None
    session_id: str = ""
    is_read_only: bool = False
    is_structured: bool = False
    chosen: frozenset[str] | None = None

    def offers(self, tool: registry.Tool[Any]) -> bool:
        """Whether the address offers a tool, whatever the token may do."""
        if self.is_read_only and tool.effect is not registry.Effect.READ_ONLY:
            return False
        return self.chosen is None or tool.name in self.chosen


def read(query: Mapping[str, Sequence[str]]) -> AddressChoices:
    """Return what a query chooses. Raise ApiError (invalid_arguments, forbidden_character) for what it cannot."""
    if not query:
        return AddressChoices()
    given: dict[str, Any] = {}
    for name, values in query.items():
        if name in ("tools", "toolset"):
            given[name] = [word.strip() for value in values for word in value.split(",") if word.strip()]
        elif len(values) > 1:
            raise invalid({name[:200]: "is given more than once"}, called=_CALLED)
        else:
            given[name] = _SWITCHES.get(values[0], values[0]) if name in ("readonly", "structured") else values[0]
    check_texts(given)
    asked = parse(AddressQuery, given, called=_CALLED)
    return AddressChoices(
        user=asked.user,
        session_id=asked.session_id,
        is_read_only=asked.readonly,
        is_structured=asked.structured,
        chosen=_chosen(asked) if asked.tools or asked.toolset else None,
    )


def toolsets() -> dict[str, list[str]]:
    """Return the names of the tools in each set."""
    found: dict[str, list[str]] = {}
    for tool in registry.TOOLS.values():
        found.setdefault(_set_of(tool), []).append(tool.name)
    return found


def _set_of(tool: registry.Tool[Any]) -> str:
    module = tool.run.__module__.split(".")[2]
    return "notes" if tool.name in registry.NOTE_TOOLS else _SETS.get(module, module)


def _chosen(asked: AddressQuery) -> frozenset[str]:
    sets = toolsets()
    _check("tools", asked.tools, list(registry.TOOLS))
    _check("toolset", asked.toolset, list(sets))
    return frozenset(asked.tools).union(*(sets[name] for name in asked.toolset))


def _check(field: str, names: list[str], known: list[str]) -> None:
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f" (did you mean {near[0]}?)" if near else f" (there are {', '.join(known)})"
            raise invalid({field: f"names {name[:100]!r}, which is not known here{hint}"}, called=_CALLED)
