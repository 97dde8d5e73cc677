"""What a proposal is about, behind one interface: a memory block, or notes.

Deciding, recovering and reviewing ask the same questions of either; only the answers differ. Reads, and
says what is to be written; `services` do the writing.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace

from approvals.models import Proposal, Revision
from approvals.review import whole_blocks
from approvals.review.mergeability import Assessment, assess, assess_notes
from memory_app import reads
from memory_app.dolt.connections import head_of_main
from memory_app.models import TargetKind
from memory_app.writing.values import BlockFields, BlockWrite, NoteWrite, Write


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
        return assess_notes(revision, self.notes, closes_circle=self.closes_circle)

    def of(self, revision: Revision) -> NotesState:
        return _notes_state(revision, self.notes | self.replacements, closes_circle=self.closes_circle)

    def is_after(self, revision: Revision) -> bool:
        """Whether every note is as the revision makes it."""
        return all(
            self.notes.get(change["id"]) == (change["after"]["sha256"] if change["after"] else None)
            for change in revision.note_changes
        )


TargetState = BlockState | NotesState


def base_sha256(revision: Revision) -> str:
    """Return `TargetState.sha256` as it was when the revision was made, which a list may name as seen.

    A note put in another's place is not in the revision, so this never fits a revision that puts one there.
    """
    if not revision.note_changes:
        return revision.base_sha256
    return _sha256_of(
        {change["id"]: change["before"]["sha256"] for change in revision.note_changes if change["before"]}
    )


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
        try:
            snapshot = reads.snapshot(proposal.owner, proposal.target)
        except reads.BlockNotFound:
            pass
        else:
            return snapshot.commit, BlockState(snapshot.block)
    commit = head_of_main()
    return commit, current_state(proposal, revision)


def current_states(owner: str, pairs: Sequence[tuple[Proposal, Revision]]) -> list[TargetState]:
    """Return the targets of an owner's proposals as they are now, each read once however many are about it."""
    labels = {proposal.target for proposal, _ in pairs if proposal.target_kind == TargetKind.BLOCK}
    blocks = {label: BlockState(reads.find_block(owner, label)) for label in labels}
    about_notes = [revision for proposal, revision in pairs if proposal.target_kind != TargetKind.BLOCK]
    ids = {id_ for revision in about_notes for id_ in (*_ids_of(revision), *replacement_ids(revision))}
    found = reads.note_sha256s(owner, ids) if ids else {}
    return [
        blocks[proposal.target]
        if proposal.target_kind == TargetKind.BLOCK
        else _notes_state(revision, found, closes_circle=_closes_circle(proposal, revision))
        for proposal, revision in pairs
    ]


def replacement_ids(revision: Revision) -> list[str]:
    """Return the ids of the notes a revision puts in the place of those it changes."""
    ids = []
    for change in revision.note_changes:
        before, after = change["before"] or {}, change["after"] or {}
        if after.get("superseded_by") and after["superseded_by"] != before.get("superseded_by"):
            ids.append(after["superseded_by"])
    return ids


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
        if whole_blocks.is_of_whole_block(revision):
            new = whole_blocks.new_block_of(revision)
            made = new.fields_with(revision.result_text) if new else None
            return (BlockWrite(proposal.owner, proposal.target, made, revision.base_sha256),)
        block = base or reads.block_at(proposal.owner, proposal.target, revision.base_commit)
        made = replace(fields_of(block), body=revision.result_text)
        return (BlockWrite(proposal.owner, proposal.target, made, revision.base_sha256),)
    return note_rows_to_write(proposal.owner, revision.note_changes)


def fields_of(block: reads.Block) -> BlockFields:
    """Return what is written of a block."""
    return BlockFields(**{each.name: getattr(block, each.name) for each in fields(BlockFields)})


def note_rows_to_write(owner: str, changes: list[dict[str, object]]) -> tuple[NoteWrite, ...]:
    """Return stored note changes as rows to write."""
    return tuple(
        NoteWrite(
            owner=owner,
            id=str(change["id"]),
            note=reads.Note.from_json(change["after"]) if isinstance(change["after"], dict) else None,
            expected_sha256=str(change["before"]["sha256"]) if isinstance(change["before"], dict) else "",
        )
        for change in changes
    )


def matches(proposal: Proposal, revision: Revision, commit: str) -> bool:
    """Whether the target at `commit` is what the revision says it becomes.

    Raises:
        RevisionNotFound: `commit` cannot be read.
    """
    if proposal.target_kind == TargetKind.BLOCK:
        try:
            block = reads.block_at(proposal.owner, proposal.target, commit)
        except reads.BlockNotFound:
            return whole_blocks.is_deletion(revision)
        if whole_blocks.is_deletion(revision):
            return False
        new = whole_blocks.new_block_of(revision)
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
    for change in revision.note_changes:
        before, after = change["before"] or {}, change["after"] or {}
        replacement_id = after.get("superseded_by")
        if not replacement_id or replacement_id == before.get("superseded_by"):
            continue
        if reads.closes_circle(proposal.owner, change["id"], replacement_id):
            return True
    return False
