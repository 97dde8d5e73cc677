"""Whether two changes are about the same matter: a guess from their words, for linking a second try to the first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory_app.text.worddiff import Segment

#: Share of the added words that both have in common, from which they are alike.
_ALIKE = 0.4
#: Words shorter than this are in every sentence.
_SHORT = 4
#: With fewer words than this in common, nothing is alike.
_FEW = 2


def are_alike(one: Sequence[Segment], other: Sequence[Segment]) -> bool:
    """Whether two changes touch the same lines of their texts before, or add much the same words.

    Args:
        one, other: the word-level differences.
    """
    if touched_lines(one) & touched_lines(other):
        return True
    return say_the_same(_added(one), _added(other))


def touched_lines(segments: Iterable[Segment]) -> frozenset[str]:
    """Return the lines of the text before in which something was removed, replaced or put in."""
    touched: set[str] = set()
    line, is_touched = "", False
    for segment in segments:
        if segment.kind == "added":
            # Whole lines put in between two others touch neither: the next entry of a log is about nothing before it.
            is_inside = bool(line.strip()) or not segment.text.endswith("\n")
            is_touched |= is_inside and segment.text[0] not in "\r\n"
            continue
        first, *others = segment.text.split("\n")
        line += first
        is_touched |= segment.kind == "removed" and bool(first.strip())
        for text in others:
            if is_touched:
                touched.add(line.strip())
            line, is_touched = text, segment.kind == "removed" and bool(text.strip())
    if is_touched:
        touched.add(line.strip())
    return frozenset(touched - {""})


def say_the_same(one: str, other: str) -> bool:
    """Whether two texts have much of their longer words in common."""
    words, others = _words(one), _words(other)
    both = words & others
    return len(both) >= _FEW and len(both) >= _ALIKE * min(len(words), len(others))


def _added(segments: Iterable[Segment]) -> str:
    return " ".join(segment.text for segment in segments if segment.kind == "added")


def _words(text: str) -> frozenset[str]:
    stripped = (word.strip(".,;:!?()[]“”„‘’\"'*_#|`") for word in text.casefold().split())
    return frozenset(word for word in stripped if len(word) >= _SHORT)
