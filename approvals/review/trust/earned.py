"""An owner's rules of trust with what people decided about the agents they name, and rules that an agent has earned."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from approvals.models import Kind, Proposal, TrustRule
from approvals.review import trust
from approvals.review.acceptance import Acceptance, acceptance
from approvals.review.trust.policies import notes_apply_at_once
from approvals.review.whole_blocks import WHOLE_KINDS
from memory_app.models import TargetKind

#: Decisions an agent needs about a block or a kind of note, and the share approved unchanged, before a rule is offered.
ENOUGH, EARNED = 10, 0.9
#: Below this share a rule that lets changes through gets a warning, from so many decisions on.
DOUBTFUL, FEWEST = 0.8, 5
MOST_SUGGESTIONS = 3


@dataclass(frozen=True)
class RuleShown:
    """A rule with its agent's record where it holds.

    Args:
        is_idle: it has no effect: its agent is deactivated or has no token for this memory.
        is_doubtful: it lets through what people often changed or rejected.
    """

    rule: TrustRule
    found: Acceptance
    is_idle: bool
    is_doubtful: bool


@dataclass(frozen=True)
class Suggestion:
    """A rule that an agent has earned."""

    agent: str
    block: str
    kind: str
    found: Acceptance


@dataclass(frozen=True)
class _Record:
    """What people decided about one agent's proposals to one block, or of one kind to notes."""

    agent_id: int
    agent: str
    block: str
    kind: str
    found: Acceptance


def rules_shown(owner: str) -> list[RuleShown]:
    """Return an owner's rules, with what people decided in the last twelve weeks where each holds."""
    records = _records(owner)
    return _shown(trust.rules_of(owner), records, {agent.pk for agent in trust.agents_serving(owner)})


def suggestions(owner: str) -> list[Suggestion]:
    """Return rules that agents have earned and that the owner does not have, the best founded first."""
    rules, serving = trust.rules_of(owner), {agent.pk for agent in trust.agents_serving(owner)}
    notes_wait = not notes_apply_at_once(owner)
    grouped: dict[tuple[int, str, str, str], Acceptance] = {}
    for each in _records(owner):
        if each.block and each.kind in WHOLE_KINDS:  # says nothing about edits of a block
            continue
        if each.agent_id not in serving or (not each.block and not (notes_wait and each.kind in _OFFERED)):
            continue
        key = (each.agent_id, each.agent, each.block, "" if each.block else each.kind)
        grouped[key] = grouped.get(key, Acceptance()) + each.found
    earned = []
    for (agent_id, agent, block, kind), found in grouped.items():
        named = [rule for rule in rules if trust.matches(rule, agent_id, block=block, kind=kind or Kind.EDIT)]
        if not named and found.total >= ENOUGH and (found.share or 0) >= EARNED:
            earned.append(Suggestion(agent, block, kind, found))
    return sorted(earned, key=lambda each: -each.found.total)[:MOST_SUGGESTIONS]


#: Kinds of notes for which a rule is offered where the owner asks to see notes first.
_OFFERED = (Kind.SAVE, Kind.UPDATE)


def _records(owner: str) -> list[_Record]:
    proposals = Proposal.objects.of_owner(owner)
    blocks = acceptance(proposals.filter(target_kind=TargetKind.BLOCK), by=("agent", "agent__name", "target", "kind"))
    notes = acceptance(proposals.exclude(target_kind=TargetKind.BLOCK), by=("agent", "agent__name", "kind"))
    return [
        *(_Record(agent, name, block, kind, found) for (agent, name, block, kind), found in blocks.items()),
        *(_Record(agent, name, "", kind, found) for (agent, name, kind), found in notes.items()),
    ]


def _shown(rules: Iterable[TrustRule], records: Iterable[_Record], serving: set[int]) -> list[RuleShown]:
    records = list(records)
    shown = []
    for rule in rules:
        found = Acceptance()
        for each in records:
            if trust.matches(rule, each.agent_id, block=each.block, kind=each.kind):
                found = found + each.found
        is_idle = rule.agent_id is not None and rule.agent_id not in serving
        lets_through = rule.needs != TrustRule.Needs.REVIEW
        is_doubtful = lets_through and found.total >= FEWEST and (found.share or 0) < DOUBTFUL
        shown.append(RuleShown(rule, found, is_idle, is_doubtful))
    return shown
