"""The parts of a comparison: stretches of text that were kept, removed or added."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

Kind = Literal["same", "removed", "added"]


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text that is in both texts, only in the one before, or only in the one after.

    Attributes:
        move: the number of the move it is a half of, from 1: whole lines that were taken from one place, `removed`, and
            put in another, `added`, with the same or nearly the same words. 0 for all others.
    """

    kind: Kind
    text: str
    move: int = 0


def joined(segments: Iterable[Segment]) -> tuple[Segment, ...]:
    """Return the segments with neighbours of one kind and one move as one."""
    found: list[Segment] = []
    for segment in segments:
        if found and (found[-1].kind, found[-1].move) == (segment.kind, segment.move):
            found[-1] = Segment(segment.kind, found[-1].text + segment.text, segment.move)
        else:
            found.append(segment)
    return tuple(found)
