"""After a change to a target: recheck its other open proposals, and update the search index."""

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import structlog
from django.db import DatabaseError
from django.db.models import QuerySet
from django.utils import timezone

from approvals.models import Kind, Mergeability, Proposal, ProposalQuerySet, Revision
from approvals.review.collisions import current_revisions
from approvals.review.targets import current_states
from memory_app.databases.prepared import Prepared, batched
from memory_app.dolt.errors import DoltError
from memory_app.models import TargetKind
from memory_app.runtime import deadlines
from memory_app.runtime.workers import enqueue
from memory_app.search import store

log = structlog.get_logger(__name__)

#: (kind, label or id) pairs, as in the ledger.
Targets = Sequence[Sequence[str]]

#: For changes of more notes than this, all open note proposals of the owner are rechecked.
MANY = 200
#: Proposals checked against one read of their targets.
PORTION = 100
#: Proposals checked inline after a decision; 100 edits take 25 ms, 100 whole texts of 20,000 characters, which are
#: merged, half a second (`benchmarks.siblings`). The others become `unknown`: a proposal's page checks it when it is
#: read, and `recover` checks all.
MOST_INLINE = 400


def after_change(owner: str, targets: Targets, *, are_new: bool = False) -> None:
    """Recheck open proposals on the changed targets, and update the owner's search index.

    A worker does it; this call does it inline where there is none, or where the broker is away. A failure never fails
    the change before it.

    Args:
        are_new: the targets did not exist before, so no proposal can be about them.
    """
    named = [list(target) for target in targets] if len(targets) <= MANY else [[TargetKind.NOTE, ""]]
    try:
        # Usually no other waits, and this query costs a tenth of enqueueing a task.
        may_others_wait = not are_new and bool(_ids_on(owner, named))
    except DatabaseError:  # for example the deadline has passed; a worker has its own
        may_others_wait = True
    if may_others_wait:
        try:
            here = partial(recheck, owner, named, most=MOST_INLINE)
            enqueue("approvals.recheck", owner, named, otherwise=here)
        except DatabaseError:
            log.exception("recheck_failed", user_id=owner)
    store.enqueue_reindex(owner)
    # The change is committed: its call may still answer, even when this has used up the time.
    deadlines.extend()


def recheck(owner: str, targets: Targets, *, most: int | None = None) -> int:
    """Write the mergeability of every open proposal on the changed targets. Return how many there are.

    A proposal that cannot be checked becomes `unknown`, never `clean`.

    Args:
        most: check this many, the oldest first, and set the others to `unknown`. All by default.
    """
    ids = _ids_on(owner, targets)
    checked = ids if most is None else ids[:most]
    _check(owner, checked)
    if left := ids[len(checked) :]:
        Proposal.objects.decidable().filter(pk__in=left).update(mergeability=Mergeability.UNKNOWN)
    return len(ids)


def recheck_unknown() -> int:
    """Check the open proposals that are `unknown`. Return how many no longer are."""
    unknown = Proposal.objects.decidable().filter(mergeability=Mergeability.UNKNOWN)
    by_owner: defaultdict[str, list[int]] = defaultdict(list)
    for owner, pk in unknown.order_by("id").values_list("owner", "pk"):
        by_owner[owner].append(pk)
    for owner, ids in by_owner.items():
        _check(owner, ids)
    return sum(map(len, by_owner.values())) - unknown.count() if by_owner else 0


def _check(owner: str, ids: Sequence[int]) -> None:
    """Compare proposals with their current targets, and write the mergeability that changed."""
    for portion in batched(ids, PORTION):
        some = list(Proposal.objects.decidable().filter(pk__in=portion).order_by("id"))
        pairs = list(current_revisions(some))
        states = mergeability_of(owner, pairs)
        # One statement per new state: writing 200 rows one by one took as long as the decision itself.
        changed: defaultdict[tuple[Mergeability, int], list[int]] = defaultdict(list)
        for (proposal, revision), state in zip(pairs, states, strict=True):
            if proposal.mergeability != state:
                changed[state, revision.number].append(proposal.pk)
        for (state, number), pks in changed.items():
            Proposal.objects.decidable().filter(pk__in=pks, current_revision_number=number).update(
                mergeability=state, updated_at=timezone.now()
            )


def mergeability_of(owner: str, pairs: Sequence[tuple[Proposal, Revision]]) -> list[Mergeability]:
    """Return how each of an owner's proposals stands to its target now; `unknown` where that cannot be read."""
    try:
        targets = current_states(pairs)
    except DoltError:
        log.exception("recheck_failed", user_id=owner, proposals=[proposal.pk for proposal, _ in pairs])
        return [Mergeability.UNKNOWN] * len(pairs)
    return [target.assess(revision).state for target, (_, revision) in zip(targets, pairs, strict=True)]


def _ids_on(owner: str, targets: Targets) -> list[int]:
    """Return the open proposals on the changed targets, the oldest first."""
    if len(targets) == 1 and targets[0][1]:
        ((kind, target),) = targets
        return (_ON_BLOCK if kind == TargetKind.BLOCK else _ON_NOTE).all(owner=owner, target=target)
    return list(_ids(_on(owner, targets)))


def _ids(proposals: ProposalQuerySet) -> QuerySet[Proposal, int]:
    return proposals.order_by("created_at", "id").values_list("pk", flat=True)


def _on(owner: str, targets: Targets) -> ProposalQuerySet:
    labels = [target for kind, target in targets if kind == TargetKind.BLOCK]
    ids = [target for kind, target in targets if kind == TargetKind.NOTE]
    waiting = Proposal.objects.decidable().of_owner(owner)
    on_blocks = waiting.filter(target_kind=TargetKind.BLOCK, target__in=labels)
    if not ids:
        return on_blocks
    if not all(ids):
        return on_blocks | waiting.exclude(target_kind=TargetKind.BLOCK)
    # The replacement of a note may itself have been superseded, in a circle.
    return on_blocks | waiting.about_notes(ids) | waiting.filter(kind=Kind.FORGET)


# Most changes have one target.
_ON_BLOCK = Prepared(lambda owner, target: _ids(_on(owner, [(TargetKind.BLOCK, target)])), owner=str, target=str)
_ON_NOTE = Prepared(lambda owner, target: _ids(_on(owner, [(TargetKind.NOTE, target)])), owner=str, target=str)
