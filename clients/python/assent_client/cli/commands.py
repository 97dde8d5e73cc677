"""The subcommands of `memory`: their arguments, and what they say when they are done."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

import click

from assent_client.cli import files, output
from assent_client.cli.mcp import mcp
from assent_client.cli.memories import ChangeResult, Failed, Memories
from assent_client.cli.options import (
    FORMATS,
    CliContext,
    CommaSeparated,
    format_option,
    owner_option,
    pass_session,
    tags_option,
    type_option,
)
from assent_client.text import memories_md
from assent_client.text.memories_md import TYPES, Memory

SEARCH_LIMIT = 10


@click.group(
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="""\b
Examples:
  memory add "uses barrel exports" --type pattern --tags imports,structure
  memory search "authentication"
  memory search --type fix --tags docker
  memory list --last 5
  memory prime --budget 2000
  memory export > memories.md

\b
Where the memory is:
  MEMORY_URL and MEMORY_TOKEN   a server and an agent's token for it
  neither of them               the databases of this installation
  MEMORY_OWNER or --owner       whose memory; a token that serves one owner
                                need not be told

\b
Completion of commands, options and types:
  bash   eval "$(_MEMORY_COMPLETE=bash_source memory)"
  zsh    eval "$(_MEMORY_COMPLETE=zsh_source memory)"
  fish   _MEMORY_COMPLETE=fish_source memory | source
""",
)
@owner_option("MEMORY_OWNER")
def memory() -> None:
    """Short notes that outlive a session: what was learned, decided, fixed."""


@memory.command(
    epilog="""\b
Examples:
  memory add "uses barrel exports" --type pattern --tags imports,structure
  memory add "chose Zod for validation" -t decision --tags validation
  memory add "ECONNREFUSED means start docker" -t fix --tags docker
"""
)
@click.argument("content")
@click.option(
    "-t", "--type", "type_", type=click.Choice(TYPES), default="pattern", show_default=True, help="Memory type."
)
@click.option("--tags", type=CommaSeparated(), default=(), metavar="TAGS", help="Comma-separated tags.")
@format_option("table", "json", "quiet")
@owner_option()
@pass_session
def add(session: CliContext, content: str, type_: str, tags: tuple[str, ...], form: str) -> None:
    """Store a new memory."""
    if not content.strip():
        raise Failed("There is nothing to store: the content is empty.")
    outcome = session.memories.add(content, type=type_, tags=tags)
    match form:
        case "table":
            _say(outcome, "📝 Memory stored:", "📝 Memory proposed:")
        case "json":
            stored = Memory(outcome.id, type_, content, tags, datetime.now(UTC).date())
            output.print_json(output.as_json(stored) | {"status": outcome.status})
        case "quiet":
            output.print_text(outcome.id)


@memory.command(
    epilog="""\b
Examples:
  memory search "authentication"
  memory search --type fix --tags docker
  memory search --format json
"""
)
@click.argument("query", default="")
@type_option
@tags_option
@click.option("--all", "all_", is_flag=True, help=f"Show all results (otherwise the first {SEARCH_LIMIT}).")
@format_option(*FORMATS)
@owner_option()
@pass_session
def search(
    session: CliContext, query: str, type_: str | None, tags: tuple[str, ...], all_: bool, form: output.Format
) -> None:
    """Find memories by words, type or tags."""
    limit = None if all_ else SEARCH_LIMIT
    output.print_memories(session.memories.find(query, type=type_, tags=tags, limit=limit), form)


@memory.command("list")
@type_option
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N memories.")
@format_option(*FORMATS)
@owner_option()
@pass_session
def list_(session: CliContext, type_: str | None, last: int | None, form: output.Format) -> None:
    """List all memories, newest first."""
    output.print_memories(session.memories.find("", type=type_, tags=(), limit=last), form)


@memory.command()
@click.argument("id")
@format_option(*FORMATS)
@owner_option()
@pass_session
def show(session: CliContext, id: str, form: output.Format) -> None:
    """Show a single memory by ID."""
    output.print_memory(session.memories.get(id), form)


@memory.command()
@click.argument("id")
@owner_option()
@pass_session
def delete(session: CliContext, id: str) -> None:
    """Delete a memory by ID."""
    _say(session.memories.delete(id), "🗑️  Memory deleted:", "🗑️  Deletion proposed:")


@memory.command(
    epilog="""\b
Examples:
  memory prime                        all memories as Markdown
  memory prime --budget 2000          as many as fit about 2,000 tokens
  memory prime --type fix,pattern     only fixes and patterns
  memory prime --recent 30            of the last 30 days
"""
)
@click.option(
    "--budget", type=click.IntRange(min=0), default=0, metavar="TOKENS", help="Maximum tokens to include (0: no limit)."
)
@click.option(
    "-t",
    "--type",
    "types",
    type=CommaSeparated(TYPES),
    default=(),
    metavar="TYPES",
    help=f"Only memories of these comma-separated types: {', '.join(TYPES)}.",
)
@tags_option
@click.option(
    "--recent", type=click.IntRange(min=0), metavar="DAYS", help="Only memories from the last N days (0: all)."
)
@format_option("markdown", "json")
@owner_option()
@pass_session
def prime(
    session: CliContext,
    budget: int,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    recent: int | None,
    form: Literal["markdown", "json"],
) -> None:
    """Output memories for context injection."""
    text = session.memories.prime(budget=budget, types=types, tags=tags, recent=recent, format=form)
    output.print_exact((text if text.endswith("\n") else f"{text}\n").encode())


@memory.command()
def skill() -> None:
    """Print what an agent is told about using memories."""
    click.echo(memories_md.SKILL, nl=False)


for command in (files.init, files.import_, files.export, mcp):
    memory.add_command(command)


def main(local: Callable[[str | None], Memories] | None = None) -> None:
    """Run the console script.

    Args:
        local: makes the memory of this installation, where no entry point names it.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without UTF-8 gets escapes instead of a traceback.
            stream.reconfigure(errors="backslashreplace")
    memory(prog_name="memory", obj=CliContext(local=local))


def _say(outcome: ChangeResult, applied: str, waiting: str) -> None:
    output.print_text(f"{applied if outcome.is_applied else waiting} {outcome.id}")
    if not outcome.is_applied:
        output.print_waiting(outcome.review_url)
