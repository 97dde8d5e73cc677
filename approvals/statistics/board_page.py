"""`/memory/`: the board of the people whose memory a viewer may read. An owner who tutors no one goes to their own."""

from __future__ import annotations

from typing import Any

from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_safe

from approvals import permissions
from approvals.accounts.sign_in import signed_in, viewer_of
from approvals.models import User
from approvals.statistics import board, drawing, weeks
from approvals.views.request import whole_number

PEOPLE_ON_A_PAGE = 200

#: The columns of the board: what orders by them, and whether that puts high or late values first.
_COLUMNS = (
    ("name", "ascending"),
    ("waiting", "descending"),
    ("oldest", "ascending"),
    ("decided", "descending"),
    ("automatic", "descending"),
    ("active", "descending"),
    ("proposed", "descending"),
)
_SORT_NAMES = (
    ("name", gettext_lazy("name")),
    ("waiting", gettext_lazy("most waiting")),
    ("oldest", gettext_lazy("oldest waiting")),
    ("decided", gettext_lazy("most decided")),
    ("automatic", gettext_lazy("most automatic changes")),
    ("active", gettext_lazy("last change")),
    ("proposed", gettext_lazy("most proposed in 12 weeks")),
)
_OTHER_WAY = {"ascending": "descending", "descending": "ascending"}


@signed_in()
@require_safe
def memories(request: HttpRequest) -> HttpResponse:
    """Show the board, or of it the part that a search asks for; straight to their own memory for owners alone."""
    user = viewer_of(request)
    owners = permissions.readable_owners(user)
    if owners == [user.username]:
        return redirect("memory", owner=user.username)
    text = request.GET.get("q", "").replace("\0", "").strip()[:200]
    began = weeks.starts()
    everyone = board.rows_of([*_people(user, owners, text), user], began)
    own = everyone.pop()
    with_proposals = [row for row in everyone if row.waiting]
    only_waiting = request.GET.get("people") == "waiting"
    sort = request.GET.get("sort", "")
    if sort.removeprefix("-") not in board.SORTS:
        sort = "name"
    rows = board.ordered(with_proposals if only_waiting else everyone, sort)
    pages = max(1, -(-len(rows) // PEOPLE_ON_A_PAGE))
    page = min(max(whole_number(request.GET.get("page", "")) or 1, 1), pages)
    shown = rows[(page - 1) * PEOPLE_ON_A_PAGE : page * PEOPLE_ON_A_PAGE]
    context = {
        "section": "memory",
        "text": text,
        "own": own,
        "rows": shown,
        "began": began,
        "most": drawing.highest(row.weeks for row in shown),
        "everyone": len(everyone),
        "with_proposals": len(with_proposals),
        "only_waiting": only_waiting,
        "sort": sort,
        "order": _order(sort),
        "sorts": _SORT_NAMES,
        "show_numbers": request.GET.get("show") == "numbers",
        "page": page,
        "pages": pages,
    }
    part = getattr(request, "htmx", False)
    return render(request, "statistics/board_part.html" if part else "statistics/board.html", context)


def _people(user: User, owners: list[str] | None, text: str) -> QuerySet[User]:
    people: QuerySet[User] = User.objects.exclude(pk=user.pk).order_by("username")
    people = people.only("username", "first_name", "last_name", "is_active")
    if owners is not None:
        people = people.filter(username__in=owners)
    for word in text.split():
        people = people.filter(
            Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word)
        )
    return people


def _order(sort: str) -> dict[str, Any]:
    """Return for each column what a press on it orders by, and how it is ordered now, in the words of `aria-sort`."""
    by = sort.removeprefix("-")
    return {
        name: {
            "next": f"-{name}" if sort == name else name,
            "is": "" if name != by else first if sort == name else _OTHER_WAY[first],
        }
        for name, first in _COLUMNS
    }
