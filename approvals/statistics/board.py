"""`/memory/`, the board: for each person whose memory a viewer may read what waits, what was decided, twelve weeks.

All of it is kept (`kept`), in the order of each column: a page costs the same for any number of people. An owner who
tutors no one goes to their own memory.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import NamedTuple

from django.core.paginator import Paginator
from django.db.models import Count, Min, Q, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django_stubs_ext import StrOrPromise

from approvals import permissions
from approvals.accounts.sign_in import viewer_of
from approvals.models import Course, OwnerCounts, Proposal, Status, User, WeekCount
from approvals.models.counts import ORDERS
from approvals.statistics import kept, weeks
from approvals.views.request import reading_page, whole_number

PEOPLE_ON_A_PAGE = 100


class WeekOfOwner(NamedTuple):
    """What happened in one week: proposed then, and decided then."""

    proposed: int = 0
    approved: int = 0
    rejected: int = 0


@dataclass
class BoardRow:
    """One person on the board.

    Args:
        last: when their memory last changed.
        weeks: the last twelve, oldest first.
        waiting: how many proposals about them are open; `oldest_at` is the time of the first.
        recent: status → how many were decided in the last seven days.
    """

    person: User
    last: datetime | None
    weeks: list[WeekOfOwner]
    waiting: int = 0
    oldest_at: datetime | None = None
    recent: Counter[str] = field(default_factory=Counter)

    @property
    def total(self) -> WeekOfOwner:
        """Return the sums of all weeks."""
        return WeekOfOwner(*map(sum, zip(*self.weeks, strict=True)))


class _BoardColumn(NamedTuple):
    """A column of the board that orders it, most pressing first.

    Args:
        is_falling: whether that puts high and late values first, or low and early ones.
    """

    title: StrOrPromise
    choice: StrOrPromise
    is_falling: bool


_COLUMNS = {
    "name": _BoardColumn(_("Name"), _("name"), False),
    "waiting": _BoardColumn(_("Waiting"), _("most waiting"), True),
    "oldest": _BoardColumn(_("Oldest"), _("oldest waiting"), False),
    "decided": _BoardColumn(_("Decided, 7 days"), _("most decided"), True),
    "automatic": _BoardColumn(_("Automatic, 7 days"), _("most automatic changes"), True),
    "active": _BoardColumn(_("Last change"), _("last change"), True),
    "proposed": _BoardColumn(_("12 weeks"), _("most proposed in 12 weeks"), True),
}


@reading_page
def memories(request: HttpRequest) -> HttpResponse:
    """Show the board, or of it the part that a search asks for; straight to their own memory for owners alone."""
    user = viewer_of(request)
    owners = permissions.readable_owners(user)
    if owners == [user.username]:
        return redirect("memory", owner=user.username)
    text = request.GET.get("q", "").replace("\0", "").strip()[:200]
    offered = Course.objects.all() if owners is None else user.courses_tutored.all()
    number = whole_number(request.GET.get("course", ""))
    course = offered.filter(pk=number).first() if number else None
    people = _people(user, owners, text)
    if course:
        people = people.filter(person__courses=course)
    with_proposals = people.filter(waiting__gt=0)
    only_waiting = request.GET.get("people") == "waiting"
    sort = request.GET.get("sort", "")
    if sort.removeprefix("-") not in _COLUMNS:
        sort = "name"
    # Of all people the number alone, which both engines have without looking at each.
    everyone = people.count() if text or course or owners is not None else OwnerCounts.objects.count() - 1
    waiting = with_proposals.count()
    pages = Paginator((with_proposals if only_waiting else people).order_by(*_order(sort)), PEOPLE_ON_A_PAGE)
    pages.count = waiting if only_waiting else everyone
    page, began = pages.get_page(request.GET.get("page")), weeks.starts()
    *rows, own = rows_of([*page, OwnerCounts(person=user)], began)
    most = max((max(week) for row in rows for week in row.weeks), default=0) or 1
    context = {
        "section": "memory",
        "text": text,
        "course": course,
        "courses": offered,
        "own": own,
        "page": page,
        "rows": rows,
        "began": began,
        "frame": f"0 -{most} {len(began)} {1.4 * most:.1f}",
        "everyone": everyone,
        "with_proposals": waiting,
        "only_waiting": only_waiting,
        "sort": sort,
        "columns": [_head_of(name, column, sort) for name, column in _COLUMNS.items()],
        "sorts": [(name, column.choice) for name, column in _COLUMNS.items()],
        "show_numbers": request.GET.get("show") == "numbers",
    }
    part = getattr(request, "htmx", False)
    return render(request, "statistics/board_part.html" if part else "statistics/board.html", context)


def rows_of(people: Iterable[OwnerCounts], began: Sequence[datetime]) -> list[BoardRow]:
    """Return a row for each of these people, in their order.

    Args:
        began: when each of the weeks began, see `weeks.starts`.
    """
    rows = {row.person.username: BoardRow(row.person, row.changed_at, [WeekOfOwner()] * len(began)) for row in people}
    about = Proposal.objects.filter(owner__in=rows).order_by()
    for owner, number, at in about.open().values_list("owner").annotate(Count("pk"), Min("created_at")):
        rows[owner].waiting, rows[owner].oldest_at = number, at
    outcomes = (Status.APPROVED, Status.REJECTED, Status.APPLIED)
    decided = about.filter(status__in=outcomes, decided_at__gte=timezone.now() - weeks.RECENT)
    for owner, status, number in decided.values_list("owner", "status").annotate(Count("pk")):
        rows[owner].recent[status] = number
    counted = WeekCount.objects.filter(owner__in=rows, at__gte=began[0]).exclude(part="waiting")
    by_week = counted.annotate(week=weeks.number_of("at", began)).values_list("owner", "week", "part", "what")
    for owner, week, part, what, number in by_week.annotate(sum=Sum("number")):
        if column := "rejected" if what == kept.ALREADY_APPLIED else _COUNTED_AS.get(part):
            row = rows[owner].weeks[week]
            rows[owner].weeks[week] = row._replace(**{column: getattr(row, column) + number})
    return [*rows.values()]


#: Where a part of a week is shown, see `kept.counted_as`.
_COUNTED_AS = {"proposed": "proposed", "as_proposed": "approved", "changed": "approved", "rejected": "rejected"}


def _people(user: User, owners: list[str] | None, text: str) -> QuerySet[OwnerCounts]:
    people = OwnerCounts.objects.exclude(person=user).select_related("person")
    if owners is not None:
        people = people.filter(person__username__in=owners)
    for word in text.split():
        names = ("username", "first_name", "last_name")
        people = people.filter(reduce(or_, (Q(**{f"person__{name}__icontains": word}) for name in names)))
    return people


def _order(sort: str) -> list[str]:
    """Return the order of a column, turned round after a minus; people without a value are always last."""
    name = sort.removeprefix("-")
    sign = "-" if _COLUMNS[name].is_falling is (sort == name) else ""
    if name not in ORDERS:
        return [f"{sign}name"]
    *first, last = ORDERS[name]
    return [*first, f"{sign}{last}", "name"]


def _head_of(name: str, column: _BoardColumn, sort: str) -> dict[str, StrOrPromise]:
    """Return a column's head: what a press on it orders by, and how it is ordered now, in the words of `aria-sort`."""
    order = ""
    if name == sort.removeprefix("-"):
        order = "descending" if column.is_falling is (sort == name) else "ascending"
    return {"title": column.title, "next": f"-{name}" if sort == name else name, "order": order}
