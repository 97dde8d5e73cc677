"""The rows of the list that an answer replaces, besides the one it is about."""

from __future__ import annotations

from collections.abc import Container, Iterable
from datetime import timedelta
from functools import reduce
from operator import or_

from django.conf import settings
from django.db.models import Q
from django.http import HttpResponse
from django.urls import reverse

from approvals.models import Proposal
from approvals.pages import inbox
from approvals.pages.inbox_rows import InboxRow, rows_of
from approvals.views.request import Request, whole_number

# -- How a person wants lists and changes to look. Cookies, since a session would be a row written at each switch.

_KEPT = timedelta(days=365)


def chosen(request: Request, name: str, offered: Container[str]) -> str:
    """Return which of `offered` was chosen last; empty where none was."""
    kept: str = request.COOKIES.get(_cookie(name), "")
    return kept if kept in offered else ""


def keep(response: HttpResponse, name: str, value: str) -> None:
    """Have the browser remember a choice for a year."""
    response.set_cookie(
        _cookie(name),
        value,
        max_age=_KEPT,
        path=reverse("inbox"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _cookie(name: str) -> str:
    return f"assent_{name}"


def beside(request: Request, decided: Iterable[Proposal]) -> list[Proposal]:
    """Return what is listed beside these proposals and about their targets; the ids come with the form."""
    named = map(whole_number, request.POST.get("beside", "").split(",", inbox.PAGE_SIZE))
    ids = {pk for pk in named if pk is not None}
    decided = list(decided)
    targets = {(each.owner, each.target_kind, each.target) for each in decided}
    if not (ids and targets):
        return []
    about = reduce(or_, (Q(owner=owner, target_kind=kind, target=target) for owner, kind, target in targets))
    others = Proposal.objects.open().filter(about, pk__in=ids).exclude(pk__in=[each.pk for each in decided])
    return list(others.select_related("agent", "decided_by"))


def rows_now(proposals: Iterable[Proposal]) -> list[InboxRow]:
    """Return the rows of proposals as they are now, compared with their targets."""
    return rows_of(proposals, looking=True)
