"""An owner makes, changes and deletes rules of trust; staff do it in the admin."""

from __future__ import annotations

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import Kind, TrustRule, User
from approvals.permissions import may_edit
from approvals.review import trust
from approvals.services.errors import EditNotAllowed
from approvals.services.trust.refusals import RuleGone, RuleInvalid, RuleTaken
from memory_app import reads

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
        EditNotAllowed: this person may not write this memory.
        RuleInvalid: no such agent reaches this memory, there is no such block, or the rule could never hold.
        RuleTaken: there is a rule about the same changes.
    """
    _require_writer(actor, owner)
    found = None
    if agent:
        found = next((each for each in trust.agents_serving(owner) if each.name == agent), None)
        if found is None:
            raise RuleInvalid(
                "agent",
                _("%(agent)s has no token for this memory, so a rule for it would have no effect.") % {"agent": agent},
            )
    _require_sensible(owner, block, kind, needs)
    if len(trust.rules_of(owner)) >= MOST_RULES:
        raise RuleInvalid("needs", _("There are %(most)d rules already. Delete one first.") % {"most": MOST_RULES})
    rule = TrustRule(owner=owner, agent=found, block=block, kind=kind, needs=needs, made_by=actor)
    try:
        with transaction.atomic():
            rule.save()
    except IntegrityError:
        same = TrustRule.objects.filter(owner=owner, agent=found, block=block, kind=kind).select_related("agent")
        existing = same.first()
        if existing is None:
            raise
        raise RuleTaken(
            existing,
            _("There is a rule about this already: %(rule)s. Change that one.")
            % {"rule": trust.in_words(trust.as_data(existing))},
        ) from None
    log.info("trust_rule_made", user_id=owner, rule=trust.as_data(rule), actor=actor.username)
    return rule


def change_rule(*, actor: User, owner: str, rule_id: int, needs: str) -> TrustRule:
    """Change what a rule asks for.

    Raises:
        EditNotAllowed, RuleGone.
        RuleInvalid: an unknown value.
    """
    _require_writer(actor, owner)
    if needs not in TrustRule.Needs.values:
        raise RuleInvalid("needs", _("Choose what happens."))
    rule = _rule(owner, rule_id)
    TrustRule.objects.filter(pk=rule.pk).update(needs=needs, updated_at=timezone.now())
    rule = _rule(owner, rule_id)  # which may have been deleted this moment
    log.info("trust_rule_changed", user_id=owner, rule=trust.as_data(rule), actor=actor.username)
    return rule


def delete_rule(*, actor: User, owner: str, rule_id: int) -> TrustRule:
    """Delete a rule. What it applied stays, and can be reverted. Return the rule as it was.

    Raises:
        EditNotAllowed, RuleGone.
    """
    _require_writer(actor, owner)
    rule = _rule(owner, rule_id)
    data = trust.as_data(rule)
    TrustRule.objects.filter(pk=rule.pk).delete()
    log.info("trust_rule_deleted", user_id=owner, rule=data, actor=actor.username)
    return rule


def _require_writer(actor: User, owner: str) -> None:
    if not may_edit(actor, owner):
        raise EditNotAllowed(_("You may not change the rules of this memory."))


def _rule(owner: str, rule_id: int) -> TrustRule:
    rule = TrustRule.objects.filter(owner=owner, pk=rule_id).select_related("agent").first()
    if rule is None:
        raise RuleGone(_("This rule was deleted already."))
    return rule


def _require_sensible(owner: str, block: str, kind: str, needs: str) -> None:
    """Raise RuleInvalid for a rule that names nothing, or could never hold."""
    if needs not in TrustRule.Needs.values:
        raise RuleInvalid("needs", _("Choose what happens."))
    if kind and kind not in Kind.values:
        raise RuleInvalid("kind", _("Choose a kind of change."))
    if kind in (Kind.DELETE, Kind.DELETE_BLOCK):
        raise RuleInvalid("kind", _("Deletions always ask; no rule can change that."))
    if block and kind and kind not in KINDS_OF_BLOCKS:
        raise RuleInvalid("kind", _("A block that exists is edited or rewritten: the other kinds are not about it."))
    if not block:
        return
    found = reads.find_block(owner, block)
    if found is None:
        raise RuleInvalid("block", _("There is no block “%(label)s”.") % {"label": block})
    if found.read_only:
        raise RuleInvalid("block", _("This block is read-only: agents cannot change it, whatever a rule says."))
