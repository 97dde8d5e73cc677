"""What needs a person's approval, and what an owner lets agents do without it."""

from __future__ import annotations

from django.conf import settings

from approvals.models import Policy
from memory_app.databases.prepared import Prepared

_CHOSEN = Prepared(
    lambda owner: Policy.objects.filter(owner=owner).order_by().values_list("notes", flat=True), owner=str
)


def notes_apply_at_once(owner: str) -> bool:
    """Whether a note an agent saves about `owner` is committed at once, labelled and reversible.

    Blocks wait for a person, unless a rule lets an agent change them (`review.trust`).
    """
    chosen = _CHOSEN.first(owner=owner)
    return (chosen or settings.NOTES_POLICY) == Policy.Notes.APPLY
