"""What the `memory` command needs of this installation: its memory without a server (`local`).

The command itself, and how it reaches a server, is part of the client (clients/python/assent_client/cli). Only `local`
imports Django, when it is used: the command is also used where only a server's address is known.
"""

from assent_client.cli import commands
from assent_client.cli.memories import Memories


def main() -> None:
    """Run the command, with the memory of this installation where no server is named."""
    commands.main(local=_local)


def _local(owner: str | None) -> Memories:
    from agent_tools.cli.local import LocalMemories

    return LocalMemories(owner)
