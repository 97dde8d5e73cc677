"""`memory mcp`: the options of the bridge, and the streams it is between."""

from __future__ import annotations

import logging
import os
import sys

import click

from assent_client.cli.options import CliContext, owner_option, pass_session, server_of


@click.command(
    epilog="""\b
In the configuration of a client:
  {"mcpServers": {"assent": {
    "command": "memory", "args": ["mcp"],
    "env": {"MEMORY_URL": "https://memory.example", "MEMORY_TOKEN": "asn_…"}}}}
""",
)
@click.option("--read-only", is_flag=True, help="Offer only tools that change nothing.")
@click.option("--tools", metavar="NAMES", help="Offer only these comma-separated tools.")
@click.option("--toolset", metavar="NAMES", help="Offer only these comma-separated sets of tools, such as blocks.")
@owner_option()
@pass_session
def mcp(session: CliContext, read_only: bool, tools: str | None, toolset: str | None) -> None:
    """Serve MCP on standard input and output, as a bridge to a server.

    It reads and writes lines of JSON, and ends with its input. MEMORY_URL and MEMORY_TOKEN say which server.
    """
    found = server_of(os.environ)
    if found is None:
        raise click.UsageError("Set MEMORY_URL and MEMORY_TOKEN: the bridge passes messages on to a running server.")
    # Only here: the HTTP client takes longer to import than all the rest of the command.
    from assent_client.cli.bridge import Bridge

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="memory mcp: %(message)s")
    chosen = {"user": session.owner, "tools": tools, "toolset": toolset, "readonly": "1" if read_only else None}
    query = {name: value for name, value in chosen.items() if value}
    # What is printed by mistake must not come between the messages.
    sink, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        Bridge(*found, source=sys.stdin.buffer, sink=sink, query=query).run()
    except KeyboardInterrupt:
        sys.exit(130)
