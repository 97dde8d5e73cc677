"""Whose memory a person may read: the owner that an address names. The list of them is the board (`statistics`).

A viewer who may not read an owner's memory gets the answer of a page that is not there.
"""

from __future__ import annotations

from typing import Any

from django.http import Http404, HttpRequest

from approvals import permissions, services
from approvals.accounts.viewer import viewer_of
from approvals.models import User


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
