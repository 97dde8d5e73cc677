"""What a proposal is about, behind one interface: a memory block, or notes.

Also how it stands to its target as that is now: its edits are made again where they still fit exactly; where they do
not, its whole change is merged with what became of the text (`memory_app.text.merge`); what cannot be merged is a
conflict for a person.

Deciding, recovering and reviewing ask the same questions of either; only the answers differ. Reads, and
says what is to be written; `services` do the writing.

A revision that makes a new block or deletes one has one entry in `edits`, which says so. The text of a new block is its
`result_text`, that of a deleted one its `base_text`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields, replace
from typing import Any

from approvals.models import Kind, Mergeability, Proposal, Revision
from memory_app import reads
from memory_app.models import TargetKind
from memory_app.reads import Block, canonical_sha256, title_of
from memory_app.text import edits
from memory_app.text.merge import Conflicted, merge
from memory_app.writing.values import BlockFields, BlockWrite, NoteWrite, Write


@dataclass(frozen=True)
class Assessment:
    """The answer.

    Args:
        state: clean, rebasable, conflict or already_applied; never unknown, which only the caller who
            could not read the target may say.
        result_text: the target's text after approval; None when nothing can be approved.
        is_stale: the target changed since the base, in its text or in any other field.
        over_limit: characters by which the result would pass the block's limit, for a conflict.
        closes_circle: the note would be superseded by itself in the end, for a conflict.
        conflict: the block's text merged with the proposal as far as possible, for a conflict: `ours` is the text as it
            is now, `theirs` the proposal.
    """

    state: Mergeability
    result_text: str | None
    is_stale: bool
    over_limit: int = 0
    closes_circle: bool = False
    conflict: Conflicted | None = None

    @property
    def can_be_approved(self) -> bool:
        return self.state in (Mergeability.CLEAN, Mergeability.REBASABLE)


def assess(revision: Revision, block: Block | None) -> Assessment:
    """Compare a revision with the block as it is now (`None` where it was deleted)."""
    if is_of_whole_block(revision):
        return _assess_whole(revision, block)
    if block is None:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True)
    if block.sha256 == revision.base_sha256:
        return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
    if block.body == revision.result_text:
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    wanted = edits.from_json(revision.edits)
    try:
        return _rebased(edits.reapply(block.body, wanted, base_text=revision.base_text), block)
    except edits.MadeAlready:
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    except edits.DoesNotFit:
        if _is_there(wanted, block.body):
            return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    except edits.TextTooLong as error:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, over_limit=error.length - block.limit)
    merged = merge(revision.base_text, block.body, revision.result_text)
    if isinstance(merged, Conflicted):
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, conflict=merged)
    return _rebased(merged, block)


def _assess_whole(revision: Revision, block: Block | None) -> Assessment:
    """Compare a revision that makes or deletes its block with the block as it is now.

    A deletion still stands when the block changed since: its reviewer is shown the text as it is now.
    """
    new = new_block_of(revision)
    if new is None:
        if block is None:
            return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
        is_stale = block.sha256 != revision.base_sha256
        return Assessment(Mergeability.REBASABLE if is_stale else Mergeability.CLEAN, "", is_stale=is_stale)
    if block is None:
        return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
    is_same = block.body == revision.result_text and block.display_title == new.display_title(block.label)
    return Assessment(Mergeability.ALREADY_APPLIED if is_same else Mergeability.CONFLICT, None, is_stale=True)


def _rebased(result: str, block: Block) -> Assessment:
    """Return what becomes of a result that is made of the block's text as it is now."""
    if len(result) > block.limit:
        return Assessment(Mergeability.CONFLICT, None, is_stale=True, over_limit=len(result) - block.limit)
    if result == block.body:  # all that was asked for has been done
        return Assessment(Mergeability.ALREADY_APPLIED, None, is_stale=True)
    return Assessment(Mergeability.REBASABLE, result, is_stale=True)


def block_after(revision: Revision, block: Block) -> Block | None:
    """Return the block as approving a revision would make it; None when it cannot be approved, or deletes it."""
    if is_deletion(revision):
        return None
    body = assess(revision, block).result_text
    return None if body is None else replace(block, body=body, sha256=edits.sha256_of(body))


def _is_there(wanted: tuple[edits.Edit, ...], body: str) -> bool:
    """Whether every replacement was made by somebody else: the old text gone, the new one there."""
    return all(
        isinstance(edit, edits.Replace)
        and edit.old_string not in body
        and bool(edit.new_string.strip())
        and edit.new_string in body
        for edit in wanted
    )


_CREATE, _DELETE = "create_block", "delete_block"

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
    return _only_edit(revision).get("op") in (_CREATE, _DELETE)


def made_of(revision: Revision, new: NewBlock) -> Block:
    """Return a new block as approving its revision would make it, as far as other proposals depend on it."""
    proposal = revision.proposal
    return Block(
        owner=proposal.owner,
        label=proposal.target,
        sha256=new.sha256_with(revision.result_text),
        created_at=proposal.created_at,
        updated_at=proposal.created_at,
        **vars(new.fields_with(revision.result_text)),
    )


def _only_edit(revision: Revision) -> Mapping[str, Any]:
    edits: list[dict[str, Any]] = revision.edits
    return edits[0] if len(edits) == 1 else {}


@dataclass(frozen=True)
class BlockState:
    """A block as it is now."""

    block: reads.Block | None

    @property
    def sha256(self) -> str:
        """The hash a decision has to name as seen; empty when the target does not exist."""
        return self.block.sha256 if self.block else ""

    def assess(self, revision: Revision) -> Assessment:
        return assess(revision, self.block)

    def is_after(self, revision: Revision) -> bool:
        """Whether the text is as the revision makes it."""
        return self.block is not None and self.block.body == revision.result_text

    def of(self, revision: Revision) -> BlockState:
        """Return the same state of what this revision is about, which may be a part."""
        return self


@dataclass(frozen=True)
class NotesState:
    """The notes a proposal names, each by its id and its sha256; one that is not there is absent.

    Args:
        notes: those it changes.
        replacements: those it puts in the place of others. They do not change, but a reviewer reads them:
            what a decision names as seen covers their texts too.
        closes_circle: one of those would, with what changed since, be superseded by the note it replaces.
    """

    notes: dict[str, str]
    replacements: dict[str, str] = field(default_factory=dict)
    closes_circle: bool = False

    @property
    def sha256(self) -> str:
        return _sha256_of(self.notes | {f"instead {id_}": sha256 for id_, sha256 in self.replacements.items()})

    def assess(self, revision: Revision) -> Assessment:
        """Compare a revision with the notes. They are short and change as wholes: one that is not as it was when the
        change was proposed is a conflict."""
        if not self.changed(revision.note_changes):
            if self.closes_circle:
                return Assessment(Mergeability.CONFLICT, None, is_stale=True, closes_circle=True)
            return Assessment(Mergeability.CLEAN, revision.result_text, is_stale=False)
        state = Mergeability.ALREADY_APPLIED if self.is_after(revision) else Mergeability.CONFLICT
        return Assessment(state, None, is_stale=True)

    def changed(self, changes: Iterable[dict[str, Any]]) -> list[str]:
        """Return the ids of the notes that are not as they are before these changes."""
        return [change["id"] for change in changes if self.notes.get(change["id"]) != sha256_kept(change["before"])]

    def of(self, revision: Revision) -> NotesState:
        return _notes_state(revision, self.notes | self.replacements, closes_circle=self.closes_circle)

    def is_after(self, revision: Revision) -> bool:
        """Whether every note is as the revision makes it."""
        return all(self.notes.get(change["id"]) == sha256_kept(change["after"]) for change in revision.note_changes)


def sha256_kept(note: dict[str, Any] | None) -> str | None:
    """Return the sha256 of a note in a stored change."""
    return note["sha256"] if note else None


TargetState = BlockState | NotesState


def base_sha256(revision: Revision) -> str:
    """Return `TargetState.sha256` as it was when the revision was made, which a list may name as seen.

    A note put in another's place is not in the revision, so this never fits a revision that puts one there.
    """
    if not revision.note_changes:
        return revision.base_sha256
    changed = (change for change in revision.note_changes if change["before"])
    return _sha256_of({change["id"]: change["before"]["sha256"] for change in changed})


def _sha256_of(notes: dict[str, str]) -> str:
    """Of several notes by id, as they stand together; empty when there is none."""
    said = "\n".join(f"{id_} {sha256}" for id_, sha256 in sorted(notes.items()))
    return hashlib.sha256(said.encode()).hexdigest() if said else ""


def current_state(proposal: Proposal, revision: Revision) -> TargetState:
    """Return the target of a proposal as it is now."""
    if proposal.target_kind == TargetKind.BLOCK:
        return BlockState(reads.find_block(proposal.owner, proposal.target))
    return replace(_notes_at(proposal, revision), closes_circle=_closes_circle(proposal, revision))


def state_at_head(proposal: Proposal, revision: Revision) -> tuple[str, TargetState]:
    """Return the target of a proposal as it is now, and a commit of main that is not newer than that."""
    if proposal.target_kind == TargetKind.BLOCK:
        with suppress(reads.BlockNotFound):
            commit, block = reads.snapshot(proposal.owner, proposal.target)
            return commit, BlockState(block)
    return reads.head(proposal.owner), current_state(proposal, revision)


def current_states(pairs: Sequence[tuple[Proposal, Revision]]) -> list[TargetState]:
    """Return the targets of proposals as they are now, each read once however many are about it."""
    blocks = reads.find_blocks((each.owner, each.target) for each, _ in pairs if each.target_kind == TargetKind.BLOCK)
    ids: defaultdict[str, set[str]] = defaultdict(set)
    for proposal, revision in pairs:
        ids[proposal.owner].update((*_ids_of(revision), *replacement_ids(revision)))
    found = {owner: reads.note_sha256s(owner, some) if some else {} for owner, some in ids.items()}
    return [
        BlockState(blocks.get((proposal.owner, proposal.target)))
        if proposal.target_kind == TargetKind.BLOCK
        else _notes_state(revision, found[proposal.owner], closes_circle=_closes_circle(proposal, revision))
        for proposal, revision in pairs
    ]


def replacement_ids(revision: Revision) -> list[str]:
    """Return the ids of the notes a revision puts in the place of those it changes."""
    return [replacement for _id, replacement in _replaced(revision)]


def _replaced(revision: Revision) -> Iterator[tuple[str, str]]:
    """Yield the id of each note that a revision puts another in the place of, with that one's."""
    for change in revision.note_changes:
        before, after = change["before"] or {}, change["after"] or {}
        if after.get("superseded_by") and after["superseded_by"] != before.get("superseded_by"):
            yield change["id"], after["superseded_by"]


def agents_revision(proposal: Proposal) -> Revision:
    """Return what the agent proposed last: the current revision, or the one that a decision was made from."""
    if proposal.current_revision.origin == Revision.Origin.AGENT:
        return proposal.current_revision
    return proposal.revisions.filter(origin=Revision.Origin.AGENT).order_by("-number")[0]


def targets_of(proposal: Proposal, revision: Revision) -> tuple[tuple[str, str], ...]:
    """Return (kind, label or id) of everything a revision changes: its trailers and its rows in the ledger."""
    if proposal.target_kind == TargetKind.BLOCK:
        return ((TargetKind.BLOCK, proposal.target),)
    return tuple((TargetKind.NOTE, change["id"]) for change in revision.note_changes)


def rows_to_write(proposal: Proposal, revision: Revision, *, base: reads.Block | None = None) -> tuple[Write, ...]:
    """Return the rows a revision writes, on top of its base commit.

    Args:
        base: the block at that commit, where the caller has it.

    Raises:
        BlockNotFound, RevisionNotFound: the base cannot be read.
    """
    if proposal.target_kind == TargetKind.BLOCK:
        if is_of_whole_block(revision):
            new = new_block_of(revision)
            made = new.fields_with(revision.result_text) if new else None
        else:
            block = base or reads.block_at(proposal.owner, proposal.target, revision.base_commit)
            made = replace(fields_of(block), body=revision.result_text)
        return (BlockWrite(proposal.owner, proposal.target, made, revision.base_sha256),)
    return note_rows_to_write(proposal.owner, revision.note_changes)


def fields_of(block: reads.Block) -> BlockFields:
    """Return what is written of a block."""
    return BlockFields(**{each.name: getattr(block, each.name) for each in fields(BlockFields)})


def note_rows_to_write(owner: str, changes: list[dict[str, Any]]) -> tuple[NoteWrite, ...]:
    """Return stored note changes as rows to write."""
    return tuple(
        NoteWrite(
            owner=owner,
            id=change["id"],
            note=reads.Note.from_json(change["after"]) if change["after"] else None,
            expected_sha256=sha256_kept(change["before"]) or "",
        )
        for change in changes
    )


def matches(proposal: Proposal, revision: Revision, commit: str) -> bool:
    """Whether the target at `commit` is what the revision says it becomes.

    Raises:
        RevisionNotFound: `commit` cannot be read.
    """
    if proposal.target_kind == TargetKind.BLOCK:
        block = reads.find_block(proposal.owner, proposal.target, commit)
        if block is None or is_deletion(revision):
            return block is None and is_deletion(revision)
        new = new_block_of(revision)
        is_titled = new is None or (block.title, block.description) == (new.title, new.description)
        return is_titled and block.body == revision.result_text
    return _notes_at(proposal, revision, commit).is_after(revision)


def _notes_at(proposal: Proposal, revision: Revision, commit: str | None = None) -> NotesState:
    found = reads.note_sha256s(proposal.owner, [*_ids_of(revision), *replacement_ids(revision)], commit)
    return _notes_state(revision, found)


def _notes_state(revision: Revision, found: dict[str, str], *, closes_circle: bool = False) -> NotesState:
    ids, instead = _ids_of(revision), replacement_ids(revision)
    its, others = ({id_: found[id_] for id_ in some if id_ in found} for some in (ids, instead))
    return NotesState(its, others, closes_circle)


def _ids_of(revision: Revision) -> list[str]:
    return [change["id"] for change in revision.note_changes]


def _closes_circle(proposal: Proposal, revision: Revision) -> bool:
    """Whether a note would be superseded by itself in the end; not so when it was proposed, but others were since."""
    return any(reads.closes_circle(proposal.owner, *pair) for pair in _replaced(revision))
