"""Who may see what and do what; the one place that answers (design.md §3 rules 11 and 13).

Pages draw their buttons from `available_actions`, and the services ask the same function again before
they act. Owners do everything on their own memory, tutors read and decide for assigned owners, staff
decide and use the admin; agents read and propose, and are no `User`.
"""

from __future__ import annotations

from enum import StrEnum

from approvals.models import NOT_TAKEN, Proposal, ProposalQuerySet, Status, Tutorship, User


class ReviewAction(StrEnum):
    APPROVE = "approve"
    REJECT = "reject"
    REVERT = "revert"
    REDACT = "redact"


def may_read(user: User, owner: str) -> bool:
    """Whether a person may see an owner's memory and proposals; others are told that it is not there."""
    if not user.is_active:
        return False
    return user.username == owner or user.is_staff or _tutors(user, owner)


def may_decide(user: User, owner: str) -> bool:
    """Whether a person may decide about proposals to an owner's memory: whoever may read it, today."""
    return may_read(user, owner)


def may_edit(user: User, owner: str) -> bool:
    """Whether a person may write an owner's memory directly: the owner, and staff through the admin."""
    return user.is_active and (user.username == owner or user.is_staff)


def may_delete_messages(user: User, owner: str) -> bool:
    """Whether a person may delete what was said with an owner: whoever may write that memory.

    Tutors read it, as evidence; they decide about proposals (design.md §3 rule 11), and deleting what an owner
    said, which nothing brings back, is no such decision.
    """
    return may_edit(user, owner)


def may_redact(user: User, owner: str) -> bool:
    """Whether a person may remove the texts of proposals that were not taken: whoever may write that memory.

    A tutor may reject one as too private, which removes them too; afterwards nothing brings a text back.
    """
    return may_edit(user, owner)


def available_actions(actor: User, proposal: Proposal) -> frozenset[ReviewAction]:
    """What `actor` may do about `proposal` now.

    The owner of an agent is not its proposer and may decide. Whether the change still fits is not asked
    here: that is a matter of texts, and the answer may change between drawing a button and pressing it.
    """
    if not may_decide(actor, proposal.owner):
        return frozenset()
    if proposal.status == Status.APPLIED and not proposal.reverted_by_commit:
        return frozenset({ReviewAction.REVERT})
    if proposal.status in NOT_TAKEN and not proposal.is_redacted and may_redact(actor, proposal.owner):
        return frozenset({ReviewAction.REDACT})
    if proposal.status != Status.OPEN:
        return frozenset()
    return frozenset({ReviewAction.APPROVE, ReviewAction.REJECT})


def readable_owners(user: User) -> list[str] | None:
    """Usernames of the owners a person may read, own name first; None means everyone (staff)."""
    if not user.is_active:
        return []
    if user.is_staff:
        return None
    students = Tutorship.objects.filter(tutor=user).order_by("owner__username")
    return [user.username, *students.values_list("owner__username", flat=True)]


def proposals_visible_to(user: User) -> ProposalQuerySet:
    """The proposals a person may see, for lists."""
    return Proposal.objects.visible_to(readable_owners(user))


def _tutors(user: User, owner: str) -> bool:
    return Tutorship.objects.filter(tutor=user, owner__username=owner).exists()
