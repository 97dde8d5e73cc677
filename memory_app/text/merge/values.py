"""What a merge returns where two changes cannot both be taken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Conflict:
    """A passage that both sides changed; each text may be empty."""

    base: str
    ours: str
    theirs: str


Part = str | Conflict


@dataclass(frozen=True, slots=True)
class Conflicted:
    """A text in which at least one passage needs a decision.

    Attributes:
        parts: merged text and conflicts, in reading order.
    """

    parts: tuple[Part, ...]

    @property
    def conflicts(self) -> tuple[Conflict, ...]:
        return tuple(part for part in self.parts if isinstance(part, Conflict))

    def resolved(self, choices: Sequence[str]) -> str:
        """Return the whole text with one chosen text for each conflict, in their order.

        Raises:
            ValueError: there are more or fewer choices than conflicts.
        """
        if len(choices) != len(self.conflicts):
            raise ValueError(f"{len(self.conflicts)} conflicts need as many choices, not {len(choices)}")
        rest = iter(choices)
        return "".join(next(rest) if isinstance(part, Conflict) else part for part in self.parts)


def agreed(base: Value, ours: Value, theirs: Value) -> Value | None:
    """Return what to take when at most one side changed it, or both alike; None when they disagree."""
    if ours == theirs or theirs == base:
        return ours
    return theirs if ours == base else None


def joined(parts: Iterable[Part]) -> Iterator[Part]:
    """Yield the parts with neighbouring texts as one and the white space that a conflict's texts share outside it."""
    texts: list[str] = []
    for part in parts:
        if isinstance(part, str):
            texts.append(part)
            continue
        before, conflict, after = _trimmed(part)
        if text := "".join((*texts, before)):
            yield text
        yield conflict
        texts = [after]
    if text := "".join(texts):
        yield text


def mapped(part: Part, change: Callable[[str], str]) -> Part:
    """Return the part with each of its texts changed."""
    if isinstance(part, str):
        return change(part)
    return Conflict(change(part.base), change(part.ours), change(part.theirs))


def _trimmed(conflict: Conflict) -> tuple[str, Conflict, str]:
    base, ours, theirs = conflict.base, conflict.ours, conflict.theirs
    starts = {text[: len(text) - len(text.lstrip())] for text in (base, ours, theirs)}
    before = starts.pop() if len(starts) == 1 else ""
    base, ours, theirs = (text[len(before) :] for text in (base, ours, theirs))
    ends = {text[len(text.rstrip()) :] for text in (base, ours, theirs)}
    after = ends.pop() if len(ends) == 1 else ""
    base, ours, theirs = (text[: len(text) - len(after)] for text in (base, ours, theirs))
    return before, Conflict(base, ours, theirs), after
