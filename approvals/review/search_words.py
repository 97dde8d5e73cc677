"""The words a proposal is found by: those of its reason, its target and its change.

Pure. They are stored with the proposal (`Proposal.search_words`), each once and folded, and narrowing a list by a word
is then one comparison in the database, the same on both. What folding leaves alone: `memory_app.text.stems`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from memory_app.text.stems import folded
from memory_app.text.worddiff import Kind, Segment

_SPACE = re.compile(r"\s+")


def search_words(segments: Iterable[Segment], excerpt: Iterable[Sequence[str]], *said: str) -> str:
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


def _changed(segments: Iterable[Segment], kind: Kind) -> Iterator[str]:
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
