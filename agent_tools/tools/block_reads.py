"""Which blocks an agent has read, for the warning about replacing a text unseen. It never refuses anything.

A block counts as read when all of its text was in answers: of `read_memory_block`, or of the context. What was read
is kept as a keyed hash, as is the session: this table tells nothing of either.
"""

from collections.abc import Mapping
from datetime import timedelta

from django.db import transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from agent_tools.answers.bounds import Cut
from agent_tools.calls.registry import Call, is_listed
from agent_tools.models import BlockRead
from approvals.services import Proposed
from memory_app.reads import Block
from memory_app.runtime import deadlines
from memory_app.runtime.background import Gatherer

#: How long a read counts for calls that name no session, or whose own did not read.
WITHOUT_SESSION = timedelta(hours=24)
#: How long a session's reads count, and are kept.
OF_SESSION = timedelta(days=30)
#: Lines of a part that may have been read with the part before.
_OVERLAP = 100
#: Seconds a row may wait for a busy database.
_SECONDS = 20.0


def note(call: Call, session_id: str, read: Mapping[str, str]) -> None:
    """Note that a call was answered with the whole text of blocks.

    The rows are written a moment after the answer, together with those of other calls. A process that is killed before
    that loses them: the agent may be warned once more.

    Args:
        read: the SHA-256 of each text, by the label of its block.
    """
    session, at = _hash(session_id) if session_id else "", timezone.now()
    agent = call.caller.agent.pk
    for label, sha256 in read.items():
        _rows.add(BlockRead(agent_id=agent, owner=call.owner, label=label, session=session, text=_hash(sha256), at=at))


def note_part(call: Call, session_id: str, label: str, sha256: str, part: Cut) -> None:
    """Note that a call was answered with some lines of a block: with the last of them, all of it was read.

    Only what continues from the beginning counts. The row of that has a label which no block can have.

    Args:
        sha256: of the whole text.
    """
    if part.is_whole or not part.shown:
        note(call, session_id, {label: sha256})
        return
    first, last = part.shown
    session = _hash(session_id) if session_id else ""
    of = {"agent_id": call.caller.agent.pk, "owner": call.owner, "label": _hash(label)[:60], "session": session}
    if first > 1:
        _rows.settle()
        before = [_hash(f"{sha256} {line}") for line in range(first - 1, min(part.lines, first + _OVERLAP))]
        if not BlockRead.objects.filter(**of, text__in=before).exists():
            return
    if last >= part.lines:
        note(call, session_id, {label: sha256})
    else:
        _rows.add(BlockRead(**of, text=_hash(f"{sha256} {last}"), at=timezone.now()))


def is_read_as_it_is(call: Call, session_id: str, block: Block) -> bool | None:
    """Whether the agent has read the block as it is now, or it is empty; None where it has not read it at all.

    Reads of the session count. Reads that named none count for a day, and where the call names no session, so do
    those of any.
    """
    if not block.body.strip():
        return True
    _rows.settle()
    day = timezone.now() - WITHOUT_SESSION
    reads = BlockRead.objects.filter(agent=call.caller.agent, owner=call.owner, label=block.label)
    if session_id:
        found = list(reads.filter(session__in=["", _hash(session_id)]).order_by("-at"))
        counting = [read for read in found if read.session or read.at >= day]
    else:
        counting = list(reads.filter(at__gte=day).order_by("-at")[:1])
    if not counting:
        return None
    now = _hash(block.body_sha256)
    return any(read.text == now for read in counting)


def unread(outcome: Proposed, is_read: bool | None, session_id: str, *, named: str, atomic: str) -> tuple[str, ...]:
    """Return the warning about a text that is replaced unseen: one, or none where it was seen.

    Args:
        is_read: as `is_read_as_it_is` returned it before the call.
        named: what the text is called in this family of tools.
        atomic: names of the tools for less than the whole text.
    """
    if is_read:
        return ()
    there = ", ".join(filter(is_listed, atomic.split()))
    prefer = f" Prefer the tools that change only what you name: {there}." if there else ""
    if is_read is None:
        when = "in this session" if session_id else "in the last 24 hours"
        return (f"Warning: you have not read {named} {when}, and this replaces all of its text.{prefer}",)
    return (
        f"Warning: {named} has changed since you read it, and this replaces all of it; the reviewer is told so. Read "
        f"it again; if this takes back what others wrote, amend it with proposal_id={outcome.proposal.pk}.{prefer}",
    )


def settle() -> None:
    """Wait until the reads that this process has answered are written."""
    _rows.settle()


def purge() -> int:
    """Delete what counts no more; return how many rows there were."""
    return BlockRead.objects.filter(at__lt=timezone.now() - OF_SESSION).delete()[0]


def _hash(value: str) -> str:
    return salted_hmac("agent_tools.block_reads", value, algorithm="sha256").hexdigest()


def _write(rows: list[BlockRead]) -> None:
    # The last read of each: one statement may not write a row twice.
    last = {(row.agent_id, row.owner, row.label, row.session): row for row in rows}
    with deadlines.briefly(_SECONDS, "block_reads_not_recorded", count=len(last)), transaction.atomic():
        BlockRead.objects.bulk_create(
            last.values(),
            update_conflicts=True,
            unique_fields=["agent", "owner", "label", "session"],
            update_fields=["text", "at"],
        )


_rows = Gatherer("block reads", _write)
