"""The subcommands that make, read and write a memories.md."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assent_client.cli import output
from assent_client.cli.memories import Failed
from assent_client.cli.options import CliContext, format_option, owner_option, pass_session
from assent_client.text import memories_md

FILE = Path(".agent/memories.md")


@click.command()
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
def init(force: bool) -> None:
    """Create .agent/memories.md from the template."""
    if FILE.exists() and not force:
        raise Failed(f"{FILE} exists already; --force overwrites it.")
    _write(FILE, memories_md.TEMPLATE.encode())
    output.print_text(f"Created {FILE}")


@click.command(
    "import",
    epilog="""\b
Examples:
  memory import                       .agent/memories.md
  memory import old.md
  memory export --owner alice | memory import --owner ben -
""",
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default=FILE)
@format_option("table", "json")
@owner_option()
@pass_session
def import_(session: CliContext, file: Path, form: str) -> None:
    """Bring the memories of a memories.md into the memory (- reads standard input).

    Memories the memory has already are updated, never doubled. What is malformed is skipped with a warning;
    two headings with one id refuse the file.
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
    came = session.memories.import_file(data)
    for line, reason in came.skipped:
        output.warn(f"{_named(file)}, line {line}: {reason}.")
    if (came.created, came.updated, came.unchanged, came.skipped) == (0, 0, 0, ()):
        output.warn(f"{_named(file)} has no memories: no heading in it is such as “### mem-1737372000-a1b2”.")
    if form == "json":
        output.print_json(came.as_json())
        return
    done = "Proposed" if came.is_waiting else "Imported"
    counted = {"new": came.created, "updated": came.updated, "unchanged": came.unchanged, "skipped": len(came.skipped)}
    counts = ", ".join(f"{count:,} {what}" for what, count in counted.items() if count is not None)
    output.print_text(f"{done}: {counts}.")
    if came.is_waiting:
        output.print_waiting(came.review_url)


@click.command(
    epilog=f"""With --portable: {memories_md.PORTABLE_EXPLAINED}

\b
Examples:
  memory export > memories.md
  memory export --portable .agent/memories.md
"""
)
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, allow_dash=True), default="-")
@click.option("--portable", is_flag=True, help="For programs that know only the four first sections, and mem- ids.")
@owner_option()
@pass_session
def export(session: CliContext, file: Path, portable: bool) -> None:
    """Write the memory as a memories.md, to FILE or standard output."""
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
