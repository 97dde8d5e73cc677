"""How the inbox is narrowed down: its tabs, and filters that live in the URL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import ProposalQuerySet


class Tab(StrEnum):
    """Whose turn it is. The value is the word in the URL."""

    YOURS = "yours"
    AGENT = "agent"
    DECIDED = "decided"


AGES: Mapping[str, Any] = {
    "day": _("in the last 24 hours"),
    "week": _("in the last 7 days"),
    "older": _("more than 7 days ago"),
}

#: What the filter "about" stands for; an import is about notes.
KINDS_OF_TARGET: Mapping[str, tuple[str, ...]] = {"block": ("block",), "note": ("note", "import")}

#: Value of the risk filter for "whichever".
ANY_RISK = "any"


@dataclass(frozen=True)
class Filters:
    """What the reader narrowed the list to; each empty for "all". Unknown values match nothing, by themselves."""

    owner: str = ""
    about: str = ""
    target: str = ""
    agent: str = ""
    kind: str = ""
    state: str = ""
    risk: str = ""
    age: str = ""
    q: str = ""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Filters:
        """From the parameters of the URL; NUL is dropped, which PostgreSQL would refuse."""
        return cls(**{field.name: query.get(field.name, "").replace("\0", "").strip()[:200] for field in fields(cls)})

    @property
    def active(self) -> dict[str, str]:
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}

    def apply(self, proposals: ProposalQuerySet, tab: Tab) -> ProposalQuerySet:
        conditions = Q()
        for column, value in (
            ("owner", self.owner),
            ("target", self.target),
            ("agent__name", self.agent),
            ("kind", self.kind),
            ("status" if tab is Tab.DECIDED else "mergeability", self.state),
        ):
            if value:
                conditions &= Q(**{column: value})
        if self.about:
            conditions &= Q(target_kind__in=KINDS_OF_TARGET.get(self.about, ()))
        if self.age:
            conditions &= _aged(self.age)
        if self.q:
            conditions &= (
                Q(reasoning__icontains=self.q) | Q(target_title__icontains=self.q) | Q(target__icontains=self.q)
            )
        proposals = proposals.filter(conditions)
        if self.risk == ANY_RISK:
            proposals = proposals.exclude(risks=[])
        elif self.risk:
            # SQLite has no containment for JSON; the list is short and its keys hold no quotes.
            proposals = proposals.annotate(risk_keys=Cast("risks", TextField())).filter(
                risk_keys__contains=f'"{self.risk}"'
            )
        return proposals


def _aged(age: str) -> Q:
    now = timezone.now()
    if age == "day":
        return Q(created_at__gte=now - timedelta(days=1))
    if age == "week":
        return Q(created_at__gte=now - timedelta(days=7))
    if age == "older":
        return Q(created_at__lt=now - timedelta(days=7))
    return Q(pk__in=[])
