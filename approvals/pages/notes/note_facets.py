"""How a list of notes is ordered, and how many notes of each type and tag there are in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from memory_app import recall_counts
from memory_app.reads import NoteSummary
from memory_app.text.notes import TYPES

#: What the list can be ordered by; the value is the word in the URL.
SORTS: Mapping[str, object] = {
    "newest": _("Newest first"),
    "changed": _("Last changed first"),
    "used": _("Most used by agents"),
    "type": _("By type"),
}


@dataclass(frozen=True)
class Facet:
    """A value the list can be narrowed to.

    Args:
        share: of the most frequent one, in percent.
    """

    value: str
    count: int
    share: int
    is_chosen: bool


def facets(values: Iterable[str], chosen: str, *, most: int | None = None) -> tuple[Facet, ...]:
    """Return how often each value occurs, the most frequent first, and the chosen one in any case."""
    counts = Counter(values)
    if chosen:
        counts[chosen] += 0
    ranked = sorted(counts, key=lambda value: (-counts[value], value.casefold()))
    shown = ranked if most is None else ranked[:most]
    if chosen and chosen not in shown:
        shown.append(chosen)
    highest = max(counts.values(), default=1) or 1
    return tuple(Facet(value, counts[value], round(100 * counts[value] / highest), value == chosen) for value in shown)


def ordered(owner: str, entries: Sequence[NoteSummary], sort: str) -> tuple[NoteSummary, ...]:
    """Return the notes as asked for; an unknown order leaves them as they are."""
    if sort == "newest":
        return tuple(sorted(entries, key=lambda entry: (entry.created_at, entry.id), reverse=True))
    if sort == "changed":
        return tuple(sorted(entries, key=lambda entry: (entry.updated_at, entry.id), reverse=True))
    if sort == "used":
        used = recall_counts.counts(owner)
        return tuple(sorted(entries, key=lambda entry: -used.get(entry.id, 0)))
    if sort == "type":
        places = {name: place for place, name in enumerate(TYPES)}
        return tuple(sorted(entries, key=lambda entry: places.get(entry.type, len(places))))
    return tuple(entries)
