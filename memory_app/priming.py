"""Choosing the memories that go into an agent's context: newest and most used first, within a budget of tokens.

Pure: notes, recalls and a time in, text and receipt out.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from memory_app import memories_md
from memory_app.memories_md import Memory

Format = Literal["markdown", "json"]
Why = Literal["superseded", "type", "tags", "recent", "budget"]

#: Bytes of UTF-8 that count as one token. English has 4 to 5 in the tokenisers in use, so this counts a little
#: too many; other scripts have fewer characters to a token but more bytes to a character, which evens out.
BYTES_PER_TOKEN = 4

#: Twice as many recalls count as much as being this much newer.
_WORTH_OF_DOUBLING = timedelta(days=7)


@dataclass(frozen=True)
class Candidate:
    """A note that may be primed.

    Args:
        recalled: how often agents recalled it.
        is_superseded: such ones are always left out.
    """

    id: str
    type: str
    content: str
    tags: tuple[str, ...]
    created_at: datetime
    recalled: int = 0
    is_superseded: bool = False

    @property
    def memory(self) -> Memory:
        return Memory(self.id, self.type, self.content, self.tags, self.created_at.date())


@dataclass(frozen=True)
class Filters:
    """Which notes match: empty and 0 stand for any. `recent` in days; `tags` joined by OR."""

    types: Sequence[str] = ()
    tags: Sequence[str] = ()
    recent: int = 0


@dataclass(frozen=True)
class Primed:
    """The text, and the receipt for it.

    Args:
        text: a memories.md of the sections there is something in (empty without memories), or a JSON list.
        included: ids, the most valuable first.
        left_out: id and why, in the same order; those that do not match included.
        tokens: of the text, estimated (`tokens_of`).
    """

    text: str
    included: tuple[str, ...]
    left_out: tuple[tuple[str, Why], ...]
    tokens: int
    budget: int

    @property
    def is_over_budget(self) -> bool:
        """True when the one memory that is always included is larger than the budget."""
        return 0 < self.budget < self.tokens


def tokens_of(text: str) -> int:
    """About how many tokens a text has: one for four bytes of UTF-8, rounded up."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def prime(
    candidates: Sequence[Candidate], *, budget: int, filters: Filters, now: datetime, format: Format = "markdown"
) -> Primed:
    """Take the most valuable notes that match and fit.

    A note that does not fit is left out whole, and smaller ones after it may still fit. One matching note is
    included even over the budget.

    Args:
        budget: tokens; 0 for no limit.
    """
    included: list[Candidate] = []
    left_out: list[tuple[str, Why]] = []
    size = _Size(format)
    for candidate in sorted(candidates, key=_worth, reverse=True):
        why = _no_match(candidate, filters, now)
        if why is None and budget and included and size.with_(candidate) > budget * BYTES_PER_TOKEN:
            why = "budget"
        if why is not None:
            left_out.append((candidate.id, why))
            continue
        size.add(candidate)
        included.append(candidate)
    text = _written(included, format)
    return Primed(text, tuple(each.id for each in included), tuple(left_out), tokens_of(text), budget)


def _worth(candidate: Candidate) -> tuple[float, str]:
    bonus = _WORTH_OF_DOUBLING.total_seconds() * math.log2(1 + candidate.recalled)
    return candidate.created_at.timestamp() + bonus, candidate.id


def _no_match(candidate: Candidate, filters: Filters, now: datetime) -> Why | None:
    if candidate.is_superseded:
        return "superseded"
    if filters.types and candidate.type not in filters.types:
        return "type"
    if filters.tags and not set(filters.tags) & set(candidate.tags):
        return "tags"
    if filters.recent and candidate.created_at < now - timedelta(days=filters.recent):
        return "recent"
    return None


def _written(included: Sequence[Candidate], format: Format) -> str:
    if format == "markdown":
        return memories_md.write((each.memory for each in included), empty_sections=False) if included else ""
    return json.dumps([_item(each) for each in included], ensure_ascii=False)


def _item(candidate: Candidate) -> dict[str, object]:
    return {
        "id": candidate.id,
        "type": candidate.type,
        "content": candidate.content,
        "tags": list(candidate.tags),
        "created": candidate.created_at.date().isoformat(),
    }


#: What is around the memories.
_NOTHING: dict[Format, str] = {"markdown": memories_md.write((), empty_sections=False), "json": "[]"}


class _Size:
    """Bytes of the text so far, so that it need not be written anew for each note."""

    def __init__(self, format: Format) -> None:
        self._format = format
        self._types: set[str] = set()
        self._bytes = len(_NOTHING[format])

    def with_(self, candidate: Candidate) -> int:
        return self._bytes + self._cost(candidate)

    def add(self, candidate: Candidate) -> None:
        self._bytes += self._cost(candidate)
        self._types.add(candidate.type)

    def _cost(self, candidate: Candidate) -> int:
        if self._format == "json":
            separator = 2 if self._types else 0
            return separator + len(json.dumps(_item(candidate), ensure_ascii=False).encode())
        cost = len(memories_md.write_block(candidate.memory).encode()) + 1
        if candidate.type not in self._types:
            cost += len(f"## {memories_md.SECTIONS[candidate.type]}\n".encode()) + 1
        return cost
