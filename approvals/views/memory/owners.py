"""Whose memory a person may read: the list of owners, and the owner that an address names.

A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.db.models import Count, Min, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from approvals import permissions, services
from approvals.accounts.sign_in import signed_in
from approvals.accounts.viewer import viewer_of
from approvals.models import Proposal, User
from memory_app.models import Change

OWNERS_ON_A_PAGE = 50


@dataclass(frozen=True)
class OwnerRow:
    """A person in the list of whose memory may be read.

    Args:
        waiting: how many proposals about them are open.
        oldest: when the first of these was made.
        last: when their memory last changed.
    """

    person: User
    waiting: int
    oldest: datetime | None
    last: datetime | None


#: What the list can be ordered by, most pressing first; by name otherwise.
SORTS: dict[str, Callable[[OwnerRow], tuple[bool, float]]] = {
    "waiting": lambda row: (not row.waiting, -row.waiting),
    "oldest": lambda row: (row.oldest is None, row.oldest.timestamp() if row.oldest else 0),
    "active": lambda row: (row.last is None, -row.last.timestamp() if row.last else 0),
}


def owner_rows(people: Sequence[User]) -> list[OwnerRow]:
    """Return what waits for each person and when their memory changed, in two queries."""
    names = [person.username for person in people]
    open_ones = Proposal.objects.open().filter(owner__in=names).order_by().values_list("owner")
    waiting = {
        owner: (number, oldest)
        for owner, number, oldest in open_ones.annotate(number=Count("pk"), oldest=Min("created_at"))
    }
    # The newest of each from the index: an owner may have ten thousand changes.
    newest = Change.objects.filter(owner=OuterRef("username")).order_by("-at", "-id").values("at")[:1]
    last = dict(User.objects.filter(username__in=names).annotate(last=Subquery(newest)).values_list("username", "last"))
    return [OwnerRow(person, *waiting.get(person.username, (0, None)), last.get(person.username)) for person in people]


@signed_in()
@require_safe
def memories(request: HttpRequest) -> HttpResponse:
    """Show whose memory this person may read; straight to their own when that is all."""
    user = viewer_of(request)
    owners = permissions.readable_owners(user)
    if owners == [user.username]:
        return redirect("memory", owner=user.username)
    people: QuerySet[User] = User.objects.exclude(pk=user.pk).order_by("username")
    if owners is not None:
        people = people.filter(username__in=owners)
    text = request.GET.get("q", "").replace("\0", "").strip()
    for word in text.split():
        people = people.filter(
            Q(username__icontains=word) | Q(first_name__icontains=word) | Q(last_name__icontains=word)
        )
    if after := request.GET.get("after", "").replace("\0", ""):
        people = people.filter(username__gt=after)
    found = list(people[: OWNERS_ON_A_PAGE + 1])
    page = found[:OWNERS_ON_A_PAGE]
    is_all = len(found) == len(page) and not after
    rows = owner_rows([*page, user])
    own = rows.pop()
    sort = request.GET.get("sort", "") if is_all else ""
    if sort in SORTS:
        rows.sort(key=SORTS[sort])
    return render(
        request,
        "memory/owner_list.html" if getattr(request, "htmx", False) else "memory/owners.html",
        {
            "section": "memory",
            "text": text,
            "is_first_page": not after,
            "own": own,
            "people": rows,
            "sort": sort if sort in SORTS else "",
            "may_sort": is_all and len(rows) > 1,
            "next": urlencode({"q": text, "after": page[-1].username}) if len(found) > len(page) else "",
        },
    )


def readable_owner(request: HttpRequest, owner: str) -> User:
    """Return the owner, if this viewer may read their memory. Without a worker, finish first what was cut off.

    Raises:
        Http404: they may not, or there is no such person; which of the two is not said.
    """
    if not permissions.may_read(viewer_of(request), owner):
        raise Http404
    person = User.objects.filter(username=owner).first()
    if person is None:
        raise Http404
    services.recover_on_read()
    return person


def own_memory(request: HttpRequest, owner: str) -> User:
    """Return the viewer, if the memory is their own.

    Raises:
        Http404: it is another's. Tutors and staff may read it, but this is not where they would edit.
    """
    person = readable_owner(request, owner)
    if person.pk != viewer_of(request).pk:
        raise Http404
    return person


def about(request: HttpRequest, owner: User) -> dict[str, Any]:
    """Return what every page of a memory needs: whose it is, and whether it is the viewer's own."""
    return {"section": "memory", "owner": owner, "is_own": owner.pk == viewer_of(request).pk}
