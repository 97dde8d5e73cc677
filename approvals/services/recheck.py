"""After a change to a target: its other open proposals are checked again, and search learns of it."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.db import DatabaseError

from approvals.models import Kind, Mergeability, Proposal, ProposalQuerySet
from approvals.targets import standing_of
from memory_app import deadlines, reindexing
from memory_app.dolt.errors import DoltError
from memory_app.workers import NoWorker, hand_over

log = structlog.get_logger(__name__)

#: (kind, label or id) pairs, as the ledger has them.
Targets = Sequence[Sequence[str]]

#: Beyond this many notes in one change, all of an owner's open note proposals are looked at instead.
MANY = 200


def after_change(owner: str, targets: Targets) -> None:
    """Have the open proposals on what changed checked again, and the owner's search index brought up: by a
    worker, inline where there is none.

    Never fails the change it comes after: a broker that is away means checking here and now.
    """
    named = [list(target) for target in targets] if len(targets) <= MANY else [["note", ""]]
    try:
        hand_over("approvals.recheck", owner, named)
    except NoWorker:
        _recheck_here(owner, named)
    reindexing.soon(owner)
    # Whatever time this took, what it comes after is done, and the answer says so.
    deadlines.extend()


def _recheck_here(owner: str, targets: Targets) -> None:
    try:
        recheck(owner, targets)
    except DatabaseError:
        log.exception("recheck_failed", user_id=owner)


def recheck(owner: str, targets: Targets) -> int:
    """Write the mergeability of every open proposal on what changed; how many there are.

    What cannot be checked becomes `unknown`, never `clean`.
    """
    siblings = list(_on(owner, targets))
    for proposal in siblings:
        revision = proposal.current
        try:
            state = standing_of(proposal, revision).assess(revision).state
        except DoltError:
            log.exception("recheck_failed", proposal=proposal.pk)
            state = Mergeability.UNKNOWN
        Proposal.objects.open().filter(pk=proposal.pk, revision=proposal.revision).update(mergeability=state)
    return len(siblings)


def _on(owner: str, targets: Targets) -> ProposalQuerySet:
    labels = [target for kind, target in targets if kind == "block"]
    ids = [target for kind, target in targets if kind == "note"]
    waiting = Proposal.objects.open().of_owner(owner)
    on_blocks = waiting.filter(target_kind="block", target__in=labels)
    if not ids:
        return on_blocks
    if not all(ids):
        return on_blocks | waiting.exclude(target_kind="block")
    # What is to take a note's place may itself be superseded by now, in a circle.
    return on_blocks | waiting.about_notes(ids) | waiting.filter(kind=Kind.FORGET)
