"""Who may read what and do what; no other module decides this.

Pages show their buttons according to `available_actions`, and the services call the same function again before they
act. Owners do everything on their own memory, tutors read and decide for assigned owners, staff decide and use the
admin. Agents read and propose; an agent is not a `User`. Who tutors whom is a row for each pair, given by hand or
kept with courses (`accounts.courses`).
"""

from datetime import timedelta
from enum import StrEnum

from django.db.models import Count, Exists, OuterRef, Q
from django.utils import timezone

from approvals.models import TAKEN, Proposal, ProposalQuerySet, Status, Tutorship, User


class ReviewAction(StrEnum):
    APPROVE = "approve"
    APPROVE_SOME = "approve_some"
    EDIT = "edit"
    RESOLVE = "resolve"
    REJECT = "reject"
    UNDO = "undo"
    REDACT = "redact"
    REQUEST_CHANGES = "request_changes"
    BACK_TO_REVIEW = "back_to_review"


def may_read(user: User, owner: str) -> bool:
    """Whether a person may see an owner's memory and proposals; others get the same answer as if it did not exist."""
    if not user.is_active:
        return False
    return user.username == owner or user.is_staff or _tutors(user, owner)


def may_decide(user: User, owner: str) -> bool:
    """Whether a person may decide about proposals to an owner's memory: today, everyone who may read it."""
    return may_read(user, owner)


def may_edit(user: User, owner: str) -> bool:
    """Whether a person may write an owner's memory directly: the owner, and staff through the admin."""
    return user.is_active and (user.username == owner or user.is_staff)


def may_erase(user: User, owner: str) -> bool:
    """Whether a person may erase an owner's memory for good, which is more than an edit: the owner, and superusers."""
    return user.is_active and (user.username == owner or user.is_superuser)


def may_delete_messages(user: User, owner: str) -> bool:
    """Whether a person may delete an owner's conversations: everyone who may edit that memory.

    Tutors read conversations as evidence and decide about proposals. Deleting a conversation cannot be undone and is
    not a decision about a proposal.
    """
    return may_edit(user, owner)


def may_redact(user: User, owner: str) -> bool:
    """Whether a person may remove the texts of what was not accepted: everyone who may edit that memory.

    A tutor may reject a proposal as too private, which also removes its texts. Removed texts cannot be restored.
    """
    return may_edit(user, owner)


def may_comment(user: User, owner: str) -> bool:
    """Whether a person may take part in the thread of a proposal: everyone who may read that memory."""
    return may_read(user, owner)


#: How long after its decision a proposal may be commented on: people ask back, agents answer.
TALK_AFTER_DECISION = timedelta(days=30)


def is_open_for_talk(proposal: Proposal) -> bool:
    """Whether a proposal takes comments: while it is undecided and for 30 days after, unless its texts were removed."""
    if proposal.is_redacted:
        return False
    return proposal.decided_at is None or proposal.decided_at > timezone.now() - TALK_AFTER_DECISION


def deciders_of(owner: str) -> list[User]:
    """Return those who may decide about an owner's memory: the owner, then tutors, then staff, by name."""
    is_tutor = Exists(Tutorship.objects.filter(tutor=OuterRef("pk"), owner__username=owner))
    people = User.objects.filter(Q(username=owner) | Q(is_staff=True) | Q(is_tutor), is_active=True)
    return sorted(people, key=lambda each: (each.username != owner, each.is_staff, each.plain_name.lower()))


def available_actions(actor: User, proposal: Proposal) -> frozenset[ReviewAction]:
    """Return what `actor` may do with `proposal` now.

    The owner of an agent may decide about its proposals. Whether the change still fits is not checked here: the
    texts may change between showing a button and pressing it.
    """
    if not may_decide(actor, proposal.owner):
        return frozenset()
    if proposal.status == Status.OPEN:
        return _ON_OPEN
    if proposal.status == Status.CHANGES_REQUESTED:
        return _WITH_AGENT
    actions = {ReviewAction.UNDO} if can_be_undone(proposal) else set()
    if proposal.may_lose_texts and not proposal.is_redacted and may_redact(actor, proposal.owner):
        actions.add(ReviewAction.REDACT)
    return frozenset(actions)


#: What whoever may decide does with an open proposal.
_ON_OPEN = frozenset(
    {ReviewAction.APPROVE, ReviewAction.APPROVE_SOME, ReviewAction.EDIT, ReviewAction.RESOLVE}
    | {ReviewAction.REJECT, ReviewAction.REQUEST_CHANGES}
)

#: And with one whose agent is asked for changes.
_WITH_AGENT = frozenset({ReviewAction.APPROVE, ReviewAction.REJECT, ReviewAction.BACK_TO_REVIEW})


def can_be_undone(proposal: Proposal) -> bool:
    """Whether there is a decision that a person who may decide can undo.

    What its agent withdrew, only the agent proposes again; removed texts do not come back.
    """
    if proposal.status in TAKEN:
        return not proposal.reverted_by_commit
    return proposal.status in (Status.REJECTED, Status.EXPIRED) and not proposal.is_redacted


def readable_people(user: User) -> dict[str, str] | None:
    """Return the owners a person may read, username and name, themselves first; None means everyone (staff)."""
    if not user.is_active:
        return {}
    if user.is_staff:
        return None
    if user.people_of_request:
        return user.people_of_request
    students = Tutorship.objects.filter(tutor=user).values("owner")
    read = User.objects.filter(Q(pk=user.pk) | Q(pk__in=students)).order_by("username")
    found = list(read.annotate(tokens=Count("agent_tokens")))
    people = {user.username: user.display_name} | {each.username: each.display_name for each in found}
    user.has_token = any(each.tokens for each in found if each.pk == user.pk)
    if user.people_of_request is not None:
        user.people_of_request = people
    return people


def has_token(user: User) -> bool:
    """Whether an agent has a token for this person by name; those of admins for everyone do not count."""
    readable_people(user)
    return user.has_token


def readable_owners(user: User) -> list[str] | None:
    """Return the usernames of the owners a person may read, own name first; None means everyone (staff)."""
    people = readable_people(user)
    return None if people is None else list(people)


def proposals_visible_to(user: User) -> ProposalQuerySet:
    """Return the proposals a person may see."""
    return Proposal.objects.visible_to(readable_owners(user))


def _tutors(user: User, owner: str) -> bool:
    if user.people_of_request is not None:
        return owner in (readable_people(user) or {})
    return Tutorship.objects.filter(tutor=user, owner__username=owner).exists()
