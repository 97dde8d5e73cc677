"""What the query of the address chooses: `/mcp?user=alice&readonly=1&toolset=blocks`.

The person who connects a client writes it, once; a model sees nothing of it. So a mistake is refused with each request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry, toolsets
from agent_tools.calls.arguments import Arguments, invalid, parse
from agent_tools.calls.json_values import check_texts

_CALLED = "this address"
_SWITCHES = {"1": True, "true": True, "0": False, "false": False}


class AddressQuery(Arguments):
    user: Annotated[str | None, Field(description="Whose memory all calls are about.", min_length=1)] = None
    readonly: Annotated[bool, Field(description="Only tools that change nothing.")] = False
    structured: Annotated[bool, Field(description="Results also as structuredContent.")] = False
    data: Annotated[bool, Field(description="Results also as data, in _meta.")] = False
    tools: toolsets.ByName = Field(default_factory=list)
    toolset: toolsets.BySet = Field(default_factory=list)


@dataclass(frozen=True)
class AddressChoices:
    """What is chosen.

    Args:
        user: whose memory, or None where the token or the call says.
        session_id: of calls that name none.
        chosen: names of the tools to list; None where the token says.
    """

    user: str | None = None
    session_id: str = ""
    is_read_only: bool = False
    is_structured: bool = False
    has_data: bool = False
    chosen: frozenset[str] | None = None

    def runs(self, tool: registry.Tool[Any]) -> bool:
        """Whether the address lets a tool run, whatever the token may do."""
        return not self.is_read_only or tool.effect is registry.Effect.READ_ONLY


def read(query: Mapping[str, Sequence[str]]) -> AddressChoices:
    """Return what a query chooses. Raise ApiError (invalid_arguments, forbidden_character) for what it cannot."""
    if not query:
        return AddressChoices()
    given: dict[str, Any] = {}
    for name, values in query.items():
        if name in ("tools", "toolset"):
            given[name] = list(values)
        elif len(values) > 1:
            raise invalid({name[:200]: "is given more than once"}, called=_CALLED)
        else:
            is_switch = name in ("readonly", "structured", "data")
            given[name] = _SWITCHES.get(values[0], values[0]) if is_switch else values[0]
    check_texts(given)
    asked = parse(AddressQuery, given, called=_CALLED)
    return AddressChoices(
        user=asked.user,
        session_id=asked.session_id,
        is_read_only=asked.readonly,
        is_structured=asked.structured,
        has_data=asked.data,
        chosen=toolsets.choose(asked.tools, asked.toolset, called=_CALLED),
    )
