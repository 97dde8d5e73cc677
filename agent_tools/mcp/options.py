"""What the query of the address chooses: `/mcp?user=alice&readonly=1&toolset=blocks`.

The person who connects a client writes it, once; a model sees nothing of it. So a mistake is refused with each request.
"""

from typing import Annotated, Any

from pydantic import Field

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry, toolsets
from agent_tools.calls.arguments import Arguments

#: What a refusal calls it.
CALLED = "this address"


class AddressQuery(Arguments):
    user: Annotated[str | None, Field(description="Whose memory all calls are about.", min_length=1)] = None
    readonly: Annotated[bool, Field(description="Only tools that change nothing.")] = False
    structured: Annotated[bool, Field(description="Results also as structuredContent.")] = False
    data: Annotated[bool, Field(description="Results also as data, in _meta.")] = False
    tools: toolsets.ByName = Field(default_factory=list)
    toolset: toolsets.BySet = Field(default_factory=list)

    @property
    def chosen(self) -> frozenset[str] | None:
        """Return the names of the tools to list; None where the token says. Raise ApiError for an unknown name."""
        return toolsets.choose(self.tools, self.toolset, called=CALLED)

    def runs(self, tool: registry.Tool[Any]) -> bool:
        """Whether the address lets a tool run, whatever the token may do."""
        return not self.readonly or tool.effect is registry.Effect.READ_ONLY
