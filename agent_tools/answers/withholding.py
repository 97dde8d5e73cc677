"""Which of an agent's own proposals have texts that were deleted from the memory since.

A proposal keeps a copy of its target. A token without the scope `memory:history` may not read deleted texts through
such a copy. What was never in the memory (a new note that waits or was rejected) is the agent's own and stays.
"""

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime

from agent_tools.calls.registry import Call
from approvals.models import Event, Kind, Proposal, Status
from approvals.review.targets import agents_revision
from memory_app import reads
from memory_app.models import TargetKind

_HOW_MANY = re.compile(r"\d+ notes")
_IN_MEMORY = (Status.APPROVED, Status.APPLIED)
_MAKING = (Kind.CREATE_BLOCK, Kind.SAVE)


def deleted_since(call: Call, proposal: Proposal) -> frozenset[str]:
    """Return labels and ids of a proposal's targets that were in the memory and were deleted since."""
    if call.may_read_deleted:
        return frozenset()
    if proposal.target_kind == TargetKind.BLOCK:
        return frozenset({proposal.target} if about_deleted(call, [proposal]) else ())
    # Of an approval in part, the agent is told of the other notes too.
    taken = {change["id"]: change["after"] for change in proposal.current_revision.note_changes}
    was_there = {
        change["id"]: datetime.fromisoformat(note["created_at"])
        for change in agents_revision(proposal).note_changes
        if (note := change["before"] or (taken.get(change["id"]) if proposal.status in _IN_MEMORY else None))
    }
    made_at = reads.made_at_of_notes(proposal.owner, was_there)
    return frozenset(id_ for id_, then in was_there.items() if made_at.get(id_) != then)


def _there_at(proposals: Sequence[Proposal]) -> dict[int, datetime]:
    """Return a time at which the target of each was there: before it, or made by it."""
    there_at = {each.pk: each.created_at for each in proposals}
    making = [each.pk for each in proposals if each.kind in _MAKING]
    if making:
        made = Event.objects.filter(proposal__in=making, what__in=(Event.What.APPROVED, Event.What.APPLIED))
        there_at |= dict(made.order_by("pk").values_list("proposal", "at"))
    return there_at


def _is_there(made_at: datetime | None, there_at: datetime) -> bool:
    return made_at is not None and made_at <= there_at


def about_deleted(call: Call, proposals: Sequence[Proposal]) -> frozenset[int]:
    """Return the numbers of the proposals about something deleted, in one or two queries for each owner.

    A block or note that has the name of the deleted one is another: it was made after the proposal.
    """
    if call.may_read_deleted:
        return frozenset()
    # A new block or note that is not in the memory is the agent's own.
    was_there = [each for each in proposals if each.kind not in _MAKING or each.status in _IN_MEMORY]
    there_at = _there_at(was_there)
    blocks = [each for each in was_there if each.target_kind == TargetKind.BLOCK]
    made_at = reads.made_at_of_blocks((each.owner, each.target) for each in blocks)
    gone = {each.pk for each in blocks if not _is_there(made_at.get((each.owner, each.target)), there_at[each.pk])}
    notes: defaultdict[str, list[Proposal]] = defaultdict(list)
    for each in was_there:
        if each.target_kind == TargetKind.NOTE:
            notes[each.owner].append(each)
    for owner, some in notes.items():
        known = reads.made_at_of_notes(owner, [each.target for each in some])
        gone |= {each.pk for each in some if not _is_there(known.get(each.target), there_at[each.pk])}
    # The title of an import says how many notes there are; of a single one it has the first words, as of a note.
    imports = [each for each in proposals if each.target_kind == TargetKind.IMPORT]
    of_one = [each for each in imports if not _HOW_MANY.fullmatch(each.target_title)]
    return frozenset(gone | {each.pk for each in of_one if deleted_since(call, each)})
