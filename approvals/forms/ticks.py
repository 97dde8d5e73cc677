"""Which changes of a proposal are ticked, as a page sends them: also those on other pages or views than the one shown.

A page names the changes it shows; what of them is ticked counts. For all others counts what was chosen before: all are
ticked, or none, with exceptions.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from django.http import QueryDict


@dataclass(frozen=True)
class Ticks:
    """The ticks on the changes of a proposal.

    Args:
        all: every change is ticked but for the exceptions; otherwise only these are.
    """

    all: bool = True
    exceptions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Ticks:
        """Return the ticks as a form carries them; all, where it has none.

        Args:
            fields: `shown` and `accepted` are ids with blanks between them, and so are `exceptions`; `ticked` says
                what counts for the others.
        """
        here, ticked = (frozenset(fields.get(name, "").split()) for name in ("shown", "accepted"))
        if ticked and not here:
            return cls(False, ticked)
        before = cls(fields.get("ticked") != "none", frozenset(fields.get("exceptions", "").split()))
        # A tick on a change that the page does not name stays an exception: it is refused, not passed over.
        now = (here - ticked if before.all else here & ticked) | (ticked - here)
        return cls(before.all, (before.exceptions - here) | now)

    @classmethod
    def sent(cls, data: QueryDict) -> Ticks:
        return cls.of({name: " ".join(data.getlist(name)) for name in ("shown", "accepted", "ticked", "exceptions")})

    def moved(self, was: Sequence[str], ids: Sequence[str]) -> Ticks:
        """Return the ticks on a text that changed since, by which changes may have got other ids.

        Args:
            was: the ids in the order in which they were shown. As many as now, they are taken for the same changes.
                Otherwise only what is known for certain stays ticked.
        """
        if self.exceptions <= frozenset(ids):
            return self
        if len(was) == len(ids):
            names = dict(zip(was, ids, strict=True))
            return Ticks(self.all, frozenset(names.get(id_, id_) for id_ in self.exceptions) & frozenset(ids))
        return Ticks(False, frozenset(id_ for id_ in was if self.is_on(id_)) & frozenset(ids))

    def without(self, ids: frozenset[str]) -> Ticks:
        """Return the ticks with these changes left out."""
        return Ticks(self.all, self.exceptions | ids if self.all else self.exceptions - ids)

    @property
    def is_everything(self) -> bool:
        return self.all and not self.exceptions

    def is_on(self, id_: str) -> bool:
        return (id_ in self.exceptions) != self.all

    def count(self, ids: Collection[str]) -> int:
        return sum(map(self.is_on, ids))

    def accepted(self, ids: Collection[str]) -> frozenset[str]:
        """Return which of a proposal's changes are ticked, with every id named that is none of them."""
        return frozenset(filter(self.is_on, ids)) | (self.exceptions - frozenset(ids))


@dataclass(frozen=True)
class TickBoxes:
    """The boxes by which a page has the changes of a proposal ticked.

    Args:
        ids: of all changes, in their order.
        outdated: of those that no longer fit; their boxes cannot be ticked.
    """

    ids: tuple[str, ...]
    outdated: frozenset[str]
    ticks: Ticks

    @property
    def total(self) -> int:
        return len(self.ids)

    @property
    def count(self) -> int:
        return self.ticks.count(self.ids)

    @property
    def left(self) -> int:
        return self.total - self.count

    @property
    def exceptions(self) -> str:
        return " ".join(sorted(self.ticks.exceptions))

    @property
    def outdated_ids(self) -> str:
        return " ".join(sorted(self.outdated))


def tick_boxes(ids: Sequence[str], outdated: frozenset[str], ticks: Ticks, was: Sequence[str]) -> TickBoxes:
    """Return the boxes of a page.

    Args:
        was: the ids that the form named as shown, where it comes back.
    """
    return TickBoxes(tuple(ids), outdated, ticks.moved(was, ids).without(outdated))
