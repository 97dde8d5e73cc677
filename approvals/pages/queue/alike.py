"""The same change for several people: proposals of one agent that are one decision, shown once.

Reads only. Deciding about them is `services.decide_several`, which leaves what differs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from approvals.models import Kind, Proposal, ProposalQuerySet, Revision
from approvals.pages.queue.order import Order
from memory_app.models import TargetKind
from memory_app.text import worddiff

#: Of a list, the first so many proposals are compared; each page of it compares the same ones.
MOST_COMPARED = 200

#: Edits that say themselves what they change. A new whole text or section does not say what it takes away, and the line
#: after which something is put differs from one person's block to another's.
_SAYS_ALL = frozenset({"replace", "append", "prepend"})

#: Of longer texts that are written anew, only the page of each says what changes: comparing thirty took 300 ms.
MOST_CHARACTERS = 4_000

#: People that one row stands for, as many as are decided at once.
MOST_ALIKE = 100

_COMPARED = (
    "pk",
    "owner",
    "agent_id",
    "kind",
    "target_kind",
    "target",
    "words_added",
    "words_removed",
    "result_sha256",
)


@dataclass(frozen=True)
class Compared:
    """The beginning of a list.

    Args:
        pks: its first `MOST_COMPARED` proposals.
        groups: those that change the same for different people, each in the order of the list.
    """

    pks: list[int]
    groups: list[list[int]]

    @property
    def is_whole_list(self) -> bool:
        return len(self.pks) < MOST_COMPARED


def compare(proposals: ProposalQuerySet, order: Order) -> Compared:
    """Return the first open proposals of a list, and which of them are one change for several people."""
    rows = list(order.sorted(proposals).values(*_COMPARED)[:MOST_COMPARED])
    return Compared([row["pk"] for row in rows], _grouped(rows))


def alike_to(proposal: Proposal, proposals: ProposalQuerySet, order: Order) -> list[int]:
    """Return the open proposals that make the same change as `proposal`, itself first; with no other, only itself."""
    same = proposals.filter(agent=proposal.agent_id, kind=proposal.kind, target_kind=proposal.target_kind)
    if proposal.target_kind == TargetKind.BLOCK:
        same = same.filter(target=proposal.target)
    for group in compare(same, order).groups:
        if proposal.pk in group:
            return [proposal.pk, *(pk for pk in group if pk != proposal.pk)]
    return [proposal.pk]


def _grouped(rows: Sequence[dict[str, Any]]) -> list[list[int]]:
    by_look: defaultdict[tuple[Any, ...], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if look := _look(row):
            by_look[look].append(row)
    candidates = {look: some for look, some in by_look.items() if len({row["owner"] for row in some}) > 1}
    if not candidates:
        return []
    changes = _changes([row["pk"] for some in candidates.values() for row in some])
    groups = []
    for some in candidates.values():
        by_change: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        for row in some:
            if row["pk"] in changes:
                by_change[changes[row["pk"]]].append(row)
        for same in by_change.values():
            # Of one person each: two equal ones of one agent wait for different reasons.
            first = list({row["owner"]: row["pk"] for row in reversed(same)}.values())[::-1]
            if len(first) > 1:
                groups.append(first[:MOST_ALIKE])
    return groups


def _look(row: dict[str, Any]) -> tuple[Any, ...] | None:
    """Return what equal changes have in common, as far as lists know it; None for what is never shown once."""
    agent, kind = row["agent_id"], row["kind"]
    if kind == Kind.DELETE_BLOCK:
        return None  # a text goes as a whole: each is read before
    if kind == Kind.CREATE_BLOCK:
        return agent, kind, row["target"], row["result_sha256"]
    if row["target_kind"] == TargetKind.BLOCK:
        return agent, kind, row["target"], row["words_added"], row["words_removed"]
    return (agent, kind, row["result_sha256"]) if kind == Kind.SAVE else None


def _changes(pks: Sequence[int]) -> dict[int, str]:
    """Return each proposal's change as one text, equal for equal changes; without those too long to compare here."""
    revisions = Revision.objects.filter(proposal__in=pks, number=1).order_by()
    said: dict[int, str] = {}
    rewritten: list[int] = []
    for pk, edits, notes in revisions.values_list("proposal_id", "edits", "note_changes"):
        if notes:
            said[pk] = "note"  # what it says is in the look already
        elif any(each.get("op") not in _SAYS_ALL for each in edits):
            rewritten.append(pk)
        else:
            said[pk] = repr([sorted(each.items()) for each in edits])
    for pk, before, after in revisions.filter(proposal__in=rewritten).values_list(
        "proposal_id", "base_text", "result_text"
    ):
        if max(len(before), len(after)) <= MOST_CHARACTERS:
            said[pk] = _changed_words(before, after)
    return said


@lru_cache(maxsize=1024)
def _changed_words(before: str, after: str) -> str:
    """Return the words that a new whole text removes and adds, wherever in it they stand."""
    return repr([segment for segment in worddiff.diff(before, after) if segment.kind != "same"])
