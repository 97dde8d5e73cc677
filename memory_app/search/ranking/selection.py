"""Which of the chunks that match are answered, and in which order.

Belongs here: no text and no note twice; for agents the order of notes, passages of blocks and notes that do not match
when places are few (why: docs/decisions/0017).
Not here: what matches (`index`), and the scores (`scoring`).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_app.search.ranking.columns import BLOCK, Columns, Mask
from memory_app.search.ranking.postings import Slots, Values

#: Higher than any score: hits of a group all come before those of the next.
_GROUP = 10.0

_TEXT = -1


def best_slots(columns: Columns, scores: Values, matching: Mask, top_k: int) -> list[int]:
    """Return the best of the matching slots, the newer first among equals; no text twice, no note or message twice."""
    slots = np.flatnonzero(matching).astype(np.int32)
    few = top_k * 4 + 50
    if len(slots) > few:
        # Sorting 100,000 hits takes 15 ms; the best few are nearly always distinct enough.
        chosen = slots[np.argpartition(-scores[slots], few)[:few]]
        best = _first_distinct(columns, scores, chosen, top_k)
        if len(best) == top_k:
            return best
    return _first_distinct(columns, scores, slots, top_k)


def best_slots_for_agents(
    columns: Columns, scores: Values, matching: Mask, notes: Mask, useful: Sequence[int], top_k: int
) -> list[int]:
    """Return the slots for an agent: the matching ones, best first, then notes that do not match, up to `top_k`.

    Where there are more than `top_k`, notes that match and the best passage of a block come before other passages, and
    these before the notes that do not match.

    Arguments:
        notes: the eligible slots of notes.
        useful: items of notes, in the order of the notes that do not match; by score without them.
    """
    by_place: Values = np.where(matching, scores + np.float32(_GROUP), scores)
    by_place[matching & notes] += np.float32(_GROUP)
    by_score = best_slots(columns, scores, matching, top_k)
    passage = next((slot for slot in by_score if not notes[slot]), None)
    if passage is not None:
        by_place[passage] += np.float32(_GROUP)
    if useful:
        rank = {item: place for place, item in enumerate(useful)}
        for slot in np.flatnonzero(notes & ~matching).tolist():
            by_place[slot] = -rank.get(int(columns.items[slot]), len(rank)) / (len(rank) + 1)
    best = best_slots(columns, by_place, matching | notes, top_k)
    best.sort(key=lambda slot: (not matching[slot], -scores[slot] if matching[slot] else 0))
    return best


def _first_distinct(columns: Columns, scores: Values, slots: Slots, top_k: int) -> list[int]:
    best: list[int] = []
    seen: set[tuple[int, int, int]] = set()
    slots = slots[np.lexsort((slots, -columns.seconds[slots], -scores[slots]))]
    fields = (columns.sources, columns.documents, columns.items, columns.texts)
    for slot, source, document, item, text in zip(
        slots.tolist(), *(column[slots].tolist() for column in fields), strict=True
    ):
        if len(best) == top_k:
            break
        # Passages of one block are different things, and so are messages of two sessions that have one id.
        # A text is known by its hash, in a space of its own.
        keys = {(_TEXT, 0, text), (source, document, -slot if source == BLOCK else item)}
        if not seen & keys:
            best.append(slot)
            seen |= keys
    return best
