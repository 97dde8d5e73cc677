"""What somebody typed into the form of a block, put together with what changed in the block meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, replace

from approvals.services import BlockFields
from memory_app import reads
from memory_app.dolt.errors import RevisionNotFound
from memory_app.models import TargetKind
from memory_app.reads import Block, BlockNotFound
from memory_app.text.merge import Conflicted, merge, merge_fields

#: Versions looked through for the one that a form was filled from, the newest first; each costs a read.
MOST_LOOKED_THROUGH = 20


@dataclass(frozen=True)
class PutTogether:
    """Both changes in one.

    Args:
        conflicts: in how many places both changed the same, and what was typed is kept.
    """

    fields: BlockFields
    conflicts: int


def block_as_loaded(owner: str, label: str, sha256: str) -> Block | None:
    """Return the block as it was when a form was filled from it; None where that is not among its last versions."""
    for change in reads.history(owner, TargetKind.BLOCK, label, limit=MOST_LOOKED_THROUGH) if sha256 else ():
        try:
            block = reads.block_at(owner, label, change.commit)
        except (BlockNotFound, RevisionNotFound):  # deleted and made again, or older than what is kept
            return None
        if block.sha256 == sha256:
            return block
    return None


def put_together(base: Block, typed: BlockFields, now: Block) -> PutTogether:
    """Return what was typed with what changed since `base`; where both changed the same, what was typed."""
    body = merge(base.body, typed.body, now.body)
    places = 0
    if isinstance(body, Conflicted):
        places = len(body.conflicts)
        body = body.resolved([conflict.ours for conflict in body.conflicts])
    others = ("title", "description", "limit", "read_only")
    merged = merge_fields(*({name: getattr(each, name) for name in others} for each in (base, typed, now)))
    return PutTogether(replace(typed, body=body, **merged.values), places + len(merged.conflicts))
