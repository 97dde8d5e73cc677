"""Which rule of an owner's holds for an agent's change, and whether it lets the change through without a person.

Of several rules that match, the one with the most fields holds; of equally specific ones the stricter. A rule holds
before the owner's policy for notes and the site's default. Reads only; `services.trust` makes and changes rules.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from approvals.models import Agent, Kind, Proposal, ReviewReason, TrustRule
from approvals.review.summary import ChangeSummary
from approvals.review.trust.policies import notes_apply_at_once
from approvals.risks import flags
from approvals.services.notes.values import said_beside
from memory_app.databases.prepared import Prepared
from memory_app.text import worddiff

#: Flags of a change that a person sees first, whatever a rule says.
SEEN_FIRST = frozenset({flags.SECRETS, "hidden_characters", "mixed_scripts", "reads_like_instructions", "deletes_much"})

#: From the strictest.
_STRICTNESS = (TrustRule.Needs.REVIEW, TrustRule.Needs.REVIEW_IF_LARGE, TrustRule.Needs.NOTHING)

_OF_OWNER = Prepared(
    lambda owner: TrustRule.objects.filter(owner=owner).select_related("agent").order_by("pk"), owner=str
)


@dataclass(frozen=True)
class Weight:
    """What a rule weighs of a change.

    Args:
        words: added, removed and moved, also in what a note says beside its text.
        deleted_share: of the text before, from 0 to 1.
        risks: keys of `risks.flags`.
    """

    words: int
    deleted_share: float
    risks: Collection[str]

    @classmethod
    def of(cls, summary: ChangeSummary) -> Weight:
        words: int = summary.fields["words_added"] + summary.fields["words_removed"]
        words += worddiff.count_moved_words(summary.segments)
        beside = sum(len(text.split()) for text in summary.beside)
        return cls(words + beside, summary.risk_report.deleted_share, summary.fields["risks"])

    @classmethod
    def of_proposal(cls, proposal: Proposal) -> Weight:
        """Return the weight of a change from the texts that its proposal keeps."""
        revision = proposal.current_revision
        segments = worddiff.diff(revision.base_text, revision.result_text)
        beside = sum(len(text.split()) for text in said_beside(revision.note_changes))
        deleted_share = flags.deleted_share(revision.base_text, segments)
        words = proposal.words_added + proposal.words_removed + worddiff.count_moved_words(segments)
        return cls(words + beside, deleted_share, proposal.risks)

    @property
    def is_small(self) -> bool:
        most_deleted = settings.TRUST_SMALL_DELETED_PERCENT / 100
        return self.words <= settings.TRUST_SMALL_WORDS and self.deleted_share <= most_deleted


@dataclass(frozen=True)
class Verdict:
    """Whether a change is applied at once.

    Args:
        applies: no person is asked.
        reason: why a person is; empty for a block that no rule is about.
        rule: the rule that decided; None for the policy or the default.
    """

    applies: bool
    reason: str = ""
    rule: TrustRule | None = None


def verdict(
    owner: str,
    agent: Agent,
    *,
    kind: str,
    block: str = "",
    weight: Weight | None = None,
    may_apply: bool,
    may_read: bool,
) -> Verdict:
    """Return whether an agent's change is applied at once.

    Args:
        block: the label of the block; empty for notes.
        weight: None before the change is compared; then what depends on it counts as waiting.
        may_apply: whether the agent's token may do more than propose.
        may_read: whether it may read the memory. If not, no rule lets anything through, since that would tell the
            agent about the text it changes; a rule may still ask for a person.
    """
    rule = rule_for(owner, agent, block=block, kind=kind)
    if rule is not None and (may_read or rule.needs != TrustRule.Needs.NOTHING):
        reason = _why_asked(rule, kind, weight, may_read=may_read)
        if reason is None and not may_apply:
            reason = ReviewReason.SCOPE
        return Verdict(reason is None, reason or "", rule)
    if block:
        return Verdict(applies=False)
    if not notes_apply_at_once(owner):
        return Verdict(applies=False, reason=ReviewReason.POLICY)
    return Verdict(applies=True) if may_apply else Verdict(applies=False, reason=ReviewReason.SCOPE)


def rules_of(owner: str) -> list[TrustRule]:
    """Return an owner's rules with their agents."""
    return _OF_OWNER.all(owner=owner)


def rule_for(owner: str, agent: Agent, *, block: str, kind: str) -> TrustRule | None:
    """Return the rule that holds for an agent's change of one kind; None when none does."""
    return strongest(rule for rule in rules_of(owner) if matches(rule, agent.pk, block=block, kind=kind))


def matches(rule: TrustRule, agent_id: int, *, block: str, kind: str) -> bool:
    """Whether a rule is about a change; an empty field of the rule is about any."""
    return rule.agent_id in (None, agent_id) and rule.block in ("", block) and rule.kind in ("", kind)


def strongest(rules: Iterable[TrustRule]) -> TrustRule | None:
    """Return the most specific of some rules; of equally specific ones the strictest."""
    return max(
        rules, key=lambda rule: (_fields_of(rule), -_STRICTNESS.index(TrustRule.Needs(rule.needs))), default=None
    )


def _fields_of(rule: TrustRule) -> int:
    return sum(map(bool, (rule.agent_id, rule.block, rule.kind)))


def _why_asked(rule: TrustRule, kind: str, weight: Weight | None, *, may_read: bool) -> ReviewReason | None:
    """Return why a rule asks for a person; None when it lets the change through."""
    if rule.needs == TrustRule.Needs.REVIEW or kind in (Kind.DELETE, Kind.DELETE_BLOCK) or not may_read:
        return ReviewReason.RULE
    if weight is None:
        return ReviewReason.LARGE
    if flags.SECRETS in weight.risks:
        return ReviewReason.SECRETS
    # Retiring a note takes all of it out of use, however few words change.
    is_small = weight.is_small and kind != Kind.FORGET
    if rule.needs == TrustRule.Needs.REVIEW_IF_LARGE and not is_small:
        return ReviewReason.LARGE
    return ReviewReason.RULE if SEEN_FIRST.intersection(weight.risks) else None


# -- words ----------------------------------------------------------------------------------------


def as_data(rule: TrustRule) -> dict[str, Any]:
    """Return a rule as the event of an automatic change keeps it; the rule itself may be deleted later."""
    agent = rule.agent.name if rule.agent else ""
    return {"id": rule.pk, "agent": agent, "block": rule.block, "kind": rule.kind, "needs": rule.needs}


def in_words(rule: dict[str, Any]) -> str:
    """Return `as_data` in words: "scribe · block goals · apply immediately if small"."""
    parts = [rule.get("agent") or _("every agent")]
    if rule.get("block"):
        parts.append(_("block %(label)s") % {"label": rule["block"]})
    if rule.get("kind"):
        parts.append(kind_in_words(rule["kind"]))
    elif not rule.get("block"):
        parts.append(_("every change"))
    parts.append(needs_in_words(rule.get("needs", "")))
    return " · ".join(parts)


def kind_in_words(kind: str) -> str:
    """Return a kind of change as the forms of rules offer it."""
    kinds: dict[str, str] = {
        Kind.EDIT: _("edits of blocks"),
        Kind.REWRITE: _("rewrites of blocks"),
        Kind.CREATE_BLOCK: _("new blocks"),
        Kind.DELETE_BLOCK: _("deleting blocks"),
        Kind.SAVE: _("new notes"),
        Kind.UPDATE: _("changes of notes"),
        Kind.FORGET: _("retiring notes"),
        Kind.DELETE: _("deleting notes"),
        Kind.IMPORT: _("imports of notes"),
    }
    return kinds.get(kind, kind)


def needs_in_words(needs: str) -> str:
    return str(TrustRule.Needs(needs).label) if needs in TrustRule.Needs.values else needs


# -- whom rules are about -------------------------------------------------------------------------


def _active_agents(owner: str) -> set[int]:
    return set(Agent.objects.filter(is_active=True).values_list("pk", flat=True))


#: Returns the ids of the agents that can reach an owner's memory. Tokens are known to the layer above, which puts its
#: own function here.
serving: list[Callable[[str], set[int]]] = [_active_agents]


def agents_serving(owner: str) -> list[Agent]:
    """Return the agents that can reach an owner's memory now, by name."""
    return list(Agent.objects.filter(is_active=True, pk__in=serving[-1](owner)).order_by("name"))
