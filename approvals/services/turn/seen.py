"""What a person has seen of a proposal, so that its page says what changed since."""

from __future__ import annotations

from django.utils import timezone

from approvals.models import Attention, Proposal, User


def mark_seen(*, actor: User, proposal: Proposal) -> int:
    """Write that a person looks at the current revision. Return the newest one they had seen before, 0 for none.

    Idempotent: one query when they have seen it already. The caller has checked that they may.
    """
    number = proposal.current_revision_number
    before = Attention.objects.filter(person=actor, proposal=proposal).values_list("seen_revision", flat=True).first()
    if before is not None and before >= number:
        return before
    # In one statement, with a row or without: two windows may open the same page at once. What was snoozed is back.
    Attention.objects.bulk_create(
        [Attention(person=actor, proposal=proposal, seen_revision=number, seen_at=timezone.now())],
        update_conflicts=True,
        unique_fields=["proposal", "person"],
        update_fields=["seen_revision", "seen_at", "snoozed_until"],
    )
    return before or 0
