"""Merging rows: each column as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

_MISSING = object()


@dataclass(frozen=True, slots=True)
class FieldConflict:
    """A column that both sides changed, each to something else; a column that a side does not have is None there."""

    name: str
    base: Any
    ours: Any
    theirs: Any


@dataclass(frozen=True, slots=True)
class MergedFields:
    """Merged columns.

    Attributes:
        values: the columns that could be merged.
        conflicts: the others, in the order of their names.
    """

    values: dict[str, Any]
    conflicts: tuple[FieldConflict, ...]

    @property
    def is_clean(self) -> bool:
        return not self.conflicts


def merge_fields(base: Mapping[str, Any], ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> MergedFields:
    """Return each column as the side that changed it has it; a column that both changed differently is a conflict.

    Columns are compared as wholes, by equality. One that a side took out stays out.
    """
    values: dict[str, Any] = {}
    conflicts: list[FieldConflict] = []
    for name in sorted({*base, *ours, *theirs}):
        before, our, their = (version.get(name, _MISSING) for version in (base, ours, theirs))
        if our != their and before not in (our, their):
            conflicts.append(
                FieldConflict(name, *(None if each is _MISSING else each for each in (before, our, their)))
            )
            continue
        value = their if our == before else our
        if value is not _MISSING:
            values[name] = value
    return MergedFields(values, tuple(conflicts))
