"""`/memory/`, the board: for each person whose memory a viewer may read what waits, what was decided, twelve weeks.

Five queries for any number of people, answered by indexes. An owner who tutors no one goes to their own memory.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from operator import attrgetter
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Count, Max, Min, OuterRef, Q, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from approvals import permissions
from approvals.accounts.sign_in import viewer_of
from approvals.models import Proposal, Status, User
from approvals.statistics import weeks
from approvals.views.request import reading_page
from memory_app.models import Change

PEOPLE_ON_A_PAGE = 200

#: With more people the queries look at everyone's proposals and the rest is left out here: SQLite takes so many values.
_MOST_NAMED = 1_000


class WeekOfOwner(NamedTuple):
    """What happened in one week: proposed then, and decided then."""

    proposed: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass(frozen=True)
class BoardRow:
    """One person on the board.

    Args:
        waiting: how many proposals about them are open; `oldest_at` is the time of the first.
        approved, rejected, automatic: decided in the last seven days.
        last: when their memory last changed.
        weeks: the last twelve, oldest first.
    """

    username: str
    name: str
    is_active: bool
    waiting: int
    oldest_at: datetime | None
    approved: int
    rejected: int
    automatic: int
    last: datetime | None
    weeks: tuple[WeekOfOwner, ...]

    @property
    def total(self) -> WeekOfOwner:
        """Return the sums of all weeks."""
        return WeekOfOwner(*map(sum, zip(*self.weeks, strict=True)))


class _BoardColumn(NamedTuple):
    """A column of the board that orders it, most pressing first.

    Args:
        is_falling: whether that puts high and late values first, or low and early ones.
        key: what rows are ordered by; None where a row has no value.
    """

    title: StrOrPromise
    choice: StrOrPromise
    is_falling: bool
    key: Callable[[BoardRow], Any]


_COLUMNS = {
    "name": _BoardColumn(_("Name"), _("name"), False, lambda row: row.name.casefold()),
    "waiting": _BoardColumn(_("Waiting"), _("most waiting"), True, attrgetter("waiting")),
    "oldest": _BoardColumn(_("Oldest"), _("oldest waiting"), False, attrgetter("oldest_at")),
    "decided": _BoardColumn(_("Decided, 7 days"), _("most decided"), True, lambda row: row.approved + row.rejected),
    "automatic": _BoardColumn(_("Automatic, 7 days"), _("most automatic changes"), True, attrgetter("automatic")),
    "active": _BoardColumn(_("Last change"), _("last change"), True, attrgetter("last")),
    "proposed": _BoardColumn(_("12 weeks"), _("most proposed in 12 weeks"), True, attrgetter("total.proposed")),
}


@reading_page
def memories(request: HttpRequest) -> HttpResponse:
    """Show the board, or of it the part that a search asks for; straight to their own memory for owners alone."""
    user = viewer_of(request)
    owners = permissions.readable_owners(user)
    if owners == [user.username]:
        return redirect("memory", owner=user.username)
    text = request.GET.get("q", "").replace("\0", "").strip()[:200]
    began = weeks.starts()
    *everyone, own = rows_of([*_people(user, owners, text), user], began)
    with_proposals = [row for row in everyone if row.waiting]
    only_waiting = request.GET.get("people") == "waiting"
    sort = request.GET.get("sort", "")
    if sort.removeprefix("-") not in _COLUMNS:
        sort = "name"
    rows = _ordered(with_proposals if only_waiting else everyone, sort)
    page = Paginator(rows, PEOPLE_ON_A_PAGE).get_page(request.GET.get("page"))
    most = max((max(week) for row in page for week in row.weeks), default=0) or 1
    context = {
        "section": "memory",
        "text": text,
        "own": own,
        "page": page,
        "began": began,
        "frame": f"0 -{most} {len(began)} {1.4 * most:.1f}",
        "everyone": len(everyone),
        "with_proposals": len(with_proposals),
        "only_waiting": only_waiting,
        "sort": sort,
        "columns": [_head_of(name, column, sort) for name, column in _COLUMNS.items()],
        "sorts": [(name, column.choice) for name, column in _COLUMNS.items()],
        "show_numbers": request.GET.get("show") == "numbers",
    }
    part = getattr(request, "htmx", False)
    return render(request, "statistics/board_part.html" if part else "statistics/board.html", context)


def rows_of(people: Sequence[User], began: Sequence[datetime]) -> list[BoardRow]:
    """Return a row for each of these people, in their order.

    Args:
        began: when each of the weeks began, see `weeks.starts`.
    """
    names = [person.username for person in people]
    about = Proposal.objects.order_by()
    if len(names) <= _MOST_NAMED:
        about = about.filter(owner__in=names)
    by_owner = about.open().values_list("owner")
    waiting = {owner: (number, at) for owner, number, at in by_owner.annotate(Count("pk"), Min("created_at"))}
    counted: defaultdict[tuple[str, str, int], int] = defaultdict(int)
    recent: defaultdict[tuple[str, str], int] = defaultdict(int)
    proposed = about.filter(status__in=weeks.ASKED, created_at__gte=began[0])
    for owner, week, number in proposed.values_list("owner", weeks.number_of("created_at", began)).annotate(
        number=Count("pk")
    ):
        counted[owner, "proposed", week] = number
    since = timezone.now() - weeks.RECENT
    outcomes = (Status.APPROVED, Status.REJECTED, Status.APPLIED)
    decided = about.filter(status__in=outcomes, decided_at__gte=min(began[0], since))
    for owner, status, week, number, lately in decided.values_list(
        "owner", "status", weeks.number_of("decided_at", began)
    ).annotate(number=Count("pk"), lately=Count("pk", filter=Q(decided_at__gte=since))):
        counted[owner, status, week] = number
        recent[owner, status] += lately
    last = _last_changes(names)
    return [
        BoardRow(
            person.username,
            person.display_name,
            person.is_active,
            *waiting.get(person.username, (0, None)),
            approved=recent[person.username, Status.APPROVED],
            rejected=recent[person.username, Status.REJECTED],
            automatic=recent[person.username, Status.APPLIED],
            last=last.get(person.username),
            weeks=tuple(
                WeekOfOwner(*(counted.get((person.username, what, week), 0) for what in WeekOfOwner._fields))
                for week in range(len(began))
            ),
        )
        for person in people
    ]


def _people(user: User, owners: list[str] | None, text: str) -> QuerySet[User]:
    people: QuerySet[User] = User.objects.exclude(pk=user.pk).order_by("username")
    people = people.only("username", "first_name", "last_name", "is_active")
    if owners is not None:
        people = people.filter(username__in=owners)
    for word in text.split():
        called = Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word)
        people = people.filter(called)
    return people


def _last_changes(names: Sequence[str]) -> dict[str, datetime]:
    if len(names) > _MOST_NAMED:
        return dict(Change.objects.order_by().values_list("owner").annotate(last=Max("at")))
    # The newest of each from the index: an owner may have ten thousand changes.
    newest = Change.objects.filter(owner=OuterRef("username")).order_by("-at", "-id").values("at")[:1]
    return dict(User.objects.filter(username__in=names).annotate(last=Subquery(newest)).values_list("username", "last"))


def _ordered(rows: Iterable[BoardRow], sort: str) -> list[BoardRow]:
    """Return the rows in the order of a column, turned round after a minus; people without a value are always last."""
    rows = sorted(rows, key=_COLUMNS["name"].key)
    column, is_turned = _COLUMNS[sort.removeprefix("-")], sort.startswith("-")
    valued = [row for row in rows if column.key(row) is not None]
    without = [row for row in rows if column.key(row) is None]
    return [*sorted(valued, key=column.key, reverse=column.is_falling is not is_turned), *without]


def _head_of(name: str, column: _BoardColumn, sort: str) -> dict[str, StrOrPromise]:
    """Return a column's head: what a press on it orders by, and how it is ordered now, in the words of `aria-sort`."""
    order = ""
    if name == sort.removeprefix("-"):
        order = "descending" if column.is_falling is (sort == name) else "ascending"
    return {"title": column.title, "next": f"-{name}" if sort == name else name, "order": order}
