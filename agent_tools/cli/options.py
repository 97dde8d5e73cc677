"""What the subcommands have in common: whose memory, where it is, and the options several of them take."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click

from agent_tools.cli.memories import Memories
from agent_tools.cli.remote import RemoteMemories
from memory_app.text.memories_md import TYPES

FORMATS = ("table", "json", "markdown", "quiet")


@dataclass
class CliContext:
    """Where this invocation finds the memory; reached only by subcommands that need it."""

    owner: str | None = None

    @cached_property
    def memories(self) -> Memories:
        url = os.environ.get("MEMORY_URL", "").strip()
        if not url:
            # Only here: it starts Django, which a command that speaks to a server has no use for.
            from agent_tools.cli.local import LocalMemories

            return LocalMemories(self.owner)
        token = os.environ.get("MEMORY_TOKEN", "").strip()
        if not token:
            raise click.UsageError("MEMORY_URL is set: set MEMORY_TOKEN to an agent's token for it too.")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise click.UsageError("MEMORY_TOKEN is no token.")
        if not url.startswith(("http://", "https://")):
            raise click.UsageError("MEMORY_URL has to begin with http:// or https://.")
        return RemoteMemories(url, token, self.owner)


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
