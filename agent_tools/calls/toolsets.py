"""Which tools a list has: sets of them by name, and what an address, a token, or neither chooses.

A model reads its list with each request, so it is short unless somebody asks for more. Every tool runs by its name,
whatever a list has. Not here: what a definition says (`registry`).
"""

import difflib
import tomllib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

from django.conf import settings
from pydantic import Field

from agent_tools.calls import registry
from agent_tools.calls.arguments import invalid
from agent_tools.models import AgentToken

#: What a list has where nobody chooses.
CORE = "core"

_SETS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
ALL = "all"

NAMES = (*_SETS, ALL)

#: Arguments of an address that chooses.
ByName = Annotated[list[str], Field(description="Only these tools, or these beside the sets.", max_length=200)]
BySet = Annotated[
    list[str], Field(description=f"Only the tools of these sets: {', '.join(_SETS)} or {ALL}.", max_length=50)
]
#: All but files: what lists had by default before there were sets.
_FORMER = "memory"


def tools_of(name: str) -> frozenset[str]:
    """Return the names of the tools in a set."""
    if name in _SETS:
        return frozenset(_SETS[name].split())
    return frozenset(registry.TOOLS) - (registry.FILE_TOOLS if name == _FORMER else frozenset())


def choose(tools: Sequence[str], sets: Sequence[str], *, called: str) -> frozenset[str] | None:
    """Return the names of the tools that are named, one by one or by sets; None where nothing is.

    Args:
        tools, sets: names, each also several with commas between them.
        called: what a refusal calls the place where they stand.

    Raises:
        ApiError: `invalid_arguments` with the nearest name for one that is not known.
    """
    one_by_one, by_set = _names_in(tools), _names_in(sets)
    _check("tools", one_by_one, list(registry.TOOLS), called)
    _check("toolset", [name for name in by_set if name != _FORMER], NAMES, called)
    return frozenset(one_by_one).union(*map(tools_of, by_set)) if one_by_one or by_set else None


def offered(token: AgentToken, chosen: frozenset[str] | None = None) -> Sequence[registry.Tool[Any]]:
    """Return the tools in the list of a token's agent, in the order agents meet them.

    One that the token has no scope for is left out: it would only teach a model to fail.

    Args:
        chosen: what the address chooses; otherwise the token says, and `CORE` where it does not.
    """
    return _offered(token.toolset or CORE if chosen is None else chosen, tuple(token.scopes), settings.MEMORIES_ENABLED)


@lru_cache(maxsize=256)  # asked for with each call
def _offered(chosen: frozenset[str] | str, scopes: tuple[str, ...], has_notes: bool) -> Sequence[registry.Tool[Any]]:
    names = frozenset[str]().union(*map(tools_of, _names_in([chosen]))) if isinstance(chosen, str) else chosen
    there = [tool for tool in registry.switched_on() if tool.name in names]
    return tuple(tool for tool in there if not {scope.value for scope in tool.scopes}.isdisjoint(scopes))


#: Sets by what they are for.
_FAMILIES = ("notes", "blocks", "conversations", "proposals", "files")


@contextmanager
def naming(offered: Sequence[registry.Tool[Any]], *, called: str = "") -> Iterator[None]:
    """Let the answer to a call name the tools in the caller's list; who calls another by its name knows its family."""
    names = frozenset([tool.name for tool in offered])
    if called not in names:
        names = names.union(next((tools_of(family) for family in _FAMILIES if called in tools_of(family)), ()))
    before = registry.LISTED.set(names)
    try:
        yield
    finally:
        registry.LISTED.reset(before)


def _names_in(values: Sequence[str]) -> list[str]:
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _check(field: str, named: list[str], known: Collection[str], called: str) -> None:
    for name in named:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            meant = f" (did you mean {near[0]}?)" if near else ""
            there = "" if near and field == "tools" else f"; there are {', '.join(known)}"
            raise invalid({field: f"names {name[:100]!r}, which is not known here{meant}{there}"}, called=called)
