"""The orders of the review queue, and pages by key: a page continues from a row, not from a row number."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

from django.db.models import Case, IntegerField, Q, TextField, Value, When
from django.db.models.functions import Cast

from approvals.models import Proposal, ProposalQuerySet

_EPOCH = datetime.fromtimestamp(0, UTC)
# A key that was made by the risk order has its rank in front.
_KEY = re.compile(r"(?:(\d)r)?(-?\d{1,16})-(\d{1,18})", re.ASCII)

#: Risks from the worst down; what has another one stands above what has none.
_RANKS: Sequence[tuple[int, Sequence[str]]] = (
    (3, ("secrets", "hidden_characters", "mixed_scripts", "reads_like_instructions")),
    (2, ("deletes_much", "links_added")),
)


class Sort(StrEnum):
    """What comes first. The value is the word in the URL."""

    NEWEST = "newest"
    OLDEST = "oldest"
    RISK = "risk"


@dataclass(frozen=True)
class Key:
    """Where a row stands in a list: its time, then its id; in the order of risks, its rank before both."""

    at: datetime
    pk: int
    rank: int | None = None

    def __str__(self) -> str:
        rank = "" if self.rank is None else f"{self.rank}r"
        return f"{rank}{(self.at - _EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """Return the key, or None for any other text in the address."""
        found = _KEY.fullmatch(text)  # what agents hand in may be older than 1970
        if not found:
            return None
        rank, microseconds, pk = found.groups()
        return cls(_EPOCH + timedelta(microseconds=int(microseconds)), int(pk), None if rank is None else int(rank))


@dataclass(frozen=True)
class Order:
    """An order of proposals by a time, which may be turned around or have risks before it.

    Args:
        column: the time: when it was proposed or decided.
    """

    column: str
    sort: Sort = Sort.NEWEST

    @property
    def is_by_risk(self) -> bool:
        return self.sort is Sort.RISK

    def key(self, proposal: Proposal) -> Key:
        return Key(getattr(proposal, self.column), proposal.pk, rank_of(proposal) if self.is_by_risk else None)

    def sorted(self, proposals: ProposalQuerySet, *, backwards: bool = False) -> ProposalQuerySet:
        """Return them in this order, or from its end."""
        descending = (self.sort is not Sort.OLDEST) is not backwards
        sign = "-" if descending else ""
        names = [f"{sign}{self.column}", f"{sign}id"]
        if self.is_by_risk:
            return _ranked(proposals).order_by(f"{sign}risk_rank", *names)
        return proposals.order_by(*names)

    def following(self, proposals: ProposalQuerySet, key: Key) -> ProposalQuerySet:
        """Return those that come after a key, in any order."""
        return self._beyond(proposals, key, is_later=self.sort is Sort.OLDEST)

    def preceding(self, proposals: ProposalQuerySet, key: Key) -> ProposalQuerySet:
        """Return those that come before a key, in any order."""
        return self._beyond(proposals, key, is_later=self.sort is not Sort.OLDEST)

    def _beyond(self, proposals: ProposalQuerySet, key: Key, *, is_later: bool) -> ProposalQuerySet:
        side, beyond = ("gt", "gte") if is_later else ("lt", "lte")
        in_time = Q(**{f"{self.column}__{side}": key.at}) | Q(**{self.column: key.at, f"pk__{side}": key.pk})
        if self.is_by_risk:
            rank = key.rank or 0
            return _ranked(proposals).filter(Q(**{f"risk_rank__{side}": rank}) | Q(in_time, risk_rank=rank))
        # Implied by the other condition; it lets the index find the place.
        return proposals.filter(in_time, **{f"{self.column}__{beyond}": key.at})


def rank_of(proposal: Proposal) -> int:
    """Return how grave the risks of a proposal are, from 0 for none."""
    for rank, keys in _RANKS:
        if any(key in proposal.risks for key in keys):
            return rank
    return 1 if proposal.risks else 0


def _ranked(proposals: ProposalQuerySet) -> ProposalQuerySet:
    # SQLite has no containment for JSON; the list is short and its keys hold no quotes.
    whens = [When(risks=[], then=Value(0))]
    for rank, keys in _RANKS:
        whens += [When(risk_text__contains=f'"{key}"', then=Value(rank)) for key in keys]
    with_text = proposals.annotate(risk_text=Cast("risks", TextField()))
    return with_text.annotate(risk_rank=Case(*whens, default=Value(1), output_field=IntegerField()))
