"""What the subcommands have in common: whose memory, where it is, and the options several of them take."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import entry_points
from typing import Any

import click

from assent_client.cli.memories import Memories
from assent_client.cli.output import print_aside
from assent_client.text.memories_md import TYPES

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

        return RemoteMemories(*server, self.owner, tell=print_aside)


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


type_option = click.option("-t", "--type", "type_", type=click.Choice(TYPES), help="Only memories of this type.")
tags_option = click.option(
    "--tags",
    type=CommaSeparated(),
    default=(),
    metavar="TAGS",
    help="Only those with one of these comma-separated tags.",
)
