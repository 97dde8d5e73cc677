"""Which hits an agent gets when there are more than it asked for, and when there are fewer.

Belongs here: the order in which notes, passages of blocks and notes that do not match take the places of an answer.
Not here: what matches, and its scores (`index`, `scoring`). Why: docs/decisions/0017.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory_app.search.ranking.columns import Mask
from memory_app.search.ranking.postings import Values

#: Higher than any score: hits of a group all come before those of the next.
_GROUP = 10.0


def places(
    scores: Values, listed: Mask, notes: Mask, best: Sequence[int], items: np.ndarray, useful: Sequence[int]
) -> Values:
    """Return the scores by which hits take the places: notes that match and the best passage of a block, other
    passages, and the notes that do not match.

    Arguments:
        scores: of each slot; they order the hits inside a group.
        listed, notes: the slots that match, and those of notes.
        best: the slots that would be answered by score alone, best first.
        items: the item of each slot.
        useful: items of notes, in the order of the last group; by score without them.
    """
    by_place: Values = np.where(listed, scores + np.float32(_GROUP), scores)
    by_place[listed & notes] += np.float32(_GROUP)
    passage = next((slot for slot in best if not notes[slot]), None)
    if passage is not None:
        by_place[passage] += np.float32(_GROUP)
    if useful:
        rank = {item: place for place, item in enumerate(useful)}
        for slot in np.flatnonzero(notes & ~listed).tolist():
            by_place[slot] = -rank.get(int(items[slot]), len(rank)) / (len(rank) + 1)
    return by_place
