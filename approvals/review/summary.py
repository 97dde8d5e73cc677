"""What lists, filters and reviewers are told of a change without reading its texts again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from approvals.review.search_words import search_words
from approvals.risks import flags
from memory_app.runtime import deadlines
from memory_app.text import worddiff

#: Segments of a difference in which its excerpt is looked for. An excerpt has a few dozen words, which the beginning
#: of an import has; looking through all of ten thousand notes took 2 s.
_EXCERPTED = 400
#: The kind of the last part of an excerpt whose change moves something: how many paragraphs.
_MOVED = "moved paragraphs"


@dataclass(frozen=True)
class ChangeSummary:
    """A change compared word by word and searched for risks.

    Args:
        beside: what notes say beside their contents, before and after, where it changes.
        fields: those of a `Proposal` that follow from its change.
    """

    segments: Sequence[worddiff.Segment]
    beside: tuple[str, str]
    risk_report: flags.RiskReport
    fields: dict[str, Any]

    def search_words(self, *said: str) -> str:
        """Return the words a proposal of this change is found by; `said` is its reason, target and title."""
        return search_words(self.segments, excerpt_shown(self.fields["excerpt"]), *said, *self.beside)


def moved_paragraphs(excerpt: Sequence[Sequence[str]]) -> int:
    """Return how many paragraphs a change moves, by its stored excerpt."""
    return next((int(text) for kind, text in excerpt if kind == _MOVED), 0)


def excerpt_shown(excerpt: Sequence[Sequence[str]]) -> list[Sequence[str]]:
    """Return the parts of a stored excerpt that are words of the change."""
    return [part for part in excerpt if part[0] != _MOVED]


def summarise(
    before: str, after: str, *, is_deletion: bool = False, beside: tuple[str, str] = ("", ""), said: str = ""
) -> ChangeSummary:
    """Compare two texts and look for risks.

    Args:
        said: what the agent says with the change; see `risks.flags.said_with`.

    Raises:
        DeadlineExceeded: thousands of notes take seconds, during which no database is asked.
    """
    deadlines.require()
    segments = worddiff.diff(before, after)
    added, removed = worddiff.count_words(segments)
    excerpt = worddiff.excerpt(segments[:_EXCERPTED])
    if moved := worddiff.count_moved(segments):
        excerpt.append([_MOVED, str(moved)])
    deadlines.require()
    found = flags.report(before, after, segments=segments, is_deletion=is_deletion, beside=beside, said=said)
    fields = {
        "excerpt": excerpt,
        "words_added": added,
        "words_removed": removed,
        "risks": [risk.key for risk in found.risks],
    }
    return ChangeSummary(segments, beside, found, fields)
