"""Plain values that describe a write: the services create them, `commits` writes them."""

from dataclasses import dataclass
from datetime import datetime

from memory_app.reads import Note


@dataclass(frozen=True)
class BlockFields:
    """The content of a block, as people and proposals change it."""

    title: str
    description: str
    body: str
    limit: int
    read_only: bool = False
    schema_ref: str | None = None


@dataclass(frozen=True)
class BlockWrite:
    """Create, change or (`fields=None`) delete one block.

    Args:
        expected_sha256: the required current sha256 of the row (empty: no such block may exist), checked inside the
            transaction.
        made_at: of a new one, where that is not now.
    """

    owner: str
    label: str
    fields: BlockFields | None
    expected_sha256: str
    made_at: datetime | None = None


@dataclass(frozen=True)
class NoteWrite:
    """Create, change or (`note=None`) delete one note. `expected_sha256` as for a block."""

    owner: str
    id: str
    note: Note | None
    expected_sha256: str


Write = BlockWrite | NoteWrite
