"""What the tools do, one module per subject. Importing this package fills the registry, in the order
in which an agent meets them."""

from agent_tools.tools import (  # noqa: I001 - the order of the list of tools
    reading,
    proposing,
    proposals,
    searching,
    notes,
    recalling,
    context,
    conversations,
    files,
)

__all__ = [
    "context",
    "conversations",
    "files",
    "notes",
    "proposals",
    "proposing",
    "reading",
    "recalling",
    "searching",
]
