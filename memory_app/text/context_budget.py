"""Choosing the memories that go into an agent's context: newest and most used first, within a budget of tokens.

Pure: notes in short, the most valuable first, and a time in, text and receipt out. What a note takes is known without
its text, so those that fit are chosen first, and their texts read at once: of 20,000 notes some dozens fit.
"""

import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from json.encoder import encode_basestring
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

#: Left-out notes that a receipt names; the rest are counted.
MOST_NAMED = 200


#: Where a format has its place in `ContextCandidate.sizes`.
PLACES: dict[Format, int] = {"markdown": 0, "json": 1}


@dataclass(frozen=True, slots=True)
class ContextCandidate:
    """A note that may be primed, without its text. Outdated ones are always left out.

    Attributes:
        sizes: what it takes in each format (`sizes_of`).
        said: what its text says (`alike.said_by`); empty where it is superseded, since it says nothing any more.
    """

    id: str
    created_at: datetime
    type: str
    tags: tuple[str, ...]
    is_superseded: bool
    sizes: tuple[int, int]
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
        left_out: id and why, of the first `MOST_NAMED` in the same order; those that do not match included.
        left_out_count: how many are left out in all; and `over`, how many for the budget.
        tokens: of the text, estimated (`tokens_of`).
    """

    text: str
    included: tuple[str, ...]
    left_out: tuple[tuple[str, Why], ...]
    left_out_count: int
    over: int
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
    return created_at.timestamp() + bonus(recalled.get(id, 0)), id


@lru_cache(maxsize=1_000)
def bonus(recalls: int) -> float:
    """Return by how many seconds newer a note is that was recalled so often, by its worth."""
    return _WORTH_OF_DOUBLING.total_seconds() * math.log2(1 + recalls)


def sizes_of(id: str, type: str, tags: tuple[str, ...], content: str) -> tuple[int, int]:
    """Return the bytes of a note in a memories.md, with the line after it, and in a list of JSON.

    Not measured by writing it: that took four times as long, and each note of an owner is measured when it is read.
    """
    of_tags, as_json = _sizes_of_tags(tags)
    quoted = len(memories_md.quoted(content).encode())
    said = len(encode_basestring(content).encode())
    return of_tags + len(id) + quoted, as_json + len(id) + len(type) + said


@lru_cache(maxsize=10_000)  # few sets of tags are in use
def _sizes_of_tags(tags: tuple[str, ...]) -> tuple[int, int]:
    """Return the bytes of a note without id, type and content."""
    bare = Memory("", "", "", tags, date.min)
    as_json = len(_as_json([bare]).encode()) - len(_as_json([])) - len(encode_basestring(""))
    return len(memories_md.write_block(bare).encode()) - len(memories_md.quoted("")) + len("\n"), as_json


def prime(
    candidates: Callable[[Callable[[], float], Format], Iterable[ContextCandidate]],
    *,
    total: int,
    matching: int,
    saying: Callable[[str], Iterable[ContextCandidate]],
    read: Read,
    budget: int,
    filters: ContextFilters,
    now: datetime,
    format: Format = "markdown",
) -> Primed:
    """Take the most valuable notes that match and fit.

    A note that does not fit is left out whole, and smaller ones after it may still fit. One matching note is
    included even over the budget. Of notes that say the same only the first is.

    Args:
        candidates: returns them, the most valuable first (`worth`). It is given what tells how many bytes one may take
            at that moment, and may pass over those that take more.
        total, matching: how many there are, and how many of them match.
        saying: returns those that say this.
        budget: tokens; 0 for no limit.
    """
    room = budget * BYTES_PER_TOKEN if budget else math.inf
    left_out: list[tuple[str, Why]] = []
    chosen: dict[str, ContextCandidate] = {}
    used, types, said = len(_NOTHING[format]), set[str](), set[str]()

    def left() -> float:
        return room - used if chosen and len(left_out) >= MOST_NAMED else math.inf

    for candidate in candidates(left, format):
        why = no_match(candidate, filters, now) or ("double" if candidate.said in said else None)
        cost = _cost(candidate, types, format)
        if why is None and (not chosen or used + cost <= room):
            used += cost
            types.add(candidate.type)
            said |= {candidate.said} - {""}
            chosen[candidate.id] = candidate
        elif len(left_out) < MOST_NAMED:
            left_out.append((candidate.id, why or "budget"))
    same = (each for text in said for each in saying(text) if each.id not in chosen)
    over = matching - len(chosen) - sum(no_match(each, filters, now) is None for each in same)
    included, gone = _read(chosen.values(), read)
    left_out += [(id_, "superseded") for id_ in gone]
    text = _written(included, format)
    while len(included) > 1 and len(text.encode()) > room:  # one was given a longer text since it was measured
        left_out.append((included.pop().id, "budget"))
        text = _written(included, format)
    ids = tuple(each.id for each in included)
    return Primed(text, ids, tuple(left_out), total - len(ids), max(0, over), tokens_of(text), budget)


def _read(chosen: Collection[ContextCandidate], read: Read) -> tuple[list[Memory], list[str]]:
    """Return the notes with their texts, and the ids of those that are gone by now."""
    texts = read([each.id for each in chosen])
    there = [each for each in chosen if each.id in texts]
    included = [Memory(each.id, each.type, texts[each.id], each.tags, each.created_at.date()) for each in there]
    return included, [each.id for each in chosen if each.id not in texts]


def no_match(candidate: ContextCandidate, filters: ContextFilters, now: datetime) -> Why | None:
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
    return _as_json(included)


def _as_json(included: Sequence[Memory]) -> str:
    return json.dumps([each.as_json() for each in included], ensure_ascii=False)


#: What is around the memories.
_NOTHING: dict[Format, str] = {"markdown": memories_md.write((), empty_sections=False), "json": "[]"}


def _cost(candidate: ContextCandidate, types: Set[str], format: Format) -> int:
    """Return the bytes that a note adds to a text with notes of these types."""
    size = candidate.sizes[PLACES[format]]
    if format == "json":
        return size + (len(", ") if types else 0)
    return size + (0 if candidate.type in types else len(f"## {memories_md.SECTIONS[candidate.type]}\n\n"))
