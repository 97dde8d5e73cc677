"""The subcommands of `memory`: their arguments, and what they say when they are done.

The first of it is what they have in common: whose memory, where it is, and the options several of them take.
"""

from __future__ import annotations

import inspect
import io
import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import click

from assent_client._version import __version__
from assent_client.cli import output
from assent_client.cli.memories import ChangeResult, Failed, Memories, PrimeFormat
from assent_client.text import list_items, memories_md
from assent_client.text.memories_md import TYPES, Memory

FORMATS = ("table", "json", "markdown", "quiet")


#: Entry points by which an installation of the server makes its own memory known to the command.
LOCAL = "assent_client.local_memories"


@dataclass
class CliContext:
    """Where this invocation finds the memory; reached only by subcommands that need it.

    Attributes:
        local: makes the memory of this installation, for an owner; else looked for among the entry points.
    """

    owner: str | None = None
    local: Callable[[str | None], Memories] | None = None

    @cached_property
    def memories(self) -> Memories:
        server = server_of(os.environ)
        if server is None:
            # Only here: it starts Django, which a command that talks to a server has no use for.
            return (self.local or _installed())(self.owner)
        # Only here: the HTTP client takes longer to import than all the rest of the command.
        from assent_client.cli.remote import RemoteMemories

        return RemoteMemories(*server, self.owner, tell=output.print_aside)


def server_of(environ: Mapping[str, str]) -> tuple[str, str] | None:
    """Return the address of the server and the token for it; None where no server is named.

    Raises:
        click.UsageError: one of them is missing, or cannot be one.
    """
    url = environ.get("MEMORY_URL", "").strip()
    if not url:
        return None
    token = environ.get("MEMORY_TOKEN", "").strip()
    if not token:
        raise click.UsageError("MEMORY_URL is set: set MEMORY_TOKEN to an agent's token for it too.")
    if not token.isascii() or not token.isprintable() or " " in token:
        raise click.UsageError("MEMORY_TOKEN is no token.")
    if not url.startswith(("http://", "https://")):
        raise click.UsageError("MEMORY_URL has to begin with http:// or https://.")
    return url, token


def _installed() -> Callable[[str | None], Memories]:
    """Return what makes the memory of the installation this command belongs to."""
    for found in entry_points(group=LOCAL):
        made: Callable[[str | None], Memories] = found.load()
        return made
    raise click.UsageError("Set MEMORY_URL and MEMORY_TOKEN: there is no installation of Assent beside this command.")


pass_session = click.make_pass_decorator(CliContext, ensure=True)


class CommaSeparated(click.ParamType[tuple[str, ...]]):
    """`a, b` as ("a", "b"); with `allowed`, each has to be one of them."""

    name = "list"

    def __init__(self, allowed: tuple[str, ...] = ()) -> None:
        self._allowed = allowed

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, ...]:
        if isinstance(value, tuple):
            return value
        parts = tuple(part.strip() for part in value.split(",") if part.strip())
        for part in parts:
            if self._allowed and part not in self._allowed:
                self.fail(f"{part!r} is not one of {', '.join(self._allowed)}.", param, ctx)
        return parts


def format_option(*forms: str) -> Callable[[Any], Any]:
    return click.option(
        "--format", "form", type=click.Choice(forms), default=forms[0], show_default=True, help="Output format."
    )


def _choose_owner(context: click.Context, param: click.Parameter, owner: str | None) -> None:
    if owner:
        context.ensure_object(CliContext).owner = owner


def owner_option(envvar: str | None = None) -> Callable[[Any], Any]:
    """Return `--owner`, accepted before the subcommand (there with the variable) and after it, where it wins."""
    return click.option(
        "--owner",
        envvar=envvar,
        metavar="NAME",
        help="Whose memory (a username).",
        expose_value=False,
        callback=_choose_owner,
    )


def in_memory(*forms: str) -> Callable[[Any], Any]:
    """Return what gives a subcommand the memory and `--owner`, and `--format` where it has several forms of output."""

    def decorated(command: Any) -> Any:
        command = owner_option()(pass_session(command))
        return format_option(*forms)(command) if forms else command

    return decorated


type_option = click.option("-t", "--type", "type_", type=click.Choice(TYPES), help="Only memories of this type.")
tags_option = click.option(
    "--tags",
    type=CommaSeparated(),
    default=(),
    metavar="TAGS",
    help="Only those with one of these comma-separated tags.",
)


class CommandWithExamples(click.Command):
    """A command whose docstring may end with examples: its help has them last, as they stand."""

    def __init__(self, *, help: str = "", epilog: str = "", **more: Any) -> None:
        said, _, examples = inspect.cleandoc(help).partition("\n\nExamples:\n")
        if examples:
            epilog += f"\n\n\b\nExamples:\n{examples}"
        super().__init__(help=said, epilog=epilog, **more)


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
@click.version_option(__version__, message="%(prog)s %(version)s")
@owner_option("MEMORY_OWNER")
def memory() -> None:
    """Short notes that outlive a session: what was learned, decided, fixed."""


memory.command_class = CommandWithExamples


FILE = Path(".agent/memories.md")


@memory.command()
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(force: bool) -> None:
    """Create .agent/memories.md from the template."""
    if FILE.exists() and not force:
        raise Failed(f"{FILE} exists already; --force overwrites it.")
    _write(FILE, memories_md.TEMPLATE.encode())
    output.print_text(f"Created {FILE}")


@memory.command("import")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default=FILE)
@click.option("--items", is_flag=True, help="Take the list items of another file, as notes tagged with their heading.")
@in_memory("table", "json")
def import_(session: CliContext, file: Path, items: bool, form: str) -> None:
    """Bring the memories of a memories.md into the memory (- reads standard input).

    Memories the memory has already are updated, never doubled. What is malformed is skipped with a warning;
    two headings with one id refuse the file.

    Examples:
      memory import                       .agent/memories.md
      memory import old.md
      memory import MEMORY.md --items
      memory export --owner alice | memory import --owner ben -
    """
    data = _read(file)
    try:
        memories_md.read(data)
    except memories_md.FileTooLarge as error:  # not read to its end, so its size is unknown
        reason = f"the file has more than the {memories_md.LARGEST_FILE:,} bytes a memories.md may have: split it"
        raise Failed(f"{_named(file)} cannot be imported: {reason}.") from error
    except memories_md.Unreadable as error:
        raise Failed(f"{_named(file)} cannot be imported: {error}.") from error
    if sys.stderr.isatty():
        output.print_aside("Importing …")
    came = session.memories.import_file(data, items=items)
    for line, reason in came.skipped:
        output.warn(f"{_named(file)}, line {line}: {reason}.")
    has_none = not (came.created or came.updated or came.unchanged or items)
    found = list_items.find(data.decode()) if has_none else None
    if found and found.memories:
        output.warn(f"{_named(file)} is no memories.md, but has {found.counted}: --items brings them in as notes.")
    elif has_none and not came.skipped:
        output.warn(f"{_named(file)} has no memories: no heading in it is such as “### mem-1737372000-a1b2”.")
    if form == "json":
        output.print_json(came.as_json())
        return
    done = "Proposed" if came.is_waiting else "Imported"
    counted = {"new": came.created, "updated": came.updated, "unchanged": came.unchanged, "skipped": len(came.skipped)}
    counts = ", ".join(f"{count:,} {what}" for what, count in counted.items())
    output.print_text(f"{done}: {counts}.")
    if came.is_waiting:
        output.print_waiting(came.review_url)


@memory.command(epilog=f"With --portable: {memories_md.PORTABLE_EXPLAINED}")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@click.option("--portable", is_flag=True, help="For programs that know only the four first sections, and mem- ids.")
@in_memory()
def export(session: CliContext, file: Path, portable: bool) -> None:
    """Write the memory as a memories.md, to FILE or standard output.

    Examples:
      memory export > memories.md
      memory export --portable .agent/memories.md
    """
    data = session.memories.export_file(portable=portable)
    if portable:
        output.print_aside(memories_md.PORTABLE_EXPLAINED)
    if str(file) == "-":
        output.print_exact(data)
    else:
        _write(file, data)
        output.print_text(f"Written {file}")


def _named(file: Path) -> str:
    return "standard input" if str(file) == "-" else str(file)


def _read(file: Path) -> bytes:
    """Return the bytes of a file; of one that is too large, just enough to be refused."""
    try:
        with click.open_file(str(file), "rb") as stream:
            data: bytes = stream.read(memories_md.LARGEST_FILE + 1)
    except OSError as error:
        raise Failed(f"{_named(file)} cannot be read: {error.strerror}.") from error
    return data


def _write(file: Path, data: bytes) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    except OSError as error:
        raise Failed(f"{file} cannot be written: {error.strerror}.") from error


@memory.command(
    epilog="""\b
In the configuration of a client:
  {"mcpServers": {"assent": {
    "command": "memory", "args": ["mcp"],
    "env": {"MEMORY_URL": "https://memory.example", "MEMORY_TOKEN": "asn_…"}}}}
""",
)
@click.option("--read-only", is_flag=True, help="Offer only tools that change nothing.")
@click.option("--tools", metavar="NAMES", help="Offer only these comma-separated tools.")
@click.option(
    "--toolset", metavar="NAMES", help="Offer only these comma-separated sets of tools: blocks, notes, files, all …"
)
@click.option("--data", is_flag=True, help="Bring the data of each answer, too, in its _meta.")
@in_memory()
def mcp(session: CliContext, read_only: bool, tools: str | None, toolset: str | None, data: bool) -> None:
    """Serve MCP on standard input and output, as a bridge to a server.

    It reads and writes lines of JSON, and ends with its input. MEMORY_URL and MEMORY_TOKEN say which server.
    """
    found = server_of(os.environ)
    if found is None:
        raise click.UsageError("Set MEMORY_URL and MEMORY_TOKEN: the bridge passes messages on to a running server.")
    # Only here: the HTTP client takes longer to import than all the rest of the command.
    from assent_client.cli.bridge import Bridge

    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="memory mcp: %(message)s")
    chosen = {"user": session.owner, "tools": tools, "toolset": toolset}
    chosen |= {"readonly": "1" if read_only else None, "data": "1" if data else None}
    query = {name: value for name, value in chosen.items() if value}
    # What is printed by mistake must not come between the messages.
    sink, sys.stdout = sys.stdout.buffer, sys.stderr
    try:
        Bridge(*found, source=sys.stdin.buffer, sink=sink, query=query).run()
    except KeyboardInterrupt:
        sys.exit(130)


SEARCH_LIMIT = 10


@memory.command()
@click.argument("content")
@click.option(
    "-t", "--type", "type_", type=click.Choice(TYPES), default="pattern", show_default=True, help="Memory type."
)
@click.option("--tags", type=CommaSeparated(), default=(), metavar="TAGS", help="Comma-separated tags.")
@in_memory("table", "json", "quiet")
def add(session: CliContext, content: str, type_: str, tags: tuple[str, ...], form: str) -> None:
    """Store a new memory.

    Examples:
      memory add "uses barrel exports" --type pattern --tags imports,structure
      memory add "chose Zod for validation" -t decision --tags validation
      memory add "ECONNREFUSED means start docker" -t fix --tags docker
    """
    if not content.strip():
        raise Failed("There is nothing to store: the content is empty.")
    outcome = session.memories.add(content, type=type_, tags=tags)
    match form:
        case "table":
            stored = "📝 Known already:" if outcome.status == "known" else "📝 Memory stored:"
            _say(outcome, stored, "📝 Memory proposed:")
        case "json":
            memory = Memory(outcome.id, type_, content, tags, datetime.now(UTC).date())
            output.print_json(memory.as_json() | {"status": outcome.status})
        case "quiet":
            output.print_text(outcome.id)


@memory.command()
@click.argument("query", default="")
@type_option
@tags_option
@click.option("--all", "all_", is_flag=True, help=f"Show all results (otherwise the first {SEARCH_LIMIT}).")
@in_memory(*FORMATS)
def search(
    session: CliContext, query: str, type_: str | None, tags: tuple[str, ...], all_: bool, form: output.Format
) -> None:
    """Find memories by words, type or tags.

    Examples:
      memory search "authentication"
      memory search --type fix --tags docker
      memory search --format json
    """
    limit = None if all_ else SEARCH_LIMIT
    output.print_memories(session.memories.find(query, type=type_, tags=tags, limit=limit), form)


@memory.command("list")
@type_option
@click.option("--last", type=click.IntRange(min=1), metavar="N", help="Show only the last N memories.")
@in_memory(*FORMATS)
def list_(session: CliContext, type_: str | None, last: int | None, form: output.Format) -> None:
    """List all memories, newest first."""
    output.print_memories(session.memories.find("", type=type_, tags=(), limit=last), form)


@memory.command()
@click.argument("id")
@in_memory(*FORMATS)
def show(session: CliContext, id: str, form: output.Format) -> None:
    """Show a single memory by ID."""
    output.print_memory(session.memories.get(id), form)


@memory.command()
@click.argument("id")
@in_memory()
def delete(session: CliContext, id: str) -> None:
    """Delete a memory by ID."""
    _say(session.memories.delete(id), "🗑️  Memory deleted:", "🗑️  Deletion proposed:")


@memory.command()
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
@in_memory("markdown", "json")
def prime(
    session: CliContext,
    budget: int,
    types: tuple[str, ...],
    tags: tuple[str, ...],
    recent: int | None,
    form: PrimeFormat,
) -> None:
    """Output memories for context injection.

    Examples:
      memory prime                        all memories as Markdown
      memory prime --budget 2000          as many as fit about 2,000 tokens
      memory prime --type fix,pattern     only fixes and patterns
      memory prime --recent 30            of the last 30 days
    """
    text = session.memories.prime(budget=budget, types=types, tags=tags, recent=recent, format=form)
    output.print_exact((text if text.endswith("\n") else f"{text}\n").encode())


@memory.command()
def skill() -> None:
    """Print what an agent is told about using memories."""
    click.echo(memories_md.SKILL, nl=False)


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
