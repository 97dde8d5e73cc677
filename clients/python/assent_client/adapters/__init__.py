"""The tools of Assent in the shape of agent frameworks, each for the package it is named after.

`agno`, `anthropic`, `langchain` and `openai_agents` need that package, an extra of this distribution:
`pip install './clients/python[agno]'`. Not here: what a tool does and says, which is the server's business (`toolset`).

The classes can be imported from here too (`from assent_client.adapters import MemoryBlockTools`); each module, and with
it the framework's package, is imported when its class is first asked for. `memory_tools` is in two modules: there only.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from assent_client.adapters.agno import MemoryBlockTools, strip_agno_fields
    from assent_client.adapters.anthropic import AssentMemoryTool, AsyncAssentMemoryTool

_WHERE = {
    "MemoryBlockTools": "agno",
    "strip_agno_fields": "agno",
    "AssentMemoryTool": "anthropic",
    "AsyncAssentMemoryTool": "anthropic",
}

__all__ = ["AssentMemoryTool", "AsyncAssentMemoryTool", "MemoryBlockTools", "strip_agno_fields"]


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_WHERE[name]}"), name)


def missing(extra: str, error: ModuleNotFoundError) -> ModuleNotFoundError:
    """Return the error of an adapter whose package is not there, with what installs it."""
    return ModuleNotFoundError(
        f"{error.msg}: in a copy of Assent's source, `pip install './clients/python[{extra}]'` installs it.",
        name=error.name,
    )
