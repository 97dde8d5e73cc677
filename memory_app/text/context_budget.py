"""Choosing the memories that go into an agent's context: newest and most used first, within a budget of tokens.

Pure: notes in short, recalls and a time in, text and receipt out. The texts of the notes are read a few at a time:
of 20,000 notes some dozens fit, and reading them all took 0.9 s.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from assent_client.text import memories_md
from assent_client.text.memories_md import Memory

Format = Literal["markdown", "json"]
Why = Literal["superseded", "type", "tags", "recent", "double", "budget"]

#: Bytes of UTF-8 that count as one token. English has 4 to 5 in the tokenisers in use, so this counts a little
#: too many; other scripts have fewer characters to a token but more bytes to a character, which evens out.
BYTES_PER_TOKEN = 4

#: Twice as many recalls count as much as being this much newer.
_WORTH_OF_DOUBLING = timedelta(days=7)

#: Notes whose texts are read at once.
_PORTION = 100
#: Bytes around a note's id and text, in either format, at the least.
_LEAST_AROUND = 40


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """A note that may be primed, without its text. Outdated ones are always left out.

    Attributes:
        nbytes: of its text alone, in UTF-8.
        said: what its text says (`alike.said_by`); empty where it is superseded, since it says nothing any more.
    """

    id: str
    created_at: datetime
    type: str
    tags: tuple[str, ...]
    is_superseded: bool
    nbytes: int
    said: str


#: The texts of some notes, by id; without those that are deleted or outdated now.
Read = Callable[[Sequence[str]], Mapping[str, str]]


@dataclass(frozen=True)
class ContextFilters:
    """Which notes match: empty and 0 mean any. `recent` in days; `tags` joined by OR."""

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
        """Whether the one memory that is always included is larger than the budget."""
        return 0 < self.budget < self.tokens


def tokens_of(text: str) -> int:
    """Return about how many tokens a text has: one for four bytes of UTF-8, rounded up."""
    return math.ceil(len(text.encode()) / BYTES_PER_TOKEN)


def worth(id: str, created_at: datetime, recalled: Mapping[str, int]) -> tuple[float, str]:
    """Return the sort key of a note, highest for the most valuable: how new it is and how often it was recalled."""
    bonus = _WORTH_OF_DOUBLING.total_seconds() * math.log2(1 + recalled.get(id, 0))
    return created_at.timestamp() + bonus, id


def prime(
    candidates: Sequence[ContextCandidate],
    *,
    read: Read,
    recalled: Mapping[str, int],
    budget: int,
    filters: ContextFilters,
    now: datetime,
    format: Format = "markdown",
) -> Primed:
    """Take the most valuable notes that match and fit.

    A note that does not fit is left out whole, and smaller ones after it may still fit. One matching note is
    included even over the budget. Of notes that say the same only the first is.

    Args:
        recalled: how often agents recalled a note, by id.
        budget: tokens; 0 for no limit.
    """

    def fits_without_text(candidate: ContextCandidate) -> bool:
        return used + candidate.nbytes + len(candidate.id) + _LEAST_AROUND <= room

    def may_fit(candidate: ContextCandidate) -> bool:
        return _no_match(candidate, filters, now) is None and fits_without_text(candidate)

    ordered = sorted(candidates, key=lambda each: worth(each.id, each.created_at, recalled), reverse=True)
    room = budget * BYTES_PER_TOKEN if budget else math.inf
    included: list[Memory] = []
    left_out: list[tuple[str, Why]] = []
    texts: dict[str, str | None] = {}
    used, types, said = len(_NOTHING[format]), set[str](), set[str]()
    for place, candidate in enumerate(ordered):
        why = _no_match(candidate, filters, now) or ("double" if candidate.said in said else None)
        if why is None and included and not fits_without_text(candidate):
            why = "budget"
        if why is None and candidate.id not in texts:
            wanted = (each.id for each in islice(ordered, place, None) if may_fit(each) or each is candidate)
            texts = dict.fromkeys(islice(wanted, _PORTION))
            texts.update(read(list(texts)))
        if why is None and (text := texts[candidate.id]) is not None:
            memory = Memory(candidate.id, candidate.type, text, candidate.tags, candidate.created_at.date())
            cost = _cost(memory, types, format)
            if not included or used + cost <= room:
                used += cost
                types.add(memory.type)
                said.add(candidate.said)
                included.append(memory)
                continue
            why = "budget"
        left_out.append((candidate.id, why or "superseded"))
    text = _written(included, format)
    return Primed(text, tuple(each.id for each in included), tuple(left_out), tokens_of(text), budget)


def _no_match(candidate: ContextCandidate, filters: ContextFilters, now: datetime) -> Why | None:
    if candidate.is_superseded:
        return "superseded"
    if filters.types and candidate.type not in filters.types:
        return "type"
    if filters.tags and not set(filters.tags) & set(candidate.tags):
        return "tags"
    if filters.recent and candidate.created_at < now - timedelta(days=filters.recent):
        return "recent"
    return None


def _written(included: Sequence[Memory], format: Format) -> str:
    if format == "markdown":
        return memories_md.write(included, empty_sections=False) if included else ""
    return json.dumps([each.as_json() for each in included], ensure_ascii=False)


#: What is around the memories.
_NOTHING: dict[Format, str] = {"markdown": memories_md.write((), empty_sections=False), "json": "[]"}


def _cost(memory: Memory, types: Set[str], format: Format) -> int:
    """Return the bytes that a note adds to a text with notes of these types, which need not be written for it."""
    if format == "json":
        return (2 if types else 0) + len(json.dumps(memory.as_json(), ensure_ascii=False).encode())
    cost = len(memories_md.write_block(memory).encode()) + 1
    if memory.type not in types:
        cost += len(f"## {memories_md.SECTIONS[memory.type]}\n".encode()) + 1
    return cost
