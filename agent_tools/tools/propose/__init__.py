"""Proposing changes of memory blocks; importing this package registers the tools, in the order agents meet them.

Belongs here: the tools that change a block that exists, and the endpoint that takes a whole body or a list of edits.
What they have in common is in `arguments` and `proposing`. What the edits are is `memory_app.text.edits`.
"""

from agent_tools.tools.propose import (  # noqa: I001 - the order of the list of tools
    replacing,
    adding,
    sections,
    rewriting,
)

__all__ = ["adding", "replacing", "rewriting", "sections"]
