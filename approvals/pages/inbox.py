"""What the review queue shows: counts for its tabs, pages by key, rows grouped by target.

Queries only, however many proposals wait. A row is `inbox_rows`, narrowing the list is `inbox_filters`, deciding is
`services`, HTTP is `views.inbox`.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import groupby
from typing import NamedTuple

from django.db import connection
from django.db.models import Count, Q

from approvals.models import DECIDED, PENDING, Event, Proposal, ProposalQuerySet, Status, User
from approvals.pages import inbox_rows
from approvals.pages.inbox_filters import MINE, Key, Listing, Order, Sort, Tab
from approvals.pages.inbox_rows import InboxRow
from approvals.permissions import proposals_visible_to
from approvals.review.turn import with_threads

PAGE_SIZE = 25

#: Proposals on the page of all that may be decided together; a thousand take a second or two.
MOST_PLAIN = 1_000

#: Proposals that are looked through for filters and the order of risks, which no index has: 5,000 take 25 ms.
MOST_LOOKED_THROUGH = 5_000

#: The states of the proposals in each tab.
STATUSES: Mapping[Tab, tuple[Status, ...]] = {
    Tab.YOURS: (Status.OPEN,),
    Tab.AGENT: (Status.CHANGES_REQUESTED,),
    Tab.DECIDED: DECIDED,
}


@dataclass(frozen=True)
class Group:
    """The rows of one target on this page; `total` counts those on other pages too."""

    rows: tuple[InboxRow, ...]
    total: int

    @property
    def proposal(self) -> Proposal:
        """Return the proposal that says whose and which target it is: of a redacted one the title is gone."""
        return next((row.proposal for row in self.rows if not row.proposal.is_redacted), self.rows[0].proposal)


@dataclass(frozen=True)
class Page:
    """A page of the list; `older` and `newer` are empty where it ends."""

    groups: tuple[Group, ...] = ()
    newest: str = ""
    older: str = ""
    newer: str = ""

    @property
    def sections(self) -> list[list[Group]]:
        """Return what stands in one frame: a target of several rows under a header, or targets of one row each."""
        runs = groupby(self.groups, key=lambda group: group.proposal.pk if len(group.rows) > 1 else None)
        return [list(run) for _target, run in runs]


class InboxPosition(NamedTuple):
    """Where a proposal stands in its list, from 1, and the ids of its neighbours there."""

    number: int
    total: int
    newer: int | None
    older: int | None


def counts(proposals: ProposalQuerySet) -> dict[Tab, int]:
    """Return how many of `proposals` are in each tab, in one query."""
    by_status = dict(proposals.order_by().values_list("status").annotate(number=Count("pk")))
    return {tab: sum(by_status.get(each, 0) for each in statuses) for tab, statuses in STATUSES.items()}


def waiting_for(user: User) -> int:
    """Return how many proposals wait for this person's decision."""
    return proposals_visible_to(user).filter(status__in=STATUSES[Tab.YOURS]).count()


def listed(
    proposals: ProposalQuerySet, listing: Listing, viewer: User, *, before: Key | None = None, after: Key | None = None
) -> ProposalQuerySet:
    """Return those of `proposals` that are in a list, unordered; "me" is `viewer`.

    Where no index has them, `MOST_LOOKED_THROUGH` are looked through: the first ones, or those next to a key.
    """
    found, filters = _in_tab(proposals, listing.tab), listing.filters
    if listing.is_looked_through:
        part = _looked_through(found, listing, before, after).values_list("pk", flat=True)[:MOST_LOOKED_THROUGH]
        # Read first where a planner guesses: PostgreSQL believed that few have a word, and looked for each of 100,000
        # among the 5,000 (9 s).
        found = Proposal.objects.filter(pk__in=part if connection.vendor == "sqlite" else list(part))
    found = filters.apply(found, listing.tab)
    if filters.assigned:
        found = found.filter(assigned_to=viewer if filters.assigned == MINE else None)
    return found


def looked_until(proposals: ProposalQuerySet, listing: Listing, before: Key | None) -> Key | None:
    """Return where `listed` stops looking through a list; None where it reaches the end."""
    looked = _looked_through(_in_tab(proposals, listing.tab), listing, before, None)
    last = looked.values_list(order_of(listing.tab).column, "pk")[MOST_LOOKED_THROUGH - 1 : MOST_LOOKED_THROUGH + 1]
    return Key(*last[0]) if len(last) > 1 else None


def _looked_through(
    in_tab: ProposalQuerySet, listing: Listing, before: Key | None, after: Key | None
) -> ProposalQuerySet:
    """Return what is looked through, in its order. Risks are known only then: of these, it is the newest."""
    of_owner = in_tab.visible_to([listing.filters.owner] if listing.filters.owner else None)
    if listing.sort is Sort.RISK:
        return order_of(listing.tab).sorted(of_owner)
    order, key, backwards = order_of(listing.tab, listing.sort), after or before, after is not None
    rest = order.beyond(of_owner, key, backwards=backwards) if key else of_owner
    return order.sorted(rest, backwards=backwards)


def _in_tab(proposals: ProposalQuerySet, tab: Tab) -> ProposalQuerySet:
    if tab is Tab.DECIDED:
        # As what it is not: of five states, each a range of an index, the databases sort all before the first page.
        return proposals.filter(decided_at__isnull=False).exclude(status__in=PENDING)
    return proposals.filter(status__in=STATUSES[tab])


def page(
    proposals: ProposalQuerySet,
    order: Order,
    *,
    before: Key | None = None,
    after: Key | None = None,
    gathers: bool = False,
    viewer: User | None = None,
) -> Page:
    """Return a page of `proposals` in an order, below `before` or above `after`, as `viewer` sees it.

    Args:
        gathers: show the same change for several people as one row, where the first of them stands.
    """
    compared, alike = inbox_rows.compare(proposals, order) if gathers else ([], [])
    behind = {pk for group in alike for pk in group[1:]}
    proposals = proposals.exclude(pk__in=behind)
    # Of several owners the index gives the ids in no order: ids are sorted in 2 ms, 10,000 whole rows took 25.
    if after:
        ids = _ids(order.sorted(order.beyond(proposals, after, backwards=True), backwards=True))
        more_above, more_below = len(ids) > PAGE_SIZE, True
        ids = ids[:PAGE_SIZE][::-1]
    else:
        # The beginning of the list is known already, where it was compared.
        ids = [pk for pk in compared if pk not in behind][: PAGE_SIZE + 1] if not before else []
        if len(ids) <= PAGE_SIZE and not (gathers and not before and len(compared) < inbox_rows.MOST_COMPARED):
            ids = _ids(order.sorted(order.beyond(proposals, before) if before else proposals))
        more_above, more_below = before is not None, len(ids) > PAGE_SIZE
        ids = ids[:PAGE_SIZE]
    ids += [pk for first, *others in alike if first in ids for pk in others]
    read = with_threads(Proposal.objects.select_related("agent", "decided_by", "assigned_to"))
    found = inbox_rows.with_contested(read).in_bulk(ids)
    if not found:
        return Page()
    shown = inbox_rows.gather(inbox_rows.rows_of((found[pk] for pk in ids if pk in found), viewer=viewer), alike)
    totals = _totals(proposals, [row.proposal for row in shown]) if more_above or more_below else {}
    newest, oldest = (str(order.key(row.proposal)) for row in (shown[0], shown[-1]))
    return Page(
        groups=_grouped(shown, totals),
        newest=newest if order.sort is Sort.NEWEST else "",
        older=oldest if more_below else "",
        newer=newest if more_above else "",
    )


def plain_page(proposals: ProposalQuerySet, order: Order, *, gathers: bool, viewer: User) -> Page:
    """Return all of `proposals` that may be decided among others, as far as `MOST_PLAIN` go, on one page.

    Whoever decides about them has each of them in view: the page shows nothing else, and the whole of each.

    Args:
        gathers: as for `page`.
    """
    found, alike = inbox_rows.compare(inbox_rows.plain_among(proposals), order, MOST_PLAIN)
    read = inbox_rows.with_contested(with_threads(Proposal.objects.select_related("agent", "assigned_to")))
    rows = read.in_bulk(found)
    shown = inbox_rows.rows_of((rows[pk] for pk in found if pk in rows), viewer=viewer)
    shown = inbox_rows.gather((row for row in shown if row.is_plain), alike if gathers else (), same=True)
    return Page(groups=_grouped(shown, {}))


def arrived(
    proposals: ProposalQuerySet, tab: Tab, since: Key, viewer: User, *, read: Key | None, owners: list[str] | None
) -> tuple[int, int]:
    """Return how many of `proposals` came after the newest the reader has, and how many have something new since.

    That is an amendment, or a comment of somebody else.

    Args:
        read: when the reader got the list; without it, only what came is counted.
        owners: whose proposals the viewer may see; None for everybody's.
    """
    order = order_of(tab)
    new = order.beyond(proposals, since, backwards=True).count()
    if read is None:
        return new, 0
    events = Event.objects.filter(at__gt=read.at, what__in=(Event.What.AMENDED, Event.What.COMMENTED)).order_by()
    events = events if owners is None else events.filter(owner__in=owners)
    by_others = events.exclude(actor=viewer.username, actor_kind=Event.ActorKind.PERSON)
    keys = proposals.filter(pk__in=by_others.values("proposal")).order_by().values_list(order.column, "pk")
    return new, sum(key <= (since.at, since.pk) for key in keys)


def next_for(user: User, after: Proposal, listing: Listing) -> Proposal | None:
    """Return the proposal to look at once `after` is decided: the one below it in the list, else the first of it.

    Args:
        listing: what the reader came from. What is decided already is no work: from there it is the whole queue.
    """
    if listing.tab is not Tab.YOURS:
        listing = Listing()
    waiting = listed(proposals_visible_to(user), listing, user).exclude(pk=after.pk)
    order = order_of(listing.tab, listing.sort)
    return order.sorted(order.beyond(waiting, order.key(after))).first() or order.sorted(waiting).first()


def place_of(user: User, proposal: Proposal, listing: Listing) -> InboxPosition | None:
    """Return where `proposal` stands in a list, in four queries that read no other row whole; None when it is not
    in the list."""
    order = order_of(listing.tab, listing.sort)
    if getattr(proposal, order.column) is None:
        return None
    proposals = listed(proposals_visible_to(user), listing, user).order_by()
    counted = proposals.aggregate(total=Count("pk"), here=Count("pk", filter=Q(pk=proposal.pk)))
    if not counted["here"]:
        return None
    key = order.key(proposal)
    above = order.beyond(proposals, key, backwards=True)
    newer = order.sorted(above, backwards=True).values_list("pk", flat=True).first()
    older = order.sorted(order.beyond(proposals, key)).values_list("pk", flat=True).first()
    return InboxPosition(above.count() + 1, counted["total"], newer, older)


def order_of(tab: Tab, sort: Sort = Sort.NEWEST) -> Order:
    """Return the order of a tab: by when it was proposed, handed back or decided."""
    return Order({Tab.DECIDED: "decided_at", Tab.AGENT: "handed_back_at"}.get(tab, "created_at"), sort)


def last_decisions(proposals: ProposalQuerySet) -> list[Proposal]:
    """Return what was decided last, for the page that says nothing waits."""
    last = _ids(order_of(Tab.DECIDED).sorted(_in_tab(proposals, Tab.DECIDED)))[:3]
    found = Proposal.objects.select_related("agent", "decided_by").in_bulk(last)
    return [found[pk] for pk in last if pk in found]


def _ids(proposals: ProposalQuerySet) -> list[int]:
    return list(proposals.values_list("pk", flat=True)[: PAGE_SIZE + 1])


def _totals(proposals: ProposalQuerySet, found: list[Proposal]) -> dict[tuple[str, str], int]:
    # Two lists rather than pairs: the index over owner, target and status then answers alone. Pairs that
    # are not on the page are counted too and not asked for.
    on_page = proposals.filter(owner__in={row.owner for row in found}, target__in={row.target for row in found})
    counted = on_page.order_by().values_list("owner", "target").annotate(Count("pk"))
    return {(owner, target): n for owner, target, n in counted}


def _grouped(rows: Iterable[InboxRow], totals: dict[tuple[str, str], int]) -> tuple[Group, ...]:
    by_target: defaultdict[tuple[str, str, str, int], list[InboxRow]] = defaultdict(list)
    for row in rows:
        # A change for several people stands under nobody's name.
        alone = row.proposal.pk if row.alike else 0
        by_target[row.proposal.owner, row.proposal.target, row.proposal.target_kind, alone].append(row)
    return tuple(
        Group(tuple(some), total=max(totals.get((owner, target), 0), len(some)))
        for (owner, target, _kind, _alone), some in by_target.items()
    )
