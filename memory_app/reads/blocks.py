"""Reading memory blocks: now, and as of a commit."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from memory_app.dolt.connections import dolt, retrying
from memory_app.dolt.engine import MAIN
from memory_app.dolt.types import Row
from memory_app.models import MemoryBlock, block_id
from memory_app.reads.values import aware, canonical_sha256

BLOCKS = MemoryBlock._meta.db_table


class BlockNotFound(Exception):
    """The owner has no block of that label, at that revision.

    Attributes:
        owner: username.
        label: the label asked for.
    """

    def __init__(self, owner: str, label: str) -> None:
        self.owner = owner
        self.label = label
        super().__init__(f"Memory block '{label}' not found.")


@dataclass(frozen=True)
class Block:
    """A memory block at one revision. Times are aware, in UTC."""

    owner: str
    label: str
    title: str
    description: str
    body: str
    limit: int
    read_only: bool
    schema_ref: str | None
    sha256: str
    created_at: datetime
    updated_at: datetime

    @property
    def display_title(self) -> str:
        return self.title or title_of(self.label)

    @property
    def body_sha256(self) -> str:
        """Return the SHA-256 of the text alone, which agents know as `content_sha256`."""
        return hashlib.sha256(self.body.encode()).hexdigest()

    @property
    def used(self) -> int:
        """Return the length of the text in characters, to compare with `limit`."""
        return len(self.body)


@dataclass(frozen=True)
class Snapshot:
    """A block and the commit of main it was read at: the base of a proposal."""

    commit: str
    block: Block


def title_of(label: str) -> str:
    """Return what a block without a title is called: its label in title case, `_` as spaces."""
    return label.replace("_", " ").title()


def row_sha256(row: Row) -> str:
    """Return the SHA-256 of everything a block says, so that any two concurrent changes of it conflict."""
    content = {
        "label": row["label"],
        "title": row["title"],
        "description": row["description"],
        "body": row["body"],
        "limit": row["limit"],
        "read_only": bool(row["read_only"]),
        "schema_ref": row["schema_ref"],
    }
    return canonical_sha256(content)


def blocks(owner: str) -> tuple[Block, ...]:
    """Return all blocks of an owner now, by label."""
    return _sorted(dolt().rows(BLOCKS, None, {"owner": owner}))


def blocks_at(owner: str, revision: str) -> tuple[Block, ...]:
    """Return all blocks of an owner at a revision. Raises RevisionNotFound."""
    return _sorted(dolt().rows(BLOCKS, revision, {"owner": owner}))


def block(owner: str, label: str) -> Block:
    """Return one block now. Raises BlockNotFound."""
    return block_at(owner, label, MAIN)


def block_at(owner: str, label: str, revision: str) -> Block:
    """Return one block at a revision (branch, commit hash). Raises BlockNotFound, RevisionNotFound."""
    rows = dolt().rows(BLOCKS, revision, _key(owner, label))
    if not rows:
        raise BlockNotFound(owner, label)
    return _block(rows[0])


def find_block(owner: str, label: str) -> Block | None:
    """Return one block now, or None where its absence is an answer (a deleted target)."""
    rows = dolt().rows(BLOCKS, MAIN, _key(owner, label))
    return _block(rows[0]) if rows else None


def find_blocks(targets: Iterable[tuple[str, str]]) -> dict[tuple[str, str], Block]:
    """Return those of many (owner, label) pairs that exist now, of any owners, in one query by primary key."""
    ids = [block_id(owner, label).hex for owner, label in dict.fromkeys(targets)]
    rows = dolt().rows(BLOCKS, None, {"id": ids}) if ids else []
    return {(row["owner"], row["label"]): _block(row) for row in rows}


def snapshot(owner: str, label: str) -> Snapshot:
    """Return one block and the commit it was read at, consistent with each other.

    Raises:
        BlockNotFound: also when the owner has no memory yet.
    """
    found = retrying(lambda: dolt().row_at_main(BLOCKS, _key(owner, label)))
    if found is None:
        raise BlockNotFound(owner, label)
    commit, row = found
    return Snapshot(commit=commit, block=_block(row))


def made_at_of_blocks(targets: Iterable[tuple[str, str]]) -> dict[tuple[str, str], datetime]:
    """Return when the blocks of many (owner, label) pairs were made, in one query; missing blocks are left out.

    It tells a block from one that had its label before and was deleted.
    """
    labels: defaultdict[str, set[str]] = defaultdict(set)
    for owner, label in targets:
        labels[owner].add(label)
    if not labels:
        return {}
    everything = sorted(set().union(*labels.values()))
    found = MemoryBlock.objects.filter(owner__in=sorted(labels), label__in=everything)
    with dolt().named_errors():
        return {
            (owner, label): aware(made_at)
            for owner, label, made_at in found.values_list("owner", "label", "created_at")
            if label in labels[owner]
        }


def _key(owner: str, label: str) -> Row:
    """Return the key of one block for a raw query: Django keeps UUIDs as 32 hexadecimal digits on both engines."""
    return {"id": block_id(owner, label).hex}


def _sorted(rows: Iterable[Row]) -> tuple[Block, ...]:
    return tuple(sorted(map(_block, rows), key=lambda block: block.label))


def _block(row: Row) -> Block:
    return Block(
        owner=row["owner"],
        label=row["label"],
        title=row["title"],
        description=row["description"],
        body=row["body"],
        limit=int(row["limit"]),
        read_only=bool(row["read_only"]),
        schema_ref=row.get("schema_ref"),
        sha256=row["sha256"],
        created_at=aware(row["created_at"]),
        updated_at=aware(row["updated_at"]),
    )
