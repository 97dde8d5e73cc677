"""How the review queue is narrowed down: its tabs, and filters that live in the URL."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, date, datetime, time, timedelta
from enum import StrEnum
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from django.db.models import Case, Exists, IntegerField, Max, OuterRef, Q, TextChoices, TextField, Value, When
from django.db.models.functions import Cast
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from approvals.models import Agent, Approval, Kind, Mergeability, Proposal, ProposalQuerySet, Status, User, bare_name
from approvals.review.summary import RISK_TITLES, wanted_words
from memory_app.models import TargetKind

# -- The orders of the review queue, and pages by key: a page continues from a row, not from a row number.

_EPOCH = datetime.fromtimestamp(0, UTC)
# A key that was made by the risk order has its rank in front.
_KEY = re.compile(r"(?:(\d)r)?(-?\d{1,16})-(\d{1,18})", re.ASCII)

#: Risks from the worst down; what has another one stands above what has none.
_RANKS: Sequence[tuple[int, Sequence[str]]] = (
    (3, ("secrets", "hidden_characters", "not_shown", "mixed_scripts", "reads_like_instructions")),
    (2, ("deletes_much", "links_added")),
)


class Sort(TextChoices):
    """What comes first. The value is the word in the URL, the label that of the switch."""

    NEWEST = "newest", _("Newest")
    OLDEST = "oldest", _("Oldest")
    RISK = "risk", _("Risk")


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

    def key(self, proposal: Proposal) -> Key:
        return Key(getattr(proposal, self.column), proposal.pk, rank_of(proposal) if self.sort is Sort.RISK else None)

    def sorted(self, proposals: ProposalQuerySet, *, backwards: bool = False) -> ProposalQuerySet:
        """Return them in this order, or from its end."""
        descending = (self.sort is not Sort.OLDEST) is not backwards
        sign = "-" if descending else ""
        names = [f"{sign}{self.column}", f"{sign}id"]
        if self.sort is Sort.RISK:
            return _ranked(proposals).order_by(f"{sign}risk_rank", *names)
        return proposals.order_by(*names)

    def beyond(self, proposals: ProposalQuerySet, key: Key, *, backwards: bool = False) -> ProposalQuerySet:
        """Return those that come after a key, or before it, in any order."""
        is_later = (self.sort is Sort.OLDEST) is not backwards
        side, beyond = ("gt", "gte") if is_later else ("lt", "lte")
        in_time = Q(**{f"{self.column}__{side}": key.at}) | Q(**{self.column: key.at, f"pk__{side}": key.pk})
        if self.sort is Sort.RISK:
            rank = key.rank or 0
            return _ranked(proposals).filter(Q(**{f"risk_rank__{side}": rank}) | Q(in_time, risk_rank=rank))
        # Implied by the other condition; it lets the index find the place.
        return proposals.filter(in_time, **{f"{self.column}__{beyond}": key.at})


def rank_of(proposal: Proposal) -> int:
    """Return how grave the risks of a proposal are, from 0 for none."""
    ranks = (rank for rank, keys in _RANKS if not set(keys).isdisjoint(proposal.risks))
    return next(ranks, 1 if proposal.risks else 0)


#: SQLite has no containment for JSON; the list is short and its keys hold no quotes.
_RISK_TEXT = Cast("risks", TextField())


def _ranked(proposals: ProposalQuerySet) -> ProposalQuerySet:
    whens = [When(risks=[], then=Value(0))]
    for rank, keys in _RANKS:
        whens += [When(risk_text__contains=f'"{key}"', then=Value(rank)) for key in keys]
    return proposals.annotate(risk_text=_RISK_TEXT).annotate(
        risk_rank=Case(*whens, default=Value(1), output_field=IntegerField())
    )


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
KINDS_OF_TARGET: Mapping[str, tuple[TargetKind, ...]] = {
    "block": (TargetKind.BLOCK,),
    "note": (TargetKind.NOTE, TargetKind.IMPORT),
}

#: Value of the risk filter for "whichever".
ANY_RISK = "any"

#: Value of the state filter for decisions that were taken back, whatever they were.
REVERTED = "reverted"

#: Values of the state filter for approvals as proposed, and for those in part or in other words.
AS_PROPOSED, CHANGED = "as_proposed", "changed"

#: Value of the filter for whom a proposal is assigned to: the viewer. Any other means nobody.
MINE = "me"

#: Words of a search that are looked for; a longer one is hardly meant to find anything.
MOST_WORDS = 8


@dataclass(frozen=True)
class QueryFilters:
    """What the reader of a list narrowed it to: texts from the parameters of a URL, empty for "all"."""

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Self:
        """Return the filters in the parameters of a URL, without NUL, which PostgreSQL refuses."""
        return cls(**{field.name: query.get(field.name, "").replace("\0", "").strip()[:200] for field in fields(cls)})

    @property
    def active(self) -> dict[str, str]:
        return {field.name: value for field in fields(self) if (value := getattr(self, field.name))}


@dataclass(frozen=True)
class InboxFilters(QueryFilters):
    """What the reader narrowed the list to; each empty for "all". Unknown values match nothing, by themselves."""

    owner: str = ""
    about: str = ""
    target: str = ""
    agent: str = ""
    kind: str = ""
    state: str = ""
    by: str = ""
    risk: str = ""
    age: str = ""
    decided: str = ""
    # The viewer is needed for it: `inbox.listed` applies it.
    assigned: str = ""
    q: str = ""

    def apply(self, proposals: ProposalQuerySet, tab: Tab) -> ProposalQuerySet:
        exact = {"owner": self.owner, "target": self.target, "agent__name": self.agent, "kind": self.kind}
        exact["decided_by__username"] = self.by
        conditions = Q(**{column: value for column, value in exact.items() if value})
        if self.state == REVERTED and tab is Tab.DECIDED:
            conditions &= ~Q(reverted_by_commit="")
        elif self.state in (AS_PROPOSED, CHANGED) and tab is Tab.DECIDED:
            # Approvals older than the column are taken for those as proposed.
            unchanged = Q(approval__in=("", Approval.AS_PROPOSED))
            conditions &= Q(unchanged if self.state == AS_PROPOSED else ~unchanged, status=Status.APPROVED)
        elif self.state:
            conditions &= Q(**{"status" if tab is Tab.DECIDED else "mergeability": self.state})
        if self.about:
            conditions &= Q(target_kind__in=KINDS_OF_TARGET.get(self.about, ()))
        if self.age:
            conditions &= _aged("created_at", self.age)
        if self.decided and tab is Tab.DECIDED:
            conditions &= _aged("decided_at", self.decided)
        for word in wanted_words(self.q)[:MOST_WORDS]:
            conditions &= Q(search_words__contains=word)
        proposals = proposals.filter(conditions)
        if self.risk == ANY_RISK:
            return proposals.exclude(risks=[])
        if self.risk:
            return proposals.annotate(risk_text=_RISK_TEXT).filter(risk_text__contains=f'"{self.risk}"')
        return proposals


@dataclass(frozen=True)
class Listing:
    """Which list a person looks at: a tab and its filters. Pages of single proposals carry it along as `query`."""

    tab: Tab = Tab.YOURS
    filters: InboxFilters = InboxFilters()
    sort: Sort = Sort.NEWEST

    @property
    def is_looked_through(self) -> bool:
        """Whether no index has its proposals, so that each one has to be looked at: it is of more than an owner."""
        return bool(self.filters.active.keys() - {"owner"}) or self.sort is Sort.RISK

    @classmethod
    def from_query(cls, query: Mapping[str, str]) -> Listing:
        tab, sort = query.get("tab", ""), query.get("sort", "")
        return cls(
            Tab(tab) if tab in set(Tab) else Tab.YOURS,
            InboxFilters.from_query(query),
            Sort(sort) if sort in set(Sort) else Sort.NEWEST,
        )

    @classmethod
    def parse(cls, query: str) -> Listing:
        """From what `query` gave, or from any other text."""
        return cls.from_query(QueryDict(query[:2_000]).dict())

    @classmethod
    def of_url(cls, url: str) -> Listing:
        """From the address of a list."""
        try:
            return cls.parse(urlsplit(url).query)
        except ValueError:  # `http://[`
            return cls()

    @property
    def parameters(self) -> dict[str, str]:
        tab = {"tab": self.tab.value} if self.tab is not Tab.YOURS else {}
        sort = {"sort": self.sort.value} if self.sort is not Sort.NEWEST else {}
        return tab | self.filters.active | sort

    @property
    def query(self) -> str:
        """Return the query string; empty for the first tab without filters."""
        return urlencode(self.parameters)

    @property
    def url(self) -> str:
        """Return the address of the first page of the list."""
        return url_of(self.parameters)


def url_of(parameters: Mapping[str, str]) -> str:
    """Return the address of a list with these parameters."""
    return f"{reverse('inbox')}?{urlencode(parameters)}" if parameters else reverse("inbox")


# -- What the menu of the list offers.

#: Owners and blocks offered as a list to choose from; with more, the reader types the name.
MOST_CHOICES = 100

#: With more owners the reader types a name, which the browser completes.
MOST_OWNERS_IN_A_LIST = 15

#: About so many of the newest proposals say which blocks, agents and people are offered. With more, the reader may type
#: others.
NEWEST_OFFERED = 2_000

#: What the last tab's filter for the outcome offers.
_OUTCOMES = (
    (Status.APPROVED.value, _("approved")),
    (AS_PROPOSED, _("approved as proposed")),
    (CHANGED, _("approved with changes or in part")),
    (Status.REJECTED.value, _("rejected")),
    (Status.APPLIED.value, _("automatic")),
    (REVERTED, _("undone")),
    (Status.WITHDRAWN.value, _("withdrawn")),
    (Status.EXPIRED.value, _("expired")),
)


def filter_menu(
    visible: ProposalQuerySet, people: dict[str, str] | None, listing: Listing, *, count: int
) -> dict[str, Any]:
    """Return what the filters offer, and those that are active, each with the way back out of it.

    Args:
        count: how many proposals are visible.
    """
    menu = []
    newest, typed = visible, set[str]()
    if count > NEWEST_OFFERED:
        # By the reader's share of all, whose newest id the databases have at once: 2,000 whole rows took 30 ms.
        first, last = (Proposal.objects.order_by(order).values_list("pk", flat=True)[0] for order in ("pk", "-pk"))
        newest = visible.filter(pk__gt=last - (last - first + 1) * NEWEST_OFFERED // count)
        typed = {"target", "agent", "by"}
    for name, label, offered in _offered(visible, newest, people, listing.tab):
        options, value = [(option, str(words)) for option, words in offered], getattr(listing.filters, name)
        # Options complete what the reader types where there are too many to choose from.
        is_typed = not options or name in typed or (name == "owner" and len(options) > MOST_OWNERS_IN_A_LIST)
        menu.append({"name": name, "label": str(label), "value": value, "options": options, "is_typed": is_typed})
    text = {"name": "q", "label": _("Text"), "value": listing.filters.q, "options": []}
    chips = [
        {
            "label": field["label"],
            "value": dict(field["options"]).get(field["value"], field["value"]),
            "without": url_of({name: value for name, value in listing.parameters.items() if name != field["name"]}),
        }
        for field in [*menu, text]
        if field["value"]
    ]
    return {
        "filters": listing.filters,
        "filter_fields": menu,
        "filter_count": sum(1 for field in menu if field["value"]),
        "filter_chips": chips,
    }


def _offered(
    visible: ProposalQuerySet, newest: ProposalQuerySet, people: dict[str, str] | None, tab: Tab
) -> list[tuple[str, Any, Iterable[tuple[str, Any]]]]:
    """Return each filter of a tab: its name, its label, and what to choose from, as values and words.

    Args:
        newest: those of `visible` that say what is offered.
    """
    # As what they are not, the newest are read by their ids: SQLite would read all of the index that has the kinds.
    of_notes, of_blocks = KINDS_OF_TARGET["note"], newest.filter(target_kind=TargetKind.BLOCK)
    targets = _titles_of(of_blocks if newest is visible else newest.exclude(target_kind__in=of_notes))
    # Asked of each agent and each person, who are few: telling them from the proposals means reading all of those.
    theirs = newest.order_by().filter(agent=OuterRef("pk"))
    agents = Agent.objects.filter(Exists(theirs)).values_list("name", flat=True)[:MOST_CHOICES]
    offered: list[tuple[str, Any, Iterable[tuple[str, Any]]]] = [
        ("about", _("About"), [("block", _("blocks")), ("note", _("notes"))]),
        ("target", _("Block"), targets.items() if len(targets) <= MOST_CHOICES else []),
        ("agent", _("Agent"), [(name, name) for name in agents]),
        ("kind", _("Kind"), Kind.choices),
        ("risk", _("Risk"), [(ANY_RISK, _("any")), *RISK_TITLES.items()]),
        ("age", _("Proposed"), AGES.items()),
    ]
    if tab is Tab.DECIDED:
        decided = newest.order_by().filter(decided_by=OuterRef("pk"))
        deciders = [(each.username, each.plain_name) for each in User.objects.filter(Exists(decided))[:MOST_CHOICES]]
        offered[4:4] = [("state", _("Outcome"), _OUTCOMES), ("by", _("Decided by"), sorted(deciders, key=_by_name))]
        offered.append(("decided", _("Decided"), AGES.items()))
    else:
        offered.insert(4, ("state", _("State"), Mergeability.choices))
    # Where nothing is assigned, nobody looks for it: a lone reviewer, above all.
    if tab is Tab.YOURS and visible.filter(assigned_to__isnull=False).exists():
        offered.append(("assigned", _("Assigned to"), [(MINE, _("me")), ("nobody", _("nobody"))]))
    if people is None or len(people) > 1:
        owners = [(name, bare_name(shown)) for name, shown in (people or {}).items()]
        offered.insert(0, ("owner", _("Whose memory"), sorted(owners, key=_by_name)))
    return offered


def _by_name(person: tuple[str, str]) -> str:
    return person[1].lower()


def _titles_of(proposals: ProposalQuerySet) -> dict[str, str]:
    """Return the titles of targets by label, as their newest proposals have them: of many, one too many."""
    # The inner one is answered by an index, for any number of proposals.
    newest = proposals.order_by("target").values("target").annotate(newest=Max("pk")).values("newest")
    titles = Proposal.objects.filter(pk__in=newest[: MOST_CHOICES + 1]).values_list("target", "target_title")
    return dict(titles.order_by("target_title"))


def _aged(column: str, age: str) -> Q:
    now = timezone.now()
    if days := {"day": 1, "week": 7}.get(age):
        return Q(**{f"{column}__gte": now - timedelta(days=days)})
    if age == "older":
        return Q(**{f"{column}__lt": now - timedelta(days=7)})
    try:
        day = date.fromisoformat(age)  # since then, where the reader is
    except ValueError:
        return Q(pk__in=[])
    if not 1900 <= day.year <= 2200:  # near its ends the calendar has no time in other zones
        return Q(pk__in=[])
    return Q(**{f"{column}__gte": timezone.make_aware(datetime.combine(day, time()))})
