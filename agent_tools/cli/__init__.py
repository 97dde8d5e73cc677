"""The `memory` command: an owner's notes from a terminal.

Belongs here: the subcommands, what they print, and reaching the memory of a server (`remote`) or of this
installation (`local`). Not here: the memories.md format (`memory_app.text.memories_md`).

Only `local` imports Django, when it is used: the command is also used where only a server's address is known.
"""

from __future__ import annotations

from agent_tools.cli.commands import main

__all__ = ["main"]
