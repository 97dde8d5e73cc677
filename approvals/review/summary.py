"""What lists, filters and reviewers are told of a change without reading its texts again."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from approvals.risks import flags
from memory_app.runtime import deadlines
from memory_app.text import worddiff
from memory_app.text.stems import folded
from memory_app.text.worddiff import Kind as SegmentKind

# -- The words a proposal is found by: those of its reason, its target and its change.

_SPACE = re.compile(r"\s+")


def search_words(segments: Iterable[worddiff.Segment], excerpt: Iterable[Sequence[str]], *said: str) -> str:
    """Return every word that the change removes or adds, that its excerpt shows, or that is in `said`.

    A word is what stands between blanks, whole also where only a part of it changes: 9:45 becomes 9:50. So whatever a
    reader types without a blank is in the answer exactly when it is in one of these texts.

    Args:
        segments: of the whole change.
        excerpt: `[kind, text]` pairs; a list shows them with a few unchanged words.
        said: texts that are not part of the change, such as its reason.
    """
    segments = tuple(segments)
    words = [*_changed(segments, "removed"), *_changed(segments, "added")]
    for text in (*said, *(shown for _kind, shown in excerpt)):
        words += text.split()
    # Folded once each: an import has ten thousand notes and far fewer words.
    return " ".join(dict.fromkeys(folded(" ".join(dict.fromkeys(words))).split()))


def wanted_words(query: str) -> list[str]:
    """Return the words of a query as `search_words` has them, each once."""
    return list(dict.fromkeys(folded(query).split()))


def _changed(segments: Iterable[worddiff.Segment], kind: SegmentKind) -> Iterator[str]:
    """Yield the words of the text before ("removed") or after ("added") that are not wholly in both."""
    word, is_changed = "", False
    for segment in segments:
        if segment.kind not in ("same", kind):
            continue
        first, *others = _SPACE.split(segment.text)
        word += first
        is_changed |= bool(first) and segment.kind == kind
        if not others:
            continue
        if word and is_changed:
            yield word
        *whole, word = others
        if segment.kind == kind:
            yield from whole
        is_changed = bool(word) and segment.kind == kind
    if word and is_changed:
        yield word


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


#: Short titles for the flags of `risks` in the order of a report, for lists; their sentences are in
#: `components/risk.html`.
RISK_TITLES: Mapping[str, Any] = {
    "secrets": _("reads like a secret"),
    "hidden_characters": _("hidden characters"),
    "not_shown": _("text not shown"),
    "mixed_scripts": _("look-alike letters"),
    "reads_like_instructions": _("reads like instructions"),
    "deletes_much": _("large deletion"),
    "links_added": _("links added"),
    "contacts_added": _("contact details added"),
}


def risk_title(key: str) -> str:
    """Return two or three words; the key itself where it is an old one."""
    return str(RISK_TITLES.get(key, key))
