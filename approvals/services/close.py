"""Close a proposal without merging it: rejected, withdrawn, already in the memory, or expired."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, cast

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Max, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from approvals.models import DECIDABLE, Agent, Event, Mergeability, Proposal, RejectReason, Status, User
from approvals.permissions import ReviewAction
from approvals.review.targets import current_state
from approvals.services import events, repeating, texts
from approvals.services.checks import block_of, proposal_for, raise_not_open
from approvals.services.errors import DecisionRefused, NewRevision, ProposalNotFound, TargetChanged, WithAgent
from approvals.services.preparing import drop_branches
from memory_app.databases.prepared import Prepared

log = structlog.get_logger(__name__)


def reject(
    *,
    actor: User,
    proposal_id: int,
    revision: int,
    reason: str,
    comment: str = "",
    batch: str = "",
    is_with_agent: bool = False,
) -> Proposal:
    """Reject a revision and drop its branch; with `too_private`, also remove every text.

    Args:
        reason: a `RejectReason` value.
        comment: for the agent; forms require it when the reason is `other`.
        batch: of a decision about several, see `decide_several`.
        is_with_agent: as for `approve`.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`.
        ValueError: an unknown reason; forms only offer known ones.
    """
    if reason not in RejectReason.values:
        raise ValueError(f"unknown reject reason {reason!r}")
    proposal = proposal_for(ReviewAction.REJECT, actor, proposal_id, revision, is_with_agent=is_with_agent)
    fields = {"decision_reason": reason, "decision_batch": batch}
    return close(proposal, Status.REJECTED, actor=actor, comment=comment, fields=fields)


def close_already_applied(
    *, actor: User, proposal_id: int, revision: int, seen_sha256: str, is_with_agent: bool = False
) -> Proposal:
    """Close a proposal whose change is already in the memory.

    The agent sees a rejection as a duplicate, with a comment that explains it.

    Args:
        seen_sha256: of the target as the reviewer saw it; a target that changed since may need the proposal again.
        is_with_agent: as for `approve`.

    Raises:
        ProposalNotFound, DecisionRefused: as for `approve`; `TargetChanged` also when the change is no longer there.
    """
    proposal = proposal_for(ReviewAction.REJECT, actor, proposal_id, revision, is_with_agent=is_with_agent)
    target = current_state(proposal, proposal.current_revision)
    is_there = target.assess(proposal.current_revision).state == Mergeability.ALREADY_APPLIED
    if target.sha256 != seen_sha256 or not is_there:
        raise TargetChanged(proposal, block_of(target))
    comment = (
        "This is already in the memory; nothing was left to change."  # the agent reads it; pages say it themselves
    )
    fields = {"decision_reason": RejectReason.DUPLICATE, "mergeability": Mergeability.ALREADY_APPLIED}
    return close(proposal, Status.REJECTED, actor=actor, comment=comment, fields=fields)


def withdraw(*, agent: Agent, proposal_id: int, comment: str = "", operation: str | None = None) -> Proposal:
    """Withdraw an agent's own proposal, open or with the agent.

    Args:
        operation: 32 hexadecimal digits that identify the call; repeating it returns the withdrawn proposal.

    Raises:
        ProposalNotFound: this agent has no proposal with this number.
        AlreadyDecided, BeingDecided: a person decided first, or is deciding.
    """
    proposal = _OF_AGENT.first(pk=proposal_id, agent=agent.pk)
    if proposal is None:
        raise ProposalNotFound
    if operation and proposal.merge_operation == operation and not proposal.is_redacted:
        return proposal
    if proposal.status not in DECIDABLE:
        raise_not_open(proposal, proposal.current_revision_number)
    try:
        fields = {"merge_operation": operation or ""}
        return close(proposal, Status.WITHDRAWN, actor=agent, comment=comment, fields=fields)
    except (NewRevision, WithAgent):  # another call of the agent amended it, or a person asked for changes
        return withdraw(agent=agent, proposal_id=proposal_id, comment=comment, operation=operation)


_OF_AGENT = Prepared(
    lambda pk, agent: Proposal.objects.filter(pk=pk, agent=agent).select_related("agent").order_by(), pk=int, agent=int
)


def close(
    proposal: Proposal, status: Status, *, actor: events.Actor, comment: str = "", fields: Mapping[str, Any] = {}
) -> Proposal:
    """Close an undecided proposal as it was read, and drop its branches; what is too private loses its texts.

    Args:
        status: REJECTED, WITHDRAWN or EXPIRED.
        actor: None where no person decided.
        fields: more fields of the proposal with their values.
    """
    shown, removes_texts = proposal.current_revision_number, fields.get("decision_reason") == RejectReason.TOO_PRIVATE
    with transaction.atomic(durable=True):
        closed = close_row(proposal, status, actor=actor, comment=comment.strip(), fields=fields)
        if closed and removes_texts:
            texts.remove(proposal, actor=actor)
    if removes_texts or not closed:
        proposal.refresh_from_db()
    if not closed:
        raise_not_open(proposal, shown)
    log.info(f"proposal_{status}", proposal=proposal.pk, user_id=proposal.owner, target=proposal.target)
    drop_branches(proposal)
    if removes_texts:
        texts.collect_soon()
    return proposal


def close_row(
    proposal: Proposal, status: Status, *, actor: events.Actor, comment: str, fields: Mapping[str, Any]
) -> bool:
    """Close the row of a proposal that is as it was read, inside a transaction. Return whether it was."""
    values = {
        "status": status,
        "decided_at": timezone.now(),
        "decided_by_id": actor.pk if isinstance(actor, User) else None,
        "decision_batch": "",  # that of a decision that was undone is not this one's
        "decision_comment": comment,
        **fields,
    }
    reason = str(fields.get("decision_reason", ""))
    closed = events.move(proposal, values, Event.What(status), actor=actor, text=comment, reason=reason)
    if closed and actor is not None and status == Status.REJECTED:
        repeating.remember(proposal)
    return closed


# -- Close proposals that were not decided in time.


def expire(*, now: datetime | None = None) -> int:
    """Close undecided proposals past `expires_at`, also those their agents did not amend. Return how many were closed.

    Args:
        now: the time to compare with, for tests.
    """
    closed = 0
    overdue = Proposal.objects.decidable().filter(expires_at__lte=now or timezone.now()).select_related("agent")
    for proposal in overdue.iterator(chunk_size=200):
        try:
            close(proposal, Status.EXPIRED, actor=None)
        except DecisionRefused:
            continue  # decided at the same time
        closed += 1
    return closed


# -- Remind people of proposals that wait long: first their reviewers, then their owner, each once, before they
# expire.

#: The owner is reminded so long before a proposal expires, if not earlier.
BEFORE_EXPIRY = timedelta(days=7)

_READ = ("expires_at", "reminded_at", "owner_reminded_at")

#: Events after which a proposal waits for a person: it was opened, its agent changed it, or its decision was undone.
COMES = (Event.What.PROPOSED, Event.What.AMENDED, Event.What.REOPENED, Event.What.REVERTED)

_COMINGS = Event.objects.filter(proposal=OuterRef("pk"), what__in=COMES).order_by().values("proposal")
#: Since when a proposal waits for a person: its last coming.
WAITS_SINCE = Coalesce(Subquery(_COMINGS.annotate(last=Max("at")).values("last")), F("created_at"))


def remind(*, now: datetime | None = None) -> int:
    """Record what has waited for so long that people are to be told again. Return how many reminders those were.

    Args:
        now: the time to compare with, for tests.
    """
    now = now or timezone.now()
    after = [days for days in (settings.REMIND_AFTER, settings.REMIND_OWNER_AFTER) if days]
    if not after:
        return 0
    late = Q(created_at__lte=now - min(after)) | Q(expires_at__lte=now + BEFORE_EXPIRY)
    waiting = Proposal.objects.open().filter(late, expires_at__gt=now).order_by("created_at", "pk")
    undone = Q(reminded_at=None) | Q(owner_reminded_at=None) | Q(current_revision_number__gt=1)
    due = waiting.filter(undone).annotate(since=WAITS_SINCE).only("owner", "current_revision_number", *_READ)
    return sum(_remind(each, cast("Any", each).since, now) for each in due.iterator(chunk_size=200))


def due_at(since: datetime, expires_at: datetime) -> tuple[datetime | None, datetime | None]:
    """Return when reviewers, and when the owner, are to be reminded of a proposal; None where that is switched off.

    Seven days before it expires at the latest, but not in the first half of its time; reviewers never after the owner.
    """
    latest = max(expires_at - BEFORE_EXPIRY, since + (expires_at - since) / 2)
    owner = min(since + settings.REMIND_OWNER_AFTER, latest) if settings.REMIND_OWNER_AFTER else None
    reviewers = min(since + settings.REMIND_AFTER, owner or latest) if settings.REMIND_AFTER else None
    return reviewers, owner


def _remind(proposal: Proposal, since: datetime, now: datetime) -> int:
    """Record the reminders that are due; one for each time it waits, so that one whose agent changed it waits anew."""
    reminded = 0
    for column, who, at in zip(
        ("reminded_at", "owner_reminded_at"), ("reviewers", "owner"), due_at(since, proposal.expires_at), strict=True
    ):
        before: datetime | None = getattr(proposal, column)
        if at is None or at > now or (before and before >= since):
            continue
        with transaction.atomic(durable=True):
            if Proposal.objects.open().filter(**{"pk": proposal.pk, column: before}).update(**{column: now}):
                events.record(proposal, Event.What.REMINDED, actor=None, at=now, to=who)
                reminded += 1
    return reminded
