"""Rules that earn trust: making and changing them, and applying what one lets through.

Which rule holds for a change is `approvals.review.trust`. Called through `approvals.services`; `approvals.recovery`
finishes what a crash interrupted.
"""

from functools import partial

import structlog
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Agent, Event, Kind, Proposal, ReviewReason, Status, TrustRule, User
from approvals.permissions import may_edit
from approvals.review import trust
from approvals.review.targets import rows_to_write, targets_of
from approvals.services import events
from approvals.services.errors import NotesChanged, Refusal
from approvals.services.preparing import branch_name, finish_preparing, name_notes
from approvals.services.recheck import after_change, recheck
from approvals.services.writing import entry_of, write_main
from memory_app import reads
from memory_app.dolt.connections import dolt
from memory_app.dolt.placement import database_of
from memory_app.dolt.types import Commit
from memory_app.models import Change, TargetKind
from memory_app.writing import commits, ledger, rows

# -- An owner makes, changes and deletes rules of trust; staff do it in the admin.

log = structlog.get_logger(__name__)

#: Rules of one owner: more are not read by anybody, and every call of an agent reads them all.
MOST_RULES = 100

#: Kinds of changes of a block that exists.
KINDS_OF_BLOCKS = (Kind.EDIT, Kind.REWRITE)


def create_rule(*, actor: User, owner: str, agent: str = "", block: str = "", kind: str = "", needs: str) -> TrustRule:
    """Make a rule about an owner's memory.

    Args:
        agent, block, kind: name, label and `Kind` the rule is about; empty for any.
        needs: a value of `TrustRule.Needs`.

    Raises:
        `not_allowed`: this person may not write this memory.
        Refusal: no such agent reaches this memory, there is no such block, or the rule could never hold.
        `rule_taken`: there is a rule about the same changes.
    """
    _require_writer(actor, owner)
    found = None
    if agent:
        found = next((each for each in trust.agents_serving(owner) if each.name == agent), None)
        if found is None:
            raise Refusal(
                _("%(agent)s has no token for this memory, so a rule for it would have no effect.") % {"agent": agent},
                field="agent",
            )
    _require_sensible(owner, block, kind, needs)
    if len(trust.rules_of(owner)) >= MOST_RULES:
        raise Refusal(_("There are %(most)d rules already. Delete one first.") % {"most": MOST_RULES}, field="needs")
    about = {"owner": owner, "agent": found, "block": block, "kind": kind}
    rule, is_new = TrustRule.objects.get_or_create(**about, defaults={"needs": needs, "made_by": actor})
    if not is_new:
        known = {"rule": trust.in_words(trust.as_data(rule))}
        message = _("There is a rule about this already: %(rule)s. Change that one.") % known
        raise Refusal(message, code="rule_taken", rule=rule)
    log.info("trust_rule_made", user_id=owner, rule=trust.as_data(rule), actor=actor.username)
    return rule


def change_rule(*, actor: User, owner: str, rule_id: int, needs: str) -> TrustRule:
    """Change what a rule asks for.

    Raises:
        `not_allowed`, Refusal.
        Refusal: an unknown value.
    """
    rule = _rule(actor, owner, rule_id)
    if needs not in TrustRule.Needs.values:
        raise Refusal(_("Choose what happens."), field="needs")
    TrustRule.objects.filter(pk=rule.pk).update(needs=needs, updated_at=timezone.now())
    rule = _rule(actor, owner, rule_id)  # which may have been deleted this moment
    log.info("trust_rule_changed", user_id=owner, rule=trust.as_data(rule), actor=actor.username)
    return rule


def delete_rule(*, actor: User, owner: str, rule_id: int) -> TrustRule:
    """Delete a rule. What it applied stays, and can be reverted. Return the rule as it was.

    Raises:
        `not_allowed`, Refusal.
    """
    rule = _rule(actor, owner, rule_id)
    data = trust.as_data(rule)
    TrustRule.objects.filter(pk=rule.pk).delete()
    log.info("trust_rule_deleted", user_id=owner, rule=data, actor=actor.username)
    return rule


def _require_writer(actor: User, owner: str) -> None:
    if not may_edit(actor, owner):
        raise Refusal(_("You may not change the rules of this memory."), code="not_allowed")


def _rule(actor: User, owner: str, rule_id: int) -> TrustRule:
    _require_writer(actor, owner)
    rule = TrustRule.objects.filter(owner=owner, pk=rule_id).select_related("agent").first()
    if rule is None:
        raise Refusal(_("This rule was deleted already."))
    return rule


def _require_sensible(owner: str, block: str, kind: str, needs: str) -> None:
    """Raise Refusal for a rule that names nothing, or could never hold."""
    if needs not in TrustRule.Needs.values:
        raise Refusal(_("Choose what happens."), field="needs")
    if kind and kind not in Kind.values:
        raise Refusal(_("Choose a kind of change."), field="kind")
    if kind in (Kind.DELETE, Kind.DELETE_BLOCK):
        raise Refusal(_("Deletions always ask; no rule can change that."), field="kind")
    if block and kind and kind not in KINDS_OF_BLOCKS:
        raise Refusal(_("A block that exists is edited or rewritten: the other kinds are not about it."), field="kind")
    if not block:
        return
    found = reads.find_block(owner, block)
    if found is None:
        raise Refusal(_("There is no block “%(label)s”.") % {"label": block}, field="block")
    if found.read_only:
        raise Refusal(_("This block is read-only: agents cannot change it, whatever a rule says."), field="block")


# -- Apply what a policy or a rule lets through: one commit on main, labelled and reversible.


def finish(
    proposal: Proposal, *, base: reads.Block | None = None, rule: TrustRule | None = None, is_new: bool = False
) -> Proposal:
    """Finish a PREPARING proposal: to APPLIED if a rule or the policy applies it, else to OPEN. Idempotent.

    Both are read when the row is inserted, and again before the commit where that is not the same moment: assessing an
    import takes minutes, and `recover` may finish it even later. A block that changed since it was read is for a
    person: the proposal waits. Notes that changed are read again by the agent: nobody has seen the proposal yet.

    Args:
        base: the block at the revision's base commit, if the caller has read it.
        rule: the rule that lets it through, if the operation has just begun.
        is_new: the operation has just begun, so the log is not searched for its commit.

    Raises:
        NotesChanged: a note changed since; the proposal is deleted.
    """
    is_of_block = proposal.target_kind == TargetKind.BLOCK
    if not proposal.auto_applied:
        try:
            return finish_preparing(proposal, base=base)
        except rows.TargetMoved as error:
            if is_of_block:
                raise
            commits.drop_branch(proposal.owner, proposal.current_revision.branch)
            raise _discarded(proposal) from error
    done = None if is_new else _find_commit(proposal)
    if done is None and not (is_new and proposal.kind != Kind.IMPORT):
        found = _verdict_now(proposal)
        rule = found.rule
        if not found.applies:
            return _let_wait(proposal, base, reason=found.reason)
    try:
        return _apply(proposal, rule=rule, done=done, base=base)
    except (rows.TargetMoved, reads.BlockNotFound) as error:
        if is_of_block:
            return _let_wait(proposal, base)
        raise _discarded(proposal) from error


def _find_commit(proposal: Proposal) -> Commit | None:
    """Return the commit that applied the proposal, when a process died after making it."""
    return dolt(proposal.owner).find_operation(proposal.operation, proposal.current_revision.base_commit)


def _apply(
    proposal: Proposal, *, rule: TrustRule | None, done: Commit | None, base: reads.Block | None = None
) -> Proposal:
    """Commit the change to main in the agent's name, and close the proposal as APPLIED.

    Args:
        rule: the rule that lets it through; None for the owner's policy.
        done: the commit, where it was made already.

    Raises:
        TargetMoved: the target changed first. Nothing was written.
    """
    revision = proposal.current_revision
    if done and rule is None:
        found = trust.rule_for(proposal)
        rule = found if found and found.needs != TrustRule.Needs.REVIEW else None
    entry = entry_of(proposal, Change.Action.APPLIED, proposal.operation)
    close = partial(_close_applied, proposal, rule)
    if done is None:
        try:
            write_main(
                rows_to_write(proposal, revision, base=base),
                entry=entry,
                by=proposal.agent,
                subject=f"Apply {proposal.kind} of {proposal.target} by {'rule' if rule else 'policy'}",
                since=revision.base_commit,
                on_record=close,
            )
        except rows.TargetMoved:
            # Another process may have finished it first, after the lease of a large import expired.
            done = _find_commit(proposal)
            if done is None:
                raise
    if done:
        ledger.record_found(database_of(proposal.owner), done, entry, on_record=close)
    if proposal.status != Status.APPLIED:  # another process closed it
        proposal.refresh_from_db()
    log.info("change_applied", proposal=proposal.pk, user_id=proposal.owner, rule=rule.pk if rule else None)
    after_change(proposal.owner, targets_of(proposal, revision), are_new=proposal.kind == Kind.SAVE)
    return proposal


def _verdict_now(proposal: Proposal) -> trust.Verdict:
    """Return whether an interrupted change is still applied at once: policy and rules may have changed since, and its
    agent may have been deactivated."""
    if not Agent.objects.get(pk=proposal.agent_id).is_active:
        return trust.Verdict(applies=False, reason=ReviewReason.RULE)
    return trust.verdict(proposal, trust.Weight.of_proposal(proposal), may_apply=True)  # checked when it was proposed


def _close_applied(proposal: Proposal, rule: TrustRule | None, commit: str) -> None:
    """Set APPLIED, in the transaction that records the commit in the ledger."""
    values = {
        "status": Status.APPLIED,
        "auto_applied": True,
        "review_reason": "",
        "merge_commit": commit,
        "decided_at": timezone.now(),
        "lease_expires_at": None,
    }
    # Also from OPEN: another process that finished it may have read a newer policy and set it to OPEN. The change is
    # in the memory anyway, and can be reverted.
    said = {"text": proposal.reasoning, "commit": commit, **({"rule": trust.as_data(rule)} if rule else {})}
    expected = {"status": [Status.PREPARING, Status.OPEN]}
    events.move(proposal, values, Event.What.APPLIED, expected=expected, actor=proposal.agent, **said)


def _let_wait(proposal: Proposal, base: reads.Block | None, *, reason: str = "") -> Proposal:
    """Turn an automatic change into a proposal that waits for a person."""
    with transaction.atomic(durable=True):
        waits = Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING, auto_applied=True).update(
            auto_applied=False, review_reason=reason, updated_at=timezone.now()
        )
        if waits:
            proposal.revisions.update(branch=branch_name(proposal.pk, proposal.current_revision_number))
            name_notes(proposal)
    now = Proposal.objects.select_related("agent", "decided_by").filter(pk=proposal.pk).first()
    if now is None:  # another process found that it no longer fits
        raise _discarded(proposal)
    if now.status == Status.PREPARING:
        now = finish(now, base=base)
        if now.target_kind == TargetKind.BLOCK:
            recheck(now.owner, targets_of(now, now.current_revision))
            now.refresh_from_db()
    return now


def _discarded(proposal: Proposal) -> NotesChanged:
    """Delete a PREPARING proposal whose notes changed since; return the error to raise."""
    Proposal.objects.filter(pk=proposal.pk, status=Status.PREPARING).delete()
    return NotesChanged([change["id"] for change in proposal.current_revision.note_changes])
