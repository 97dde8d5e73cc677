"""Decide about several proposals at once: each by the service that decides about one, with a result for each.

What was asked for is kept first (`Batch`), then worked off in portions: for a few seconds by the request, then by a
worker, or a thread where there is none. A portion holds a lease, so that one runs at a time; what a killed process left
is gone on with by `continue_batches`. Each decision names its batch: taken again after a crash, it is recognised. All
of them are undone together. What needs a closer look is left where it is.
"""

import math
import time
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from functools import cached_property, partial

import structlog
from django.conf import settings
from django.db import DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import (
    DECIDABLE,
    TAKEN,
    Batch,
    BatchAction,
    Kind,
    Mergeability,
    Proposal,
    RejectReason,
    ReviewReason,
    Revision,
    Status,
    User,
)
from approvals.models.batches import NOT_REACHED
from approvals.permissions import ReviewAction, proposals_visible_to
from approvals.recovery.recover import find_proposal
from approvals.review.targets import Assessment, BlockState, current_state
from approvals.services.approving import approve
from approvals.services.checks import block_of, proposal_for, require_fit
from approvals.services.close import reject
from approvals.services.errors import (
    AlreadyDecided,
    AlreadyUndone,
    BeingDecided,
    DecisionRefused,
    Refusal,
    TargetChanged,
)
from approvals.services.undo import undo
from memory_app import reads
from memory_app.dolt.errors import EngineUnavailable, OutcomeUnknown
from memory_app.runtime import background, deadlines
from memory_app.runtime.workers import NoWorker, enqueue
from memory_app.text import worddiff

log = structlog.get_logger(__name__)

#: Proposals in one batch: as many as wait on an embedded site, and no page shows more of them.
MOST_AT_ONCE = 2_000
#: Seconds that one task works on a batch before others have their turn, and between two notes of how far it is.
_PORTION, _NOTED_EVERY = 10.0, 0.5
#: Seconds that have to be left of a request's time to begin with another proposal.
_SPARE = 5.0
#: What could not be decided for so long, since the memory did not answer or nothing ran, is not decided any more.
_GIVE_UP_AFTER = timedelta(hours=1)
#: How long what became of a batch is kept, and how long the list names it.
_KEPT_FOR, SHOWN_FOR = timedelta(days=30), timedelta(days=2)

#: The code of an item that failed in a way nobody foresaw.
FAILED = "failed"


@dataclass(frozen=True)
class Item:
    """One proposal, as the person saw it.

    Args:
        seen_sha256: as for `approve`; None where not all of the change was shown, so that it cannot be approved.
    """

    proposal_id: int
    revision: int
    seen_sha256: str | None


@dataclass(frozen=True)
class ItemResult:
    """What became of one item.

    Args:
        proposal: as it is now; None where this person may not see it.
        code: why it was left, for programs; empty when it was done.
        why: the same in a sentence.
    """

    proposal_id: int
    proposal: Proposal | None
    code: str = ""
    why: str = ""

    @property
    def is_done(self) -> bool:
        return not self.code


@dataclass(frozen=True)
class BatchOutcome:
    """How far a batch is: the results so far, in the order of the items."""

    kept: Batch
    results: tuple[ItemResult, ...]

    @property
    def batch(self) -> str:
        return self.kept.pk

    @cached_property
    def done(self) -> tuple[ItemResult, ...]:
        return tuple(result for result in self.results if result.is_done)

    @cached_property
    def left(self) -> tuple[ItemResult, ...]:
        return tuple(result for result in self.results if result.code not in ("", NOT_REACHED))

    @cached_property
    def not_reached(self) -> tuple[ItemResult, ...]:
        return tuple(result for result in self.results if result.code == NOT_REACHED)


def decide_several(
    *,
    actor: User,
    items: Iterable[Item],
    action: ReviewAction,
    reason: str = "",
    comment: str = "",
    batch: str = "",
    seconds: float = math.inf,
) -> BatchOutcome:
    """Approve or reject each of several proposals. A refusal of one does not stop the others.

    Only what is plain is approved: all of the change was seen, it has no warning, and its target is as it was when the
    change was made. A second proposal for a target that this batch has changed is approved too, if its words still
    change exactly as they were shown. Whether the person may decide is asked at each.

    Args:
        items: at most `MOST_AT_ONCE`; each proposal once.
        action: APPROVE or REJECT.
        reason: a `RejectReason` value, to reject.
        batch: 32 hexadecimal digits; a call that is the same in all begins nothing new. Generated by default.
        seconds: how long this call works on it; what is left then is done in the background.

    Raises:
        Refusal: nothing was decided.
        ValueError: another action, or an unknown reason.
    """
    items = list({item.proposal_id: item for item in items}.values())
    if len(items) > MOST_AT_ONCE:
        raise Refusal(_("At most %(most)d proposals are decided at once.") % {"most": MOST_AT_ONCE})
    if action not in (ReviewAction.APPROVE, ReviewAction.REJECT):
        raise ValueError(f"{action} is not decided about several")
    if action is ReviewAction.REJECT and reason not in RejectReason.values:
        raise ValueError(f"unknown reject reason {reason!r}")
    asked = {
        "person": actor,
        "action": action.value,
        "reason": reason,
        "comment": comment.strip(),
        "items": [[item.proposal_id, item.revision, item.seen_sha256] for item in items],
    }
    kept, _is_new = Batch.objects.get_or_create(pk=batch or uuid.uuid4().hex, defaults=asked)
    if any(getattr(kept, name) != value for name, value in asked.items()):
        # Not the same press again, but another decision from a page that was gone back to.
        kept = Batch.objects.create(pk=uuid.uuid4().hex, **asked)
    return _begin(kept, seconds)


def undo_several(*, actor: User, batch: str, seconds: float = math.inf) -> BatchOutcome:
    """Undo every decision of a finished batch, the last one first. What changed since is left, and undone on its page.

    Args:
        seconds: as for `decide_several`.

    Raises:
        Batch.DoesNotExist: this person has no such batch.
        Refusal: it is not finished, or is an undoing itself.
    """
    decided = Batch.objects.get(pk=batch, person=actor)
    if not decided.is_finished or decided.action == BatchAction.UNDO:
        raise Refusal(_("This can be undone once all of it is done."))
    done = [item for item, (code, _why) in zip(decided.items, decided.results, strict=True) if not code]
    asked = {"pk": uuid.uuid4().hex, "person": actor, "action": BatchAction.UNDO, "items": done[::-1]}
    kept, _is_new = Batch.objects.get_or_create(undoes=decided, defaults=asked)
    return _begin(kept, seconds)


def dismiss_batch(*, actor: User, batch: str) -> None:
    """Name a batch on its person's list no more; its page stays."""
    User.objects.filter(pk=actor.pk, last_batch=batch).update(last_batch="")


def outcome_of(kept: Batch) -> BatchOutcome:
    """Return how far a batch is, with the proposals that its person may see."""
    visible = proposals_visible_to(kept.person).select_related("agent", "decided_by")
    proposals = visible.in_bulk([pk for pk, *_seen in kept.items])
    results = [
        ItemResult(pk, proposals.get(pk), code, why)
        for (pk, *_seen), (code, why) in zip(kept.items, kept.results, strict=False)
    ]
    return BatchOutcome(kept, tuple(results))


# -- Working off a batch.


def _begin(kept: Batch, seconds: float) -> BatchOutcome:
    User.objects.filter(pk=kept.person_id).update(last_batch=kept.pk)
    work_on(kept.pk, seconds=seconds)
    kept.refresh_from_db()
    if not kept.is_finished:
        hand_over(kept.pk)
    return outcome_of(kept)


def hand_over(batch: str) -> None:
    """Have the rest of a batch done in the background: by a worker, or a thread of this process where there is none."""
    try:
        enqueue("approvals.work_on_batch", batch)
    except NoWorker:
        background.soon(f"batch {batch}", partial(_work_off, batch))


def continue_batches() -> int:
    """Go on with what a killed process, or a memory that did not answer, left. Return how many batches those are."""
    waiting = list(Batch.objects.without_lease().order_by("created_at").values_list("pk", flat=True))
    for batch in waiting:
        hand_over(batch)
    return len(waiting)


def purge() -> int:
    """Delete batches that were finished long ago; what was decided stays in the proposals. Return how many."""
    old = Batch.objects.filter(finished_at__lt=timezone.now() - _KEPT_FOR)
    return old.delete()[0]


def _work_off(batch: str) -> None:
    while work_on(batch):
        pass


def work_on(batch: str, *, seconds: float = _PORTION) -> bool:
    """Decide about the next proposals of a batch, for so many seconds. Return whether more of them can follow at once.

    That is not so while another run works on it, or while the memory does not answer: then its lease has to end first.
    """
    mine = uuid.uuid4().hex
    lease = {"worker": mine, "lease_expires_at": timezone.now() + settings.LEASE}
    if not Batch.objects.without_lease().filter(pk=batch).update(**lease):
        return False
    kept = Batch.objects.select_related("undoes").get(pk=batch)
    end = time.monotonic() + seconds
    noted_at = time.monotonic()
    try:
        if kept.created_at < timezone.now() - _GIVE_UP_AFTER:
            rest = len(kept.items) - len(kept.results)
            kept.results += [[NOT_REACHED, _("Not reached.")]] * rest
        while len(kept.results) < len(kept.items):
            kept.results.append(_decided(kept, *kept.items[len(kept.results)]))
            now = time.monotonic()
            if now >= end or deadlines.remaining() < _SPARE:
                break
            if now - noted_at >= _NOTED_EVERY:
                noted_at = now
                if not _note(kept, mine, lease_expires_at=timezone.now() + settings.LEASE):
                    return False
    except (EngineUnavailable, OutcomeUnknown, BeingDecided, DatabaseError):
        log.exception("batch_paused", batch=batch, done=len(kept.results))
        deadlines.extend()
        _note(kept, mine)  # the lease stays: what did not answer is asked again when it ends
        return False
    if len(kept.results) < len(kept.items):
        return _note(kept, mine, worker="", lease_expires_at=None)
    if _note(kept, mine, worker="", lease_expires_at=None, finished_at=timezone.now()):
        log.info("decided_several", batch=batch, action=kept.action, **kept.counts)
    return False


def _note(kept: Batch, mine: str, **values: object) -> bool:
    """Write how far it is. Return whether this run still has the lease."""
    return bool(Batch.objects.filter(pk=kept.pk, worker=mine).update(results=kept.results, **values))


def _decided(kept: Batch, pk: int, revision: int, seen_sha256: str | None) -> list[str]:
    """Decide about one item. Return the code and the sentence of its result."""
    item = Item(pk, revision, seen_sha256)
    try:
        actor = User.objects.get(pk=kept.person_id)  # whose rights may have ended since the item before
        try:
            _take(kept, item, actor)
        except BeingDecided:
            find_proposal(pk, actor)  # finishes what a crash left
            _take(kept, item, actor)
    except BeingDecided as error:
        if error.proposal.decision_batch == kept.pk:  # begun by a run that was killed: its lease has to end
            raise
        return [error.code, error.message]
    except Refusal as error:
        return [error.code, error.message]
    except (EngineUnavailable, OutcomeUnknown, DatabaseError):
        raise
    except Exception:  # of one proposal must not stop the others
        log.exception("decision_failed", batch=kept.pk, proposal=pk)
        return [FAILED, _("Something went wrong with it. Open it to decide.")]
    return ["", ""]


def _take(kept: Batch, item: Item, actor: User) -> None:
    """Take one decision of a batch, unless it was taken before.

    Raises:
        Refusal, BeingDecided, EngineUnavailable, OutcomeUnknown: as the service that decides about one.
    """
    try:
        if kept.action == BatchAction.UNDO:
            _undo(kept, item, actor)
        elif kept.action == BatchAction.APPROVE:
            _approve(kept, item, actor)
        else:
            reject(
                actor=actor,
                proposal_id=item.proposal_id,
                revision=item.revision,
                reason=kept.reason,
                comment=kept.comment,
                batch=kept.pk,
            )
    except AlreadyUndone:
        return
    except AlreadyDecided as error:
        is_own = error.proposal.decision_batch == kept.pk and error.proposal.decided_by_id == actor.pk
        if kept.action == BatchAction.UNDO or not is_own:
            raise


def _undo(kept: Batch, item: Item, actor: User) -> None:
    proposal = find_proposal(item.proposal_id, actor)
    if proposal.status in DECIDABLE or (proposal.status in TAKEN and proposal.reverted_by_commit):
        return  # undone before
    if proposal.decision_batch != kept.undoes_id:
        raise AlreadyDecided(proposal, _("It was decided anew since."))
    undo(actor=actor, proposal_id=item.proposal_id)


def require_plain(proposal: Proposal, assessment: Assessment | None) -> None:
    """Raise DecisionRefused unless a proposal may be approved among others: the same rule for every list.

    Args:
        assessment: how it stands to its target now; None when that is not known.
    """
    if proposal.risks:
        raise DecisionRefused(proposal, _("It has a warning. Open it to decide."))
    if proposal.kind == Kind.DELETE_BLOCK:
        raise DecisionRefused(proposal, _("It deletes a whole block. Open it to decide."))
    if proposal.review_reason == ReviewReason.REPEATED:
        raise DecisionRefused(proposal, _("It was rejected or undone before. Open it to decide."))
    if assessment is None:
        raise DecisionRefused(proposal, _("Whether it still fits could not be checked."))
    if assessment.state == Mergeability.CONFLICT:
        raise DecisionRefused(proposal, _("It no longer fits. Open it to decide."))
    if assessment.state == Mergeability.ALREADY_APPLIED:
        raise DecisionRefused(proposal, _("It is already in the memory. Open it to close it."))
    if assessment.is_stale:
        raise DecisionRefused(proposal, _("The text changed since it was proposed. Open it to decide."))


def _approve(kept: Batch, item: Item, actor: User) -> None:
    proposal = proposal_for(ReviewAction.APPROVE, actor, item.proposal_id, item.revision)
    revision = proposal.current_revision
    target = current_state(proposal, revision)
    if item.seen_sha256 is None:
        require_plain(proposal, target.assess(revision))
        raise DecisionRefused(proposal, _("Only a part of it was shown. Open it to decide."))
    if target.sha256 == item.seen_sha256:
        require_plain(proposal, target.assess(revision))
    elif isinstance(target, BlockState) and _was_moved(kept, proposal, item.seen_sha256, target):
        _require_same_words(proposal, revision, target)
    else:
        raise TargetChanged(proposal, block_of(target))
    approve(
        actor=actor,
        proposal_id=item.proposal_id,
        revision=item.revision,
        seen_sha256=target.sha256,
        comment=kept.comment,
        batch=kept.pk,
    )


def _was_moved(kept: Batch, proposal: Proposal, seen_sha256: str, target: BlockState) -> bool:
    """Whether a block is as this batch left it, which saw it before as `seen_sha256`."""
    same_target = Proposal.objects.on_target(proposal.owner, proposal.target_kind, proposal.target)
    done = same_target.filter(decision_batch=kept.pk, status=Status.APPROVED).order_by("-decided_at", "-id")
    last = done.first()
    seen = {sha256 for pk, _revision, sha256 in kept.items if pk in set(done.values_list("pk", flat=True))}
    if last is None or seen_sha256 not in seen:
        return False
    left = reads.find_block(last.owner, last.target, last.merge_commit)  # somebody may have changed it since
    return left is not None and left.sha256 == target.sha256


def _require_same_words(proposal: Proposal, revision: Revision, target: BlockState) -> None:
    """Raise unless the change makes of the target now, which this batch changed, what was shown of it before."""
    assessment = target.assess(revision)
    require_fit(proposal, assessment)
    if proposal.risks or target.block is None or assessment.result_text is None:
        require_plain(proposal, assessment)
        return
    shown = worddiff.diff(revision.base_text, revision.result_text)
    now = worddiff.diff(target.block.body, assessment.result_text)
    if _changed_words(shown) != _changed_words(now):
        raise DecisionRefused(
            proposal, _("Another change you approved with it touches the same text. Open it to decide.")
        )


def _changed_words(segments: Iterable[worddiff.Segment]) -> list[tuple[str, str]]:
    return [(segment.kind, segment.text) for segment in segments if segment.kind != "same"]
