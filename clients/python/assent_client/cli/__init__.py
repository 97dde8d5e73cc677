"""The `memory` command: an owner's notes from a terminal.

Belongs here: the subcommands, what they print, and reaching the memory of a server (`remote`). Not here: the memory of
an installation itself, which the installation brings (`agent_tools.cli.local`) and the command finds by an entry point.
"""

from __future__ import annotations

from assent_client.cli.commands import main

__all__ = ["main"]
