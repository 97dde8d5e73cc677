"""What the engines take and return: frozen, plain values, without Django instances or lazy querysets."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

#: The branch that is the memory.
MAIN = "main"
#: The action of the commit that takes the place of a history.
SQUASHED = "squashed"
#: What the names of the branches begin with that keep a history which was squashed; a time follows, the day first.
KEPT = "h/"
#: The branch on which the commit is made that takes the place of a history; a squash that died leaves it.
NEXT = f"{KEPT}next"
#: A branch at the commit on which the history of a moved site is written; there as long as the move is under way.
MOVING = "moving"
#: The name of the first memory database, which every installation has.
FIRST = "memory"

Row = dict[str, Any]


def aware(value: Any) -> datetime:
    """Return a time of a row or of the log: DoltLite gives text, Dolt a naive datetime, both in UTC."""
    at: datetime = datetime.fromisoformat(value) if isinstance(value, str) else value
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at


_NOT_IN_NAMES = re.compile(r"[<>\x00-\x1f\x7f]")
_NOT_IN_ADDRESSES = re.compile(r"[<>\s\x00-\x1f\x7f]+")


@dataclass(frozen=True)
class Author:
    """Who a commit is by. Angle brackets and line breaks would break the `Name <e-mail>` form that
    both engines parse, so they are removed; an e-mail may not be empty."""

    name: str
    email: str

    def __str__(self) -> str:
        name = " ".join(_NOT_IN_NAMES.sub(" ", self.name).split()) or "unknown"
        email = _NOT_IN_ADDRESSES.sub("", self.email) or "unknown@assent.invalid"
        return f"{name} <{email}>"


@dataclass(frozen=True)
class Commit:
    """One entry of the log. `at` is in UTC; DoltLite keeps whole seconds only.

    Args:
        parents: hashes of the commits before; of a merge main's head at that time, then the head that was merged.
    """

    hash: str
    author: str
    email: str
    at: datetime
    message: str
    parents: tuple[str, ...]


#: What a row was at one commit and is at another: None before it was added, and after it was removed.
RowDiff = tuple[Row | None, Row | None]
