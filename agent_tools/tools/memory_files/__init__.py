"""The memory as files: blocks are `/memories/blocks/{label}.md`, notes `/memories/notes/{id}.md`.

For models that have learnt to work on files. Importing this package registers the tools, in the order agents meet them;
lists of tools have them only where they are asked for (`calls.registry`). What a path is, is in `paths`. No file is
written: every change is proposed, or applied as policy and rules say.
"""

from agent_tools.tools.memory_files import (  # noqa: I001 - the order of the list of tools
    viewing,
    changing,
)

__all__ = ["changing", "viewing"]
