"""What an agent may do without a person: the owner's policy for notes, and the owner's rules. Reads only.

`verdicts` says which rule counts for a change and what it lets through; `services.trust` makes rules and applies.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import astuple, dataclass
from datetime import timedelta
from operator import add
from typing import Any

from django.conf import settings
from django.db.models import Case, Count, Q, QuerySet, Value, When
from django.utils import timezone
from django.utils.translation import gettext as _

from approvals.models import (
    Agent,
    Approval,
    Kind,
    Mergeability,
    Policy,
    Proposal,
    ProposalQuerySet,
    RejectReason,
    ReviewReason,
    Status,
    TrustRule,
    User,
)
from approvals.review.note_changes import said_beside
from approvals.review.summary import ChangeSummary
from approvals.review.targets import WHOLE_KINDS
from approvals.risks import flags
from memory_app.databases.prepared import Prepared
from memory_app.models import TargetKind
from memory_app.text import worddiff

# -- What needs a person's approval, and what an owner lets agents do without it.

_CHOSEN = Prepared(
    lambda owner: Policy.objects.filter(owner=owner).order_by().values_list("notes", flat=True), owner=str
)


def notes_apply_at_once(owner: str) -> bool:
    """Whether a note an agent saves about `owner` is committed at once, labelled and reversible.

    Blocks wait for a person, unless a rule lets an agent change them (`review.trust`).
    """
    return applies(_CHOSEN.first(owner=owner))


def applies(chosen: str | None) -> bool:
    """Whether notes are applied at once under what an owner chose; empty where they chose nothing."""
    return (chosen or settings.NOTES_POLICY) == Policy.Notes.APPLY


def chosen_by(people: QuerySet[User]) -> list[tuple[User, str, list[TrustRule]]]:
    """Return each person with what they chose for notes and `rules_of`, in three queries for any number of people."""
    names = people.order_by().values("username")
    notes = dict(Policy.objects.filter(owner__in=names).values_list("owner", "notes"))
    rules: defaultdict[str, list[TrustRule]] = defaultdict(list)
    for rule in TrustRule.objects.filter(owner__in=names).select_related("agent").order_by("pk"):
        rules[rule.owner].append(rule)
    return [(each, notes.get(each.username, ""), rules[each.username]) for each in people]


# -- Which rule of an owner's holds for an agent's change, and whether it lets the change through without a person.

#: Flags of a change that a person sees first, whatever a policy or a rule says; the last one whatever a rule says.
FLAGGED = frozenset({"hidden_characters", flags.NOT_SHOWN, "mixed_scripts", "reads_like_instructions"})
SEEN_FIRST = FLAGGED | {flags.SECRETS, "deletes_much"}

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


def verdict(proposal: Proposal, weight: Weight, *, may_apply: bool) -> Verdict:
    """Return whether an agent's change is applied at once: never the deletion of a block.

    Args:
        proposal: may be one that is not saved yet.
        may_apply: whether the agent's token may do more than propose.
    """
    rule = rule_for(proposal)
    if rule is not None and proposal.kind != Kind.DELETE_BLOCK:
        reason = _why_asked(rule, proposal.kind, weight)
        if reason is None and not may_apply:
            reason = ReviewReason.SCOPE
        return Verdict(reason is None, reason or "", rule)
    if proposal.target_kind == TargetKind.BLOCK:
        return Verdict(applies=False)
    if not notes_apply_at_once(proposal.owner):
        return Verdict(applies=False, reason=ReviewReason.POLICY)
    reason = _why_held(weight) if may_apply else ReviewReason.SCOPE
    return Verdict(reason is None, reason or "")


def rules_of(owner: str) -> list[TrustRule]:
    """Return an owner's rules with their agents."""
    return _OF_OWNER.all(owner=owner)


def rule_for(proposal: Proposal) -> TrustRule | None:
    """Return the rule that holds for an agent's change; None when none does.

    Of several the most specific one; of equally specific ones the strictest.
    """

    def rank(rule: TrustRule) -> tuple[int, int]:
        fields = sum(map(bool, (rule.agent_id, rule.block, rule.kind)))
        return fields, -_STRICTNESS.index(TrustRule.Needs(rule.needs))

    block = proposal.target if proposal.target_kind == TargetKind.BLOCK else ""
    about = {"block": block, "kind": proposal.kind}
    matching = (rule for rule in rules_of(proposal.owner) if matches(rule, proposal.agent_id, **about))
    return max(matching, key=rank, default=None)


def matches(rule: TrustRule, agent_id: int, *, block: str, kind: str) -> bool:
    """Whether a rule is about a change; an empty field of the rule is about any.

    What asks about new notes or changed ones asks about several in one call too, which are kept as an import.
    """
    asks = kind == Kind.IMPORT and rule.kind in (Kind.SAVE, Kind.UPDATE) and rule.needs != TrustRule.Needs.NOTHING
    return rule.agent_id in (None, agent_id) and rule.block in ("", block) and (asks or rule.kind in ("", kind))


def _why_asked(rule: TrustRule, kind: str, weight: Weight) -> ReviewReason | None:
    """Return why a rule asks for a person; None when it lets the change through."""
    if rule.needs == TrustRule.Needs.REVIEW or kind in (Kind.DELETE, Kind.DELETE_BLOCK):
        return ReviewReason.RULE
    if held := _why_held(weight):
        return held
    # Retiring a note takes all of it out of use, however few words change.
    is_small = weight.is_small and kind != Kind.FORGET
    if rule.needs == TrustRule.Needs.REVIEW_IF_LARGE and not is_small:
        return ReviewReason.LARGE
    return ReviewReason.RULE if SEEN_FIRST.intersection(weight.risks) else None


def flags_of(text: str) -> list[str]:
    """Return the flags of a text of the memory for which a person would see it first, if it came from an agent now."""
    return [risk.key for risk in flags.report("", text).risks if risk.key in SEEN_FIRST]


def _why_held(weight: Weight) -> ReviewReason | None:
    """Return why what a change says keeps it from going in unseen; None when it does not."""
    if flags.SECRETS in weight.risks:
        return ReviewReason.SECRETS
    return ReviewReason.FLAGGED if FLAGGED.intersection(weight.risks) else None


# -- Rules in words.


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
    needs = rule.get("needs", "")
    parts.append(str(dict(TrustRule.Needs.choices).get(needs, needs)))
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


# -- Whom rules are about.


#: Returns the ids of the agents that can reach an owner's memory. Tokens are known to the layer above, which puts its
#: own function here.
serving: list[Callable[[str], set[int]]] = []


def agents_serving(owner: str) -> list[Agent]:
    """Return the agents that can reach an owner's memory now, by name."""
    return list(Agent.objects.filter(is_active=True, pk__in=serving[-1](owner)).order_by("name"))


# -- How often people took what agents proposed: the basis of trusting one with more.

#: How far back decisions count: an agent that has become better, or worse, is judged by what it does now.
PERIOD = timedelta(weeks=12)

_TAKEN_BACK = ~Q(reverted_by_commit="")
_APPROVED = Q(status=Status.APPROVED, reverted_by_commit="")
_AS_PROPOSED = Q(approval__in=["", Approval.AS_PROPOSED])
# What was already in the memory was no mistake of its agent's.
_ALREADY_THERE = Q(decision_reason=RejectReason.DUPLICATE, mergeability=Mergeability.ALREADY_APPLIED)


@dataclass(frozen=True)
class Acceptance:
    """What people decided about some proposals.

    Args:
        as_proposed: approved unchanged.
        edited: approved in part, reworded, or after a conflict was resolved.
        rejected: without those that were closed as already in the memory.
        reverted: approved or automatic, and taken back later.
    """

    as_proposed: int = 0
    edited: int = 0
    rejected: int = 0
    reverted: int = 0

    def __add__(self, other: Acceptance) -> Acceptance:
        return Acceptance(*map(add, astuple(self), astuple(other)))

    @property
    def total(self) -> int:
        return self.as_proposed + self.edited + self.rejected + self.reverted

    @property
    def share(self) -> float | None:
        """Return the share that was approved unchanged, from 0 to 1; None when nothing was decided."""
        return self.as_proposed / self.total if self.total else None


def acceptance(proposals: ProposalQuerySet, *, by: tuple[str, ...] = ("agent__name",)) -> dict[Any, Acceptance]:
    """Return what people decided about `proposals` within `PERIOD`, in groups; one without a decision is not there.

    Args:
        proposals: those the reader may see, narrowed to an owner, an agent or a block.
        by: the fields whose values name a group, such as `("agent__name", "target")`.
    """
    decided = proposals.order_by().filter(decided_at__gte=timezone.now() - PERIOD)
    counted = decided.values_list(*by).annotate(
        as_proposed=Count("pk", filter=_APPROVED & _AS_PROPOSED),
        edited=Count("pk", filter=_APPROVED & ~_AS_PROPOSED),
        rejected=Count("pk", filter=Q(status=Status.REJECTED) & ~_ALREADY_THERE),
        reverted=Count("pk", filter=_TAKEN_BACK),
    )
    groups = {tuple(row[: len(by)]): Acceptance(*row[len(by) :]) for row in counted}
    return {group: found for group, found in groups.items() if found.total}


#: Decisions an agent needs about a block or a kind of note, and the share approved unchanged, before a rule is offered.
ENOUGH, EARNED = 10, 0.9
#: Below this share a rule that lets changes through gets a warning, from so many decisions on.
DOUBTFUL, FEWEST = 0.8, 5
MOST_OFFERED = 3
#: Kinds of notes for which a rule is offered where the owner asks to see notes first.
_OFFERED = (Kind.SAVE, Kind.UPDATE)


@dataclass(frozen=True)
class RuleRecord:
    """A rule, or one that is offered, with what people decided where it holds.

    Args:
        is_idle: it has no effect: its agent is deactivated or has no token for this memory.
    """

    rule: TrustRule
    found: Acceptance
    is_idle: bool = False

    @property
    def is_doubtful(self) -> bool:
        """Whether it lets through what people often changed or rejected."""
        lets_through = self.rule.needs != TrustRule.Needs.REVIEW
        return lets_through and self.found.total >= FEWEST and (self.found.share or 0) < DOUBTFUL


def rules_with_records(
    owner: str, rules: Iterable[TrustRule], agents: Iterable[Agent], *, notes_wait: bool
) -> tuple[list[RuleRecord], list[RuleRecord]]:
    """Return an owner's rules, and rules that agents have earned and the owner does not have, the best founded first.

    Each with what people decided in the last twelve weeks where it holds.

    Args:
        rules, agents: what `rules_of` and `agents_serving` return; the page shows them too.
    """
    serving = {agent.pk: agent for agent in agents}
    label = Case(When(target_kind=TargetKind.BLOCK, then="target"), default=Value(""))
    decided = acceptance(Proposal.objects.of_owner(owner).annotate(block=label), by=("agent", "block", "kind"))
    of_rule: defaultdict[int, Acceptance] = defaultdict(Acceptance)
    earned: defaultdict[tuple[int, str, str], Acceptance] = defaultdict(Acceptance)
    for (agent, block, kind), found in decided.items():
        for rule in rules:
            if matches(rule, agent, block=block, kind=kind):
                of_rule[rule.pk] += found
        # What was decided about whole blocks says nothing about edits of them.
        is_counted = kind not in WHOLE_KINDS if block else notes_wait and kind in _OFFERED
        if is_counted and agent in serving:
            earned[agent, block, "" if block else kind] += found
    records = [RuleRecord(rule, of_rule[rule.pk], rule.agent_id not in (None, *serving)) for rule in rules]
    offered = [
        RuleRecord(TrustRule(agent=serving[agent], block=block, kind=kind), found)
        for (agent, block, kind), found in earned.items()
        if found.total >= ENOUGH
        and (found.share or 0) >= EARNED
        and not any(matches(rule, agent, block=block, kind=kind or Kind.EDIT) for rule in rules)
    ]
    return records, sorted(offered, key=lambda each: -each.found.total)[:MOST_OFFERED]
