"""The board: for each person whose memory a viewer may read what waits, what was decided lately, and twelve weeks.

Five queries for any number of people, answered by indexes. HTTP is `board_page`, pictures are `drawing`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Count, Max, Min, OuterRef, Q, Subquery
from django.utils import timezone

from approvals.models import Proposal, ProposalQuerySet, Status, User
from approvals.statistics import weeks
from memory_app.models import Change

#: With more people the queries look at everyone's proposals and the rest is left out here: SQLite takes so many values.
_MOST_NAMED = 1_000

#: What was proposed for a person to decide: everything but automatic changes, and what is being prepared.
ASKED = tuple(status for status in Status if status not in (Status.APPLIED, Status.PREPARING))


@dataclass(frozen=True)
class WeekOfOwner:
    """What happened in one week: proposed then, and decided then."""

    proposed: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class BoardRow:
    """One person on the board.

    Args:
        waiting: how many proposals about them are open; `oldest` is the id of the first and `oldest_at` its time.
        approved, rejected, automatic: decided in the last seven days.
        last: when their memory last changed.
        weeks: the last twelve, oldest first.
    """

    username: str
    name: str
    is_active: bool
    waiting: int
    oldest: int | None
    oldest_at: datetime | None
    approved: int
    rejected: int
    automatic: int
    last: datetime | None
    weeks: tuple[WeekOfOwner, ...]

    @property
    def proposed(self) -> int:
        """Return how much was proposed in all the weeks."""
        return sum(week.proposed for week in self.weeks)

    @property
    def decided(self) -> int:
        return self.approved + self.rejected


#: What the board can be ordered by: most pressing first, and the other way round with a minus before the name.
SORTS: dict[str, Callable[[BoardRow], tuple[bool, float | str]]] = {
    "name": lambda row: (False, row.name.casefold()),
    "waiting": lambda row: (False, -row.waiting),
    "oldest": lambda row: (row.oldest_at is None, row.oldest_at.timestamp() if row.oldest_at else 0),
    "decided": lambda row: (False, -row.decided),
    "automatic": lambda row: (False, -row.automatic),
    "active": lambda row: (row.last is None, -row.last.timestamp() if row.last else 0),
    "proposed": lambda row: (False, -row.proposed),
}


def ordered(rows: Iterable[BoardRow], sort: str) -> list[BoardRow]:
    """Return the rows in an order of `SORTS`, turned round after a minus; people without a value are always last."""
    by_name = sorted(rows, key=SORTS["name"])
    key = SORTS[sort.removeprefix("-")]
    if not sort.startswith("-"):
        return sorted(by_name, key=key)
    with_value = [row for row in by_name if not key(row)[0]]
    return [*sorted(with_value, key=key, reverse=True), *(row for row in by_name if key(row)[0])]


def rows_of(people: Sequence[User], began: Sequence[datetime]) -> list[BoardRow]:
    """Return a row for each of these people, in their order.

    Args:
        began: when each of the weeks began, see `weeks.starts`.
    """
    names = [person.username for person in people]
    about = Proposal.objects.order_by()
    if len(names) <= _MOST_NAMED:
        about = about.filter(owner__in=names)
    waiting = {
        owner: (number, oldest, at)
        for owner, number, oldest, at in about.open()
        .values_list("owner")
        .annotate(number=Count("pk"), oldest=Min("pk"), at=Min("created_at"))
    }
    counted, recent = _by_week(about, began)
    last = _last_changes(names)
    return [
        BoardRow(
            person.username,
            person.display_name,
            person.is_active,
            *waiting.get(person.username, (0, None, None)),
            approved=recent[person.username, Status.APPROVED],
            rejected=recent[person.username, Status.REJECTED],
            automatic=recent[person.username, Status.APPLIED],
            last=last.get(person.username),
            weeks=_weeks_of(counted.get(person.username), len(began)),
        )
        for person in people
    ]


#: What happened to one owner's proposals: week and what it was, with how many.
_Weekly = dict[tuple[int, str], int]


def _by_week(
    about: ProposalQuerySet, began: Sequence[datetime]
) -> tuple[dict[str, _Weekly], defaultdict[tuple[str, str], int]]:
    counted: defaultdict[str, _Weekly] = defaultdict(dict)
    recent: defaultdict[tuple[str, str], int] = defaultdict(int)
    proposed = about.filter(status__in=ASKED, created_at__gte=began[0])
    for owner, week, number in proposed.values_list("owner", weeks.number_of("created_at", began)).annotate(
        number=Count("pk")
    ):
        counted[owner][week, "proposed"] = number
    since = timezone.now() - weeks.RECENT
    decided = about.filter(
        status__in=(Status.APPROVED, Status.REJECTED, Status.APPLIED), decided_at__gte=min(began[0], since)
    )
    for owner, status, week, number, lately in decided.values_list(
        "owner", "status", weeks.number_of("decided_at", began)
    ).annotate(number=Count("pk"), lately=Count("pk", filter=Q(decided_at__gte=since))):
        counted[owner][week, status] = number
        recent[owner, status] += lately
    return counted, recent


def _weeks_of(counted: _Weekly | None, number: int) -> tuple[WeekOfOwner, ...]:
    if not counted:
        return (WeekOfOwner(),) * number
    return tuple(
        WeekOfOwner(
            counted.get((week, "proposed"), 0),
            counted.get((week, Status.APPROVED), 0),
            counted.get((week, Status.REJECTED), 0),
        )
        for week in range(number)
    )


def _last_changes(names: Sequence[str]) -> dict[str, datetime]:
    if len(names) > _MOST_NAMED:
        return dict(Change.objects.order_by().values_list("owner").annotate(last=Max("at")))
    # The newest of each from the index: an owner may have ten thousand changes.
    newest = Change.objects.filter(owner=OuterRef("username")).order_by("-at", "-id").values("at")[:1]
    return dict(User.objects.filter(username__in=names).annotate(last=Subquery(newest)).values_list("username", "last"))
