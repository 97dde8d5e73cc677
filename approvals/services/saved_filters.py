"""Filters of the review queue that a person keeps under a name."""

from __future__ import annotations

from django.db import transaction
from django.utils.translation import gettext as _

from approvals.models import SavedFilter, User
from approvals.services.errors import Refusal

#: Filters one person can keep; more would not be found again in a line.
MOST = 20

_LONGEST_NAME = SavedFilter._meta.get_field("name").max_length or 0
_LONGEST_QUERY = SavedFilter._meta.get_field("query").max_length or 0


def save_filter(*, actor: User, name: str, query: str) -> SavedFilter:
    """Keep a filter; one with the same name is replaced.

    Args:
        query: the query string of the list, as `Listing.query` gives it.

    Raises:
        Refusal: there is no name, too much of something, or nothing to keep.
    """
    name = " ".join(name.replace("\0", "").split())
    if not name:
        raise Refusal(_("Give the filter a name."))
    if len(name) > _LONGEST_NAME:
        raise Refusal(_("A name has at most %(most)d characters.") % {"most": _LONGEST_NAME})
    if not query:
        raise Refusal(_("There is no filter to save: choose one first."))
    if len(query) > _LONGEST_QUERY:
        raise Refusal(_("This filter is too long to be saved. Shorten what it searches for."))
    with transaction.atomic():
        User.objects.select_for_update().get(pk=actor.pk)  # two windows at once would pass the limit
        others = SavedFilter.objects.filter(person=actor).exclude(name=name)
        if others.count() >= MOST:
            raise Refusal(_("You have %(most)d saved filters. Delete one first.") % {"most": MOST})
        saved, _made = SavedFilter.objects.update_or_create(person=actor, name=name, defaults={"query": query})
    return saved


def delete_filter(*, actor: User, pk: int) -> str:
    """Delete one of this person's filters. Return its name; empty when there is none, or it is gone already."""
    found = SavedFilter.objects.filter(person=actor, pk=pk)
    name = found.values_list("name", flat=True).first() or ""
    found.delete()
    return name
