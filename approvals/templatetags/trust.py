"""What pages say of rules of trust."""

from __future__ import annotations

from typing import Any

from django import template
from django.utils.translation import gettext as _

from approvals.models import Event, Proposal, TrustRule
from approvals.review import trust
from approvals.review.trust import Acceptance

register = template.Library()


@register.simple_tag
def rule_words(rule: dict[str, Any] | TrustRule) -> str:
    """Return a rule, or what an event keeps of one, in words."""
    return trust.in_words(trust.as_data(rule) if isinstance(rule, TrustRule) else rule)


@register.simple_tag
def kind_words(kind: str) -> str:
    """Return a kind of change as the forms of rules have it."""
    return trust.kind_in_words(kind)


@register.simple_tag
def applied_because(proposal: Proposal) -> str:
    """Return why no person was asked about an automatic change, in a sentence."""
    applied = proposal.events.filter(what=Event.What.APPLIED).first()
    if applied and (rule := applied.data.get("rule")):
        return _("A rule of the owner let it through: %(rule)s.") % {"rule": trust.in_words(rule)}
    return _("The owner’s policy lets agents write notes without asking.")


@register.filter
def in_decisions(found: Acceptance | None) -> str:
    """Return what people decided, in words: "48 of 50 approved unchanged, 1 edited, 1 rejected"."""
    if found is None or not found.total:
        return _("no decisions in the last 12 weeks")
    parts = [_("%(n)d of %(total)d approved unchanged") % {"n": found.as_proposed, "total": found.total}]
    if found.edited:
        parts.append(_("%(n)d edited") % {"n": found.edited})
    if found.rejected:
        parts.append(_("%(n)d rejected") % {"n": found.rejected})
    if found.reverted:
        parts.append(_("%(n)d undone") % {"n": found.reverted})
    return ", ".join(parts)
