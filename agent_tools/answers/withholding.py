"""Which of an agent's own proposals have texts that were deleted from the memory since.

A proposal keeps a copy of its target. A token without the scope `memory:history` may not read deleted texts through
such a copy. What was never in the memory (a new note that waits or was rejected) is the agent's own and stays.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

from agent_tools.calls.api_operation import Call
from approvals.models import Kind, Proposal, Status
from approvals.review.targets import agents_revision
from memory_app import reads
from memory_app.models import TargetKind

_COUNTED = re.compile(r"\d+ notes")
_IN_MEMORY = (Status.APPROVED, Status.APPLIED)


def deleted_since(call: Call, proposal: Proposal) -> frozenset[str]:
    """Return labels and ids of a proposal's targets that were in the memory and were deleted since."""
    if call.may_read_deleted:
        return frozenset()
    if proposal.target_kind == TargetKind.BLOCK:
        block = reads.find_block(proposal.owner, proposal.target)
        is_another = block is not None and block.created_at > proposal.created_at
        return frozenset({proposal.target}) if block is None or is_another else frozenset()
    # Of an approval in part, the agent is told of the other notes too.
    taken = {change["id"] for change in proposal.current_revision.note_changes}
    was_there = {
        change["id"]
        for change in agents_revision(proposal).note_changes
        if change["before"] is not None or (proposal.status in _IN_MEMORY and change["id"] in taken)
    }
    return frozenset(was_there - reads.note_sha256s(proposal.owner, was_there).keys())


def about_deleted(call: Call, proposals: Sequence[Proposal]) -> frozenset[int]:
    """Return the numbers of the proposals about something deleted, in one or two queries for each owner."""
    if call.may_read_deleted:
        return frozenset()
    blocks = [each for each in proposals if each.target_kind == TargetKind.BLOCK]
    there = reads.sha256_of_blocks((each.owner, each.target) for each in blocks)
    gone = {each.pk for each in blocks if (each.owner, each.target) not in there}
    notes: defaultdict[str, list[Proposal]] = defaultdict(list)
    for each in proposals:
        if each.target_kind == TargetKind.NOTE and (each.kind != Kind.SAVE or each.status in _IN_MEMORY):
            notes[each.owner].append(each)
    for owner, some in notes.items():
        known = reads.note_sha256s(owner, [each.target for each in some])
        gone |= {each.pk for each in some if each.target not in known}
    # The title of an import says how many notes there are; of a single one it has the first words, as of a note.
    of_one = [
        each
        for each in proposals
        if each.target_kind == TargetKind.IMPORT and not _COUNTED.fullmatch(each.target_title)
    ]
    return frozenset(gone | {each.pk for each in of_one if deleted_since(call, each)})
