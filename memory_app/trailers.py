"""What a commit on main says of itself: the trailers its message ends in (`commits` writes them).

Reading alone, so that whoever only reads the memory can ask too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_TRAILER = re.compile(r"([A-Z][A-Za-z-]*): (.*)")


@dataclass(frozen=True)
class Trailers:
    """What the last paragraph of a commit message says, and the free text between it and the subject."""

    values: dict[str, str] = field(default_factory=dict)
    targets: tuple[tuple[str, str], ...] = ()
    comment: str = ""

    @classmethod
    def of(cls, message: str) -> Trailers:
        values: dict[str, str] = {}
        targets: list[tuple[str, str]] = []
        rest, _, last = message.rstrip("\n").rpartition("\n\n")
        for line in last.splitlines():
            match = _TRAILER.fullmatch(line)
            if not match:
                return cls()  # not a trailer paragraph
            name, value = match.groups()
            if name == "Target":
                kind, _, target = value.partition("/")
                targets.append((kind, target))
            else:
                values[name] = value
        return cls(values, tuple(targets), rest.partition("\n\n")[2].strip())
