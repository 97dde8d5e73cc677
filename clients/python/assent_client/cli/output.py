"""What the command prints: memories as table, JSON, Markdown or ids.

Memory text comes from agents and files. On a terminal it could move the cursor or show words in another order
than they are stored, so there unseen characters are printed by name; what goes into a file or a pipe is exact.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import click

from assent_client.text import invisible, memories_md
from assent_client.text.memories_md import Memory

Format = Literal["table", "json", "markdown", "quiet"]

_SIGNS = {"pattern": "🔄", "decision": "⚖️", "fix": "🔧", "context": "📍"}
_COLUMNS = ("ID", "TYPE", "CREATED", "TAGS", "CONTENT")
# Least width of the content: on a narrow terminal the other columns are left out first, in this order, but for the id.
_LEAST_CONTENT = 20
_SPARED = (_COLUMNS.index("TAGS"), _COLUMNS.index("CREATED"), _COLUMNS.index("TYPE"))
_UNPRINTABLE_IN_JSON = re.compile("[\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]")


def print_memories(memories: Sequence[Memory], form: Format) -> None:
    """Print several memories, in the order given (Markdown has the order of the file)."""
    match form:
        case "table":
            print_text(_table(memories) if memories else "No memories found.")
        case "json":
            print_json([memory.as_json() for memory in memories])
        case "markdown":
            print_exact(memories_md.write(memories).encode())
        case "quiet":
            for memory in memories:
                print_text(memory.id)


def print_memory(memory: Memory, form: Format) -> None:
    """Print one memory, in full."""
    match form:
        case "table":
            print_text(f"{_signed(memory.type)}  {memory.id}")
            print_text(f"Created: {memory.created}")
            if memory.tags:
                print_text(f"Tags:    {', '.join(memory.tags)}")
            print_text(f"\n{memory.content}")
        case "json":
            print_json(memory.as_json())
        case "markdown":
            print_exact(memories_md.write_block(memory).encode())
        case "quiet":
            print_text(memory.id)


def print_json(value: Any) -> None:
    """Print JSON in UTF-8; characters that a terminal would act on are escaped, which changes no value."""
    text = json.dumps(value, ensure_ascii=False, indent=2)
    click.echo(_UNPRINTABLE_IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def print_text(text: str) -> None:
    """Print words for people."""
    click.echo(visible(text))


def print_exact(data: bytes) -> None:
    """Write bytes as they are; on a terminal, with unseen characters by name."""
    if sys.stdout.isatty():
        click.echo(visible(data.decode()), nl=False)
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)


def print_waiting(review_url: str) -> None:
    print_text("The user will be asked to approve this change.")
    if review_url:
        print_text(review_url)


def print_aside(text: str) -> None:
    """Print words for people on stderr, beside the output."""
    click.echo(visible(text), err=True)


def warn(text: str) -> None:
    click.echo(f"Warning: {visible(text)}", err=True)


#: Returns a text with unseen characters by name: `⟨U+001B ESCAPE⟩`.
visible = invisible.plain


def _table(memories: Iterable[Memory]) -> str:
    """Return one line for each memory. On a terminal it fits; a pipe gets whole lines, for grep."""
    # 0.1 s to import, which only tables need.
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    rows = [
        (memory.id, _signed(memory.type), str(memory.created), ", ".join(memory.tags), memory.content)
        for memory in memories
    ]
    shown = [tuple(visible(" ".join(cell.split())) for cell in row) for row in (_COLUMNS, *rows)]
    widths = [max(map(cell_len, column)) for column in zip(*shown, strict=True)]
    kept = list(range(len(_COLUMNS)))
    if sys.stdout.isatty():
        for spared in _SPARED:
            if _room(widths, kept) >= _LEAST_CONTENT:
                break
            kept.remove(spared)
        widths[-1] = min(widths[-1], max(_room(widths, kept), _LEAST_CONTENT))
    table = Table.grid(padding=(0, 2, 0, 0))
    for column in kept:
        table.add_column(width=widths[column], no_wrap=True, overflow="ellipsis")
    for row in shown:
        table.add_row(*(Text(row[column]) for column in kept))
    console = Console(file=io.StringIO(), width=sum(widths) + 2 * len(widths), color_system=None)
    with console.capture() as printed:
        console.print(table)
    return "\n".join(line.rstrip() for line in printed.get().rstrip("\n").split("\n"))


def _signed(type: str) -> str:
    """Return the type with its sign, where it has one."""
    return f"{_SIGNS[type]} {type}" if type in _SIGNS else type


def _room(widths: list[int], kept: list[int]) -> int:
    """Return the columns of the terminal that are left for the content beside the other columns kept."""
    return shutil.get_terminal_size().columns - sum(widths[column] + 2 for column in kept[:-1])
