"""What the subcommands need of a memory, wherever it is, and what can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import click

from assent_client.cli.output import visible
from assent_client.text.memories_md import Memory

PrimeFormat = Literal["markdown", "json"]


class Failed(click.ClickException):
    """The command could not do what was asked: the message on stderr, exit code 1."""

    def format_message(self) -> str:
        # It may quote what somebody else wrote.
        return visible(self.message)


class MemoryNotFound(Failed):
    def __init__(self, id: str) -> None:
        super().__init__(f"Memory not found: {id}")


@dataclass(frozen=True)
class ChangeResult:
    """What came of a change.

    Attributes:
        status: `applied`, `open` while it waits for a person, `withdrawn` when it waited and was deleted, or `known`
            when `id` said it already and nothing was made.
        review_url: where people decide, when it waits.
    """

    id: str
    status: str
    review_url: str = ""

    @property
    def is_applied(self) -> bool:
        return self.status != "open"


@dataclass(frozen=True)
class ImportResult:
    """What came of an import.

    Attributes:
        created, updated, unchanged: how many.
        skipped: line and reason of everything that was left out.
        proposal_id: None where nothing had to be proposed.
    """

    status: str
    created: int
    updated: int
    unchanged: int
    skipped: tuple[tuple[int, str], ...]
    proposal_id: int | None = None
    review_url: str = ""

    @property
    def is_waiting(self) -> bool:
        return self.status == "open"

    def as_json(self) -> dict[str, Any]:
        skipped = [{"line": line, "reason": reason} for line, reason in self.skipped]
        return {name: value for name, value in vars(self).items() if name != "review_url"} | {"skipped": skipped}


class Memories(Protocol):
    """One owner's notes. Every method raises Failed with a sentence for people."""

    def add(self, content: str, *, type: str, tags: Sequence[str]) -> ChangeResult: ...

    def find(self, query: str, *, type: str | None, tags: Sequence[str], limit: int | None) -> list[Memory]:
        """Return the best first with a query, the newest first without.

        Args:
            tags: only those with any of them.
            limit: how many; None for all.
        """
        ...

    def get(self, id: str) -> Memory:
        """Raise MemoryNotFound for an unknown id."""
        ...

    def delete(self, id: str) -> ChangeResult:
        """Raise MemoryNotFound for an unknown id."""
        ...

    def prime(
        self, *, budget: int, types: Sequence[str], tags: Sequence[str], recent: int | None, format: PrimeFormat
    ) -> str:
        """Return the text for an agent's context.

        Args:
            budget: tokens; 0 for no limit.
            recent: only those of the last so many days.
        """
        ...

    def import_file(self, data: bytes, *, items: bool = False) -> ImportResult:
        """Import a memories.md; with `items`, the list items of another file as notes."""
        ...

    def export_file(self, *, portable: bool) -> bytes:
        """Return the memory as a memories.md; `portable`: in the four sections and ids all its readers know."""
        ...
