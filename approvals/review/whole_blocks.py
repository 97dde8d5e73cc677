"""Revisions that make a new block or delete one: how they are kept.

Such a revision has one entry in `edits`, which says so. The text of a new block is its `result_text`, that of a deleted
one its `base_text`. Values only. How they stand to the block as it is now is `mergeability`; proposing them is
`services.blocks`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from approvals.models import Kind, Revision
from memory_app.reads import Block, canonical_sha256, title_of
from memory_app.writing.values import BlockFields

_CREATE, _DELETE = WHOLE_OPERATIONS = ("create_block", "delete_block")

#: What is kept of a revision that deletes its block.
DELETION: list[dict[str, Any]] = [{"op": _DELETE}]

#: `result_sha256` of every proposal that deletes its block: no text has this hash.
DELETION_SHA256 = canonical_sha256({"op": _DELETE})

#: Kinds of proposals that make or delete a whole block.
WHOLE_KINDS = (Kind.CREATE_BLOCK, Kind.DELETE_BLOCK)


@dataclass(frozen=True)
class NewBlock:
    """What a new block has beside its label and its text.

    Args:
        title: empty where the label stands for it.
        limit: characters its text may have.
    """

    title: str
    description: str
    limit: int

    @property
    def beside(self) -> tuple[str, str]:
        """Return what a change of it adds beside the text, before and after."""
        return "", "\n\n".join(filter(None, (self.title, self.description)))

    def display_title(self, label: str) -> str:
        return self.title or title_of(label)

    def fields_with(self, body: str) -> BlockFields:
        return BlockFields(title=self.title, description=self.description, body=body, limit=self.limit)

    def sha256_with(self, body: str) -> str:
        """Return the hash by which two proposals of a new block are the same."""
        return canonical_sha256({"title": self.title, "description": self.description, "body": body})

    def as_edits(self) -> list[dict[str, Any]]:
        """Return it as a revision keeps it."""
        return [{"op": _CREATE, "title": self.title, "description": self.description, "limit": self.limit}]


def new_block_of(revision: Revision) -> NewBlock | None:
    """Return the new block that a revision makes; None for every other revision."""
    edit = _only_edit(revision)
    if edit.get("op") != _CREATE:
        return None
    return NewBlock(title=edit["title"], description=edit["description"], limit=edit["limit"])


def is_deletion(revision: Revision) -> bool:
    """Whether a revision deletes its block."""
    return _only_edit(revision).get("op") == _DELETE


def is_of_whole_block(revision: Revision) -> bool:
    """Whether a revision makes or deletes its block: it has no edits that could be made on a text."""
    return _only_edit(revision).get("op") in WHOLE_OPERATIONS


def beside_of(revision: Revision) -> tuple[str, str]:
    """Return what stands beside the text of a new block, before and after; nothing for every other revision."""
    new = new_block_of(revision)
    return new.beside if new else ("", "")


def made_of(revision: Revision, new: NewBlock) -> Block:
    """Return a new block as approving its revision would make it, as far as other proposals depend on it."""
    proposal = revision.proposal
    return Block(
        owner=proposal.owner,
        label=proposal.target,
        title=new.title,
        description=new.description,
        body=revision.result_text,
        limit=new.limit,
        read_only=False,
        schema_ref=None,
        sha256=new.sha256_with(revision.result_text),
        created_at=proposal.created_at,
        updated_at=proposal.created_at,
    )


def _only_edit(revision: Revision) -> Mapping[str, Any]:
    edits: list[dict[str, Any]] = revision.edits
    return edits[0] if len(edits) == 1 else {}
