"""How many words a change adds and removes, and how many paragraphs it moves."""

from __future__ import annotations

from collections.abc import Sequence

from memory_app.text import lines
from memory_app.text.worddiff.compare import diff_in_order
from memory_app.text.worddiff.segments import Segment
from memory_app.text.worddiff.words import is_word, tokens


def count_words(segments: Sequence[Segment]) -> tuple[int, int]:
    """Return how many words were added and how many removed; of what was moved, those that were changed as well."""
    added = sum(_words(segment.text) for segment in segments if segment.kind == "added" and not segment.move)
    removed = sum(_words(segment.text) for segment in segments if segment.kind == "removed" and not segment.move)
    for was, now in moved_texts(segments):
        if was != now:
            inside = count_words(diff_in_order(was, now))
            added, removed = added + inside[0], removed + inside[1]
    return added, removed


def count_moved(segments: Sequence[Segment]) -> int:
    """Return how many paragraphs were moved: headings, items and rows too, each by itself."""
    return sum(_paragraphs(now) for _was, now in moved_texts(segments))


def count_moved_words(segments: Sequence[Segment]) -> int:
    """Return how many words the moved paragraphs have."""
    return sum(_words(now) for _was, now in moved_texts(segments))


def moved_texts(segments: Sequence[Segment]) -> list[tuple[str, str]]:
    """Return what each move took and what it put elsewhere, without the blank lines around them."""
    if not any(segment.move for segment in segments):
        return []
    was = {segment.move: segment.text for segment in segments if segment.kind == "removed"}
    now = {segment.move: segment.text for segment in segments if segment.kind == "added"}
    return [(was[move].strip("\r\n"), now[move].strip("\r\n")) for move in sorted((was.keys() & now.keys()) - {0})]


def _words(text: str) -> int:
    return sum(map(is_word, tokens(text)))


def _paragraphs(text: str) -> int:
    above = ""
    count = 0
    for line in text.splitlines():
        count += bool(line.strip()) and not (above.strip() and lines.continues(above, line))
        above = line
    return count
