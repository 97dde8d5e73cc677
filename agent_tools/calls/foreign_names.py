"""What other systems call what our tools do, for the answer to an unknown name.

Models have learnt the names of other memories and of editors. The tables are in foreign_names.toml. Those of tools only
suggest: nothing is run under such a name, since its arguments mean something else there. The order of words does not
count: `list_memory`, `memory_list`.
"""

import re
import tomllib
from collections.abc import Collection
from pathlib import Path

from rapidfuzz import fuzz, process

_NAMES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_OTHERS: dict[str, str] = _NAMES["tools"]
_OTHERWISE: dict[str, str] = _NAMES["otherwise"]


def _by_other_name(table: dict[str, str]) -> dict[str, tuple[str, ...]]:
    return {other: tuple(ours.split()) for ours, others in table.items() for other in others.split()}


#: Other names for an argument, and those of ours that it may be taken for; and names that are only told.
ALIASES, FOREIGN_ARGUMENTS = _by_other_name(_NAMES["aliases"]), _by_other_name(_NAMES["arguments"])

#: Whose names come with the name of their server or namespace before them.
_PREFIX = re.compile(r"^(?:mcp__[a-z0-9-]+?__|mcp_[a-z0-9]+_|functions?[._]|tools?[._]|[a-z0-9-]+[.:/])")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_APART = re.compile(r"[^a-z0-9.:/]+")
#: Per cent of likeness from which a name may be a slip of the pen, and characters of a name that can be one: at 65 %,
#: `greet` was `retract` and `nope` was `open`.
_LIKELY, _LONG_ENOUGH = 80, 6


def nearest(name: str, there: Collection[str]) -> str | None:
    """Return the tool that is likely meant by a name that is none; None where that cannot be said.

    Args:
        there: the tools of this installation, in the order agents meet them.
    """
    asked = _HUMP.sub("_", name[:200]).lower()
    # A prefix is one of somebody's; without it the name may be ours.
    for plain in dict.fromkeys((_plain(asked), _plain(_PREFIX.sub("", asked)))):
        if ours := plain if plain in there else _OURS.get(_in_order(plain)):
            return stand_in(ours, there)
    found = None
    if len(plain) >= _LONG_ENOUGH:
        found = process.extractOne(_in_order(plain), list(_OURS), scorer=fuzz.ratio, score_cutoff=_LIKELY)
    return stand_in(_OURS[found[0]], there) if found else None


def stand_in(ours: str, there: Collection[str]) -> str | None:
    """Return a tool of ours, or the one that comes nearest of those that are there; None where none does."""
    wanted: str | None = ours
    while wanted is not None and wanted not in there:
        wanted = _OTHERWISE.get(wanted)
    return wanted


def _in_order(name: str) -> str:
    return "_".join(sorted(name.split("_")))


def _plain(name: str) -> str:
    return _APART.sub("_", name).strip("_")


#: Our name by each of the others, and by itself.
_OURS = {_in_order(other): ours for ours, others in _OTHERS.items() for other in (*others.split(), ours)}
