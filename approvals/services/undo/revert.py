"""Revert what an approval, or an owner's policy, brought into the memory: one new commit in the undoing person's name.

Commit → ledger and the proposal's row, in one transaction. After a crash in between, `recover` or a repeated call
finishes it: the operation id is derived from the proposal's, so the commit can be found.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Event, Kind, Proposal, User
from approvals.recovery.ledger import retry_after_committing_stray_rows, revert_operation
from approvals.review.targets import targets_of
from approvals.review.undo import UndoPlan, plan_undo
from approvals.services import events
from approvals.services.decide.errors import AlreadyUndone, ChangedSince, NotUndoable, UndoConflict
from approvals.services.recheck import after_change
from approvals.services.turn import repeating
from approvals.services.undo import rest
from approvals.services.whole_blocks.others import take_back_others
from memory_app.dolt.errors import NothingToCommit, RevisionNotFound
from memory_app.dolt.types import Commit
from memory_app.models import Change, DirectWrite, TargetKind
from memory_app.text.trailers import Trailers
from memory_app.writing import authors, commits, ledger, rows

log = structlog.get_logger(__name__)


def revert(proposal: Proposal, actor: User, *, seen_sha256: str | None, comment: str) -> Proposal:
    """Write the memory as it was before the decision. Arguments and errors are those of `undo`."""
    try:
        plan = plan_undo(proposal)
    except RevisionNotFound:
        raise NotUndoable(proposal, _("The memory no longer has the commit of this decision.")) from None
    if not plan.is_exact and (done := _made_before(proposal)):
        return _finish_found(proposal, done)
    _require_doable(plan, seen_sha256)
    entry = _announced(
        ledger.LedgerEntry(
            action=Change.Action.REVERTED,
            owner=proposal.owner,
            targets=plan.targets,
            operation=revert_operation(proposal),
            actor=actor.username,
            agent=proposal.agent.name,
            proposal_id=proposal.pk,
            comment=comment,
        )
    )
    try:
        made = retry_after_committing_stray_rows(
            lambda: commits.write_main(
                plan.writes,
                entry=entry,
                author=authors.person(actor.username, actor.display_name),
                subject=f"Revert {proposal.kind} of {proposal.target}",
                on_record=partial(_close_reverted, proposal, actor, entry.comment),
            )
        )
    except (rows.TargetMoved, NothingToCommit) as error:
        if done := _made_before(proposal):
            return _finish_found(proposal, done)
        DirectWrite.objects.filter(pk=entry.operation, actor=actor.username).delete()
        raise ChangedSince(proposal, _changed_this_moment()) from error
    _after(proposal, made)
    return proposal


def finish_reverting(proposal: Proposal, made: Change) -> None:
    """Update the proposal from the revert's row in the ledger, `made`; used by `recover`."""
    with transaction.atomic(durable=True):
        _close_reverted(proposal, User.objects.get(username=made.actor), made.comment, made.commit)
    _after(proposal, made)


def _close_reverted(proposal: Proposal, person: User, comment: str, commit: str) -> None:
    now = timezone.now()
    row = Proposal.objects.filter(pk=proposal.pk, reverted_by_commit="")
    if row.update(reverted_by_commit=commit, updated_at=now):
        whole = rest.begin(proposal, person, commit)
        repeating.forget(proposal)
        if whole is None:
            repeating.remember(proposal)
        data = {"commit": commit, "rest": whole.pk} if whole else {"commit": commit}
        events.record(proposal, Event.What.REVERTED, actor=person, text=comment, **data)
    proposal.reverted_by_commit = commit


def _after(proposal: Proposal, made: Change) -> None:
    log.info("proposal_reverted", proposal=proposal.pk, user_id=proposal.owner, actor=made.actor)
    after_change(proposal.owner, targets_of(proposal, proposal.current_revision))
    take_back_others(proposal)
    rest.finish(proposal)


def _finish_found(proposal: Proposal, done: Commit) -> Proposal:
    """Finish what another call committed, which may be another person's and may have died since."""
    person = User.objects.get(username=Trailers.of(done.message).person)
    announced = DirectWrite.objects.filter(pk=revert_operation(proposal), actor=person.username).first()
    entry = ledger.LedgerEntry(
        action=Change.Action.REVERTED,
        owner=proposal.owner,
        targets=targets_of(proposal, proposal.current_revision),
        operation=revert_operation(proposal),
        actor=person.username,
        agent=proposal.agent.name,
        proposal_id=proposal.pk,
        comment=announced.comment if announced else "",
    )
    close = partial(_close_reverted, proposal, person, entry.comment)
    _after(proposal, ledger.record(done.hash, entry, at=ledger.time_of(done), on_record=close))
    return proposal


def _made_before(proposal: Proposal) -> Commit | None:
    return commits.find(proposal.owner, revert_operation(proposal), since=proposal.merge_commit)


def _announced(entry: ledger.LedgerEntry) -> ledger.LedgerEntry:
    """Write why the commit is made before it is made, since no words are in the log. Return the entry to record.

    Of two people who undo at once the first is named in the announcement; the other's reason is left out, because a
    rebuilt ledger could not have it either.
    """
    ledger.announce(entry)
    mine = Q(actor=entry.actor) | Q(at__lt=timezone.now() - settings.LEASE)
    is_mine = DirectWrite.objects.filter(mine, pk=entry.operation).update(actor=entry.actor, comment=entry.comment)
    return entry if is_mine else replace(entry, comment="")


def _require_doable(plan: UndoPlan, seen_sha256: str | None) -> None:
    proposal = plan.proposal
    proposal.refresh_from_db(fields=["reverted_by_commit"])
    if proposal.reverted_by_commit:
        raise AlreadyUndone(proposal, _("This was undone already."))
    if not plan.can_be_done:
        raise UndoConflict(proposal, why_not(plan), plan.blocked_by)
    if plan.is_exact if seen_sha256 is None else plan.seen_sha256 == seen_sha256:
        return
    raise ChangedSince(
        proposal,
        _("The memory changed after this decision. Look at what undoing would do now, then confirm it.")
        if seen_sha256 is None
        else _changed_this_moment(),
    )


def why_not(plan: UndoPlan) -> str:
    """Return why a plan cannot be carried out, in a sentence."""
    is_block = plan.proposal.target_kind == TargetKind.BLOCK
    if not plan.is_there:
        return _("The memory no longer has this change, so there is nothing to undo.")
    if plan.over_limit:
        return _("With it undone, the block would be %(over)s characters over its limit.") % {
            "over": f"{plan.over_limit:,}"
        }
    if plan.proposal.kind == Kind.DELETE_BLOCK:
        return _(
            "There is a new block with this label, and undoing would overwrite it. Edit that block by hand instead."
        )
    if is_block:
        return _("A later change touches the same text, and undoing would lose it. Edit the block by hand instead.")
    return _("The note was changed again since, and undoing would lose that change. Edit the note instead.")


def _changed_this_moment() -> str:
    return _("The memory changed this moment. Look again at what undoing would do.")
