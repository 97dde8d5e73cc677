"""Which rows of a list change the same words, as far as their edits tell: no text of a block is read for it.

A proposal's own page compares the texts themselves (`review.collisions`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from itertools import combinations

from approvals.models import Proposal, Revision


def in_the_same_place(rows: Iterable[tuple[Proposal, Revision]]) -> dict[int, tuple[int, ...]]:
    """Return for proposals about one block the ids of the others that change the same words.

    Args:
        rows: with single edits. Of these, replacements of a text that their block has once today are compared; what
            adds a text changes no words.
    """
    by_target: defaultdict[tuple[str, str], list[tuple[int, str, str]]] = defaultdict(list)
    for proposal, revision in rows:
        (edit,) = revision.edits
        if edit["op"] == "replace":
            by_target[proposal.owner, proposal.target].append((proposal.pk, edit["old_string"], edit["new_string"]))
    found: defaultdict[int, list[int]] = defaultdict(list)
    for changes in by_target.values():
        for (pk, *one), (other_pk, *other) in combinations(changes, 2):
            if touch(*one, *other):
                found[pk].append(other_pk)
                found[other_pk].append(pk)
    return {pk: tuple(others) for pk, others in found.items()}


def touch(old: str, new: str, other_old: str, other_new: str) -> bool:
    """Whether two replacements change the same words or words side by side, where one quotes all the other does."""
    if len(old) > len(other_old):
        old, new, other_old, other_new = other_old, other_new, old, new
    at = other_old.find(old)
    if at < 0:
        return False
    (start, end), (other_start, other_end) = _changed(old, new), _changed(other_old, other_new)
    return at + start <= other_end and other_start <= at + end


def _changed(old: str, new: str) -> tuple[int, int]:
    """Return the range of `old` outside of which nothing changes."""
    start = _common(old, new)
    return start, len(old) - _common(old[start:][::-1], new[start:][::-1])


def _common(one: str, other: str) -> int:
    """Return how many characters two texts begin with alike."""
    both = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(both) if a != b), min(len(one), len(other)))
