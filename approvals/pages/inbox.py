"""What the review queue shows: counts for its tabs, pages by key, rows grouped by target.

Queries only, however many proposals wait. A row is `inbox_rows`, narrowing the list is `inbox_filters`, deciding is
`services`, HTTP is `views.inbox`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import groupby

from django.db.models import Count, Max, Q

from approvals.models import DECIDED, Proposal, ProposalQuerySet, Status, User
from approvals.pages.inbox_filters import InboxFilters, Listing, Tab
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.permissions import proposals_visible_to

PAGE_SIZE = 25

#: The states of the proposals in each tab.
STATUSES: Mapping[Tab, tuple[Status, ...]] = {
    Tab.YOURS: (Status.OPEN,),
    Tab.AGENT: (Status.CHANGES_REQUESTED,),
    Tab.DECIDED: DECIDED,
}


_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True)
class Key:
    """Where a row stands in the list: its time, then its id. Pages continue from it, not from a row number."""

    at: datetime
    pk: int

    def __str__(self) -> str:
        return f"{(self.at - _EPOCH) // timedelta(microseconds=1)}-{self.pk}"

    @classmethod
    def parse(cls, text: str) -> Key | None:
        """Return the key, or None for any other text in the address."""
        microseconds, _dash, pk = text.rpartition("-")
        digits = microseconds.removeprefix("-")  # what agents hand in may be older than 1970
        if not (digits.isascii() and digits.isdigit() and pk.isascii() and pk.isdigit()):
            return None
        if len(digits) > 16 or len(pk) > 18:
            return None
        return cls(at=_EPOCH + timedelta(microseconds=int(microseconds)), pk=int(pk))


@dataclass(frozen=True)
class Group:
    """The rows of one target on this page; `total` counts those on other pages too."""

    owner: str
    target_kind: str
    target: str
    title: str
    rows: tuple[InboxRow, ...]
    total: int


@dataclass(frozen=True)
class Section:
    """What stands in one frame: the rows of one target under a header, or targets in a row that have one row each."""

    groups: tuple[Group, ...]

    @property
    def head(self) -> Group | None:
        return self.groups[0] if len(self.groups[0].rows) > 1 else None


@dataclass(frozen=True)
class Page:
    """A page of the list; `older` and `newer` are empty where it ends."""

    groups: tuple[Group, ...]
    newest: str
    older: str
    newer: str

    @property
    def is_empty(self) -> bool:
        return not self.groups

    @property
    def sections(self) -> tuple[Section, ...]:
        runs = groupby(self.groups, key=lambda group: (group.owner, group.target) if len(group.rows) > 1 else None)
        return tuple(Section(tuple(run)) for _target, run in runs)


@dataclass(frozen=True)
class InboxPosition:
    """Where a proposal stands in its list, from 1, and the ids of its neighbours there."""

    number: int
    total: int
    newer: int | None
    older: int | None


def counts(proposals: ProposalQuerySet) -> dict[Tab, int]:
    """Return how many of `proposals` are in each tab, in one query over an index."""
    by_status = dict(proposals.order_by().values_list("status").annotate(Count("pk")))
    return {tab: sum(by_status.get(status, 0) for status in statuses) for tab, statuses in STATUSES.items()}


def waiting_for(user: User) -> int:
    """Return how many proposals wait for this person's decision."""
    return proposals_visible_to(user).filter(status__in=STATUSES[Tab.YOURS]).count()


def listed(proposals: ProposalQuerySet, tab: Tab, filters: InboxFilters) -> ProposalQuerySet:
    """Return those of `proposals` that are in a tab and match the filters, unordered."""
    return filters.apply(proposals.filter(status__in=STATUSES[tab]), tab)


def page(
    proposals: ProposalQuerySet,
    tab: Tab,
    *,
    before: Key | None = None,
    after: Key | None = None,
    viewer: User | None = None,
) -> Page:
    """Return a page of `proposals`, newest first, below `before` or above `after`, as `viewer` sees it."""
    column = _column(tab)
    # Of several owners the index gives the ids in no order: ids are sorted in 2 ms, 10,000 whole rows took 25.
    if after:
        ids = _ids(_above(proposals, column, after).order_by(column, "id"))
        more_above, more_below = len(ids) > PAGE_SIZE, True
        ids = ids[:PAGE_SIZE][::-1]
    else:
        ids = _ids((_below(proposals, column, before) if before else proposals).order_by(f"-{column}", "-id"))
        more_above, more_below = before is not None, len(ids) > PAGE_SIZE
        ids = ids[:PAGE_SIZE]
    rows = Proposal.objects.select_related("agent", "decided_by").in_bulk(ids)
    found = [rows[pk] for pk in ids if pk in rows]
    if not found:
        return Page(groups=(), newest="", older="", newer="")
    totals = _totals(proposals, found) if more_above or more_below else {}
    newest, oldest = _key(found[0], column), _key(found[-1], column)
    return Page(
        groups=_grouped(found, totals, viewer),
        newest=newest,
        older=oldest if more_below else "",
        newer=newest if more_above else "",
    )


def arrived(proposals: ProposalQuerySet, tab: Tab, since: Key) -> int:
    """Return how many of `proposals` came after the newest the reader has."""
    return _above(proposals, _column(tab), since).count()


def next_for(user: User, after: Proposal, listing: Listing) -> Proposal | None:
    """Return the proposal to look at once `after` is decided: the one below it in the list, else the first of it.

    Args:
        listing: what the reader came from. What is decided already is no work: from there it is the whole queue.
    """
    filters = listing.filters if listing.tab is Tab.YOURS else InboxFilters()
    waiting = listed(proposals_visible_to(user), Tab.YOURS, filters).exclude(pk=after.pk)
    queue = waiting.order_by("-created_at", "-id")
    return _below(queue, "created_at", Key(after.created_at, after.pk)).first() or queue.first()


def place_of(user: User, proposal: Proposal, listing: Listing) -> InboxPosition | None:
    """Return where `proposal` stands in a list, in three queries that read no other row whole; None when it is not
    in the list."""
    column = _column(listing.tab)
    at = getattr(proposal, column)
    if at is None:
        return None
    proposals = listed(proposals_visible_to(user), listing.tab, listing.filters).order_by()
    above = Q(**{f"{column}__gt": at}) | Q(**{column: at, "pk__gt": proposal.pk})
    counted = proposals.aggregate(
        total=Count("pk"), above=Count("pk", filter=above), here=Count("pk", filter=Q(pk=proposal.pk))
    )
    if not counted["here"]:
        return None
    key = Key(at, proposal.pk)
    newer = _above(proposals, column, key).order_by(column, "id").values_list("pk", flat=True).first()
    older = _below(proposals, column, key).order_by(f"-{column}", "-id").values_list("pk", flat=True).first()
    return InboxPosition(counted["above"] + 1, counted["total"], newer, older)


def last_decisions(proposals: ProposalQuerySet) -> list[Proposal]:
    """Return what was decided last, for the page that says nothing waits."""
    return list(proposals.decided().select_related("agent", "decided_by").order_by("-decided_at", "-id")[:3])


def titles_of_targets(proposals: ProposalQuerySet, most: int) -> dict[str, str]:
    """Return the titles of the first `most` targets of `proposals` by label, as their newest proposals have them."""
    # In two steps, of which the first is answered by an index, for any number of proposals.
    newest = proposals.order_by("target").values_list("target").annotate(Max("pk"))[:most]
    titles = Proposal.objects.filter(pk__in=[pk for _target, pk in newest]).values_list("target", "target_title")
    return dict(titles.order_by("target_title"))


def _ids(proposals: ProposalQuerySet) -> list[int]:
    return list(proposals.values_list("pk", flat=True)[: PAGE_SIZE + 1])


def _column(tab: Tab) -> str:
    return {Tab.DECIDED: "decided_at", Tab.AGENT: "handed_back_at"}.get(tab, "created_at")


def _below(proposals: ProposalQuerySet, column: str, key: Key) -> ProposalQuerySet:
    # The first condition is implied by the others; it lets the index find the place.
    at = {f"{column}__lte": key.at}
    return proposals.filter(**at).exclude(Q(**{column: key.at}) & Q(pk__gte=key.pk))


def _above(proposals: ProposalQuerySet, column: str, key: Key) -> ProposalQuerySet:
    at = {f"{column}__gte": key.at}
    return proposals.filter(**at).exclude(Q(**{column: key.at}) & Q(pk__lte=key.pk))


def _key(proposal: Proposal, column: str) -> str:
    return str(Key(getattr(proposal, column), proposal.pk))


def _totals(proposals: ProposalQuerySet, found: list[Proposal]) -> dict[tuple[str, str], int]:
    # Two lists rather than pairs: the index over owner, target and status then answers alone. Pairs that
    # are not on the page are counted too and not asked for.
    on_page = proposals.filter(owner__in={row.owner for row in found}, target__in={row.target for row in found})
    counted = on_page.order_by().values_list("owner", "target").annotate(Count("pk"))
    return {(owner, target): n for owner, target, n in counted}


def _grouped(found: list[Proposal], totals: dict[tuple[str, str], int], viewer: User | None) -> tuple[Group, ...]:
    by_target: dict[tuple[str, str, str], list[InboxRow]] = {}
    for row in rows_of(found, viewer=viewer):
        by_target.setdefault((row.proposal.owner, row.proposal.target_kind, row.proposal.target), []).append(row)
    return tuple(
        Group(
            owner=key[0],
            target_kind=key[1],
            target=key[2],
            # A redacted one has the label or the id only.
            title=next((row for row in rows if not row.proposal.is_redacted), rows[0]).proposal.target_title,
            rows=tuple(rows),
            total=max(totals.get((key[0], key[2]), 0), len(rows)),
        )
        for key, rows in by_target.items()
    )
