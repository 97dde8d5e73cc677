"""A block and a proposed revision that are in no database."""

from datetime import UTC, datetime

from approvals.models import Revision
from memory_app.reads import Block
from memory_app.text import edits


def block_with(body: str, *, limit: int = 1000) -> Block:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    return Block("ann", "goals", "Goals", "", body, limit, False, None, edits.sha256_of(body), now, now)


def revision_of(*wanted: edits.Edit, base: str) -> Revision:
    """The revision that these edits of `base` make."""
    applied = edits.apply(base, wanted)
    return Revision(
        base_text=base,
        base_sha256=edits.sha256_of(base),
        result_text=applied.text,
        edits=edits.to_json(applied.edits),
    )
