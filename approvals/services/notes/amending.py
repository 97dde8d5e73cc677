"""An agent amends its undecided proposal about notes: the change it asks for now becomes the next revision.

It waits for a person also where policy applies new changes: somebody was asked about it.
"""

from __future__ import annotations

from typing import Any

from approvals.models import Agent, Kind, Proposal, ProposedNote
from approvals.risks import flags
from approvals.services.errors import NotesChanged, ProposalNotFound
from approvals.services.notes import agents
from approvals.services.notes.compare import NoteChangeResult, assess_changes
from approvals.services.notes.values import ChangeContext, NoteChange, NoteChangeOutcome, sha256_of
from approvals.services.turn import next_revision
from approvals.services.turn.refusals import NothingAmended, OtherTarget
from memory_app import reads
from memory_app.dolt.connections import head_of_main, retrying
from memory_app.models import TargetKind


def find(by: ChangeContext, owner: str) -> Proposal:
    """Return the proposal that a call is to amend.

    Raises:
        ProposalNotFound: this actor has no proposal with this number for this owner.
    """
    if not isinstance(by.actor, Agent) or by.amends is None:
        raise ProposalNotFound
    return next_revision.own_proposal(by.actor, owner, by.amends)


def new_note_id(by: ChangeContext, owner: str, note_id: str | None) -> str | None:
    """Return the id of the new note that a call amends; `note_id` when it amends nothing.

    Raises:
        ProposalNotFound, OtherTarget: it is not the proposal of a new note, or not of this one.
    """
    if by.amends is None:
        return note_id
    proposal = find(by, owner)
    if proposal.kind != Kind.SAVE or note_id not in (None, proposal.target):
        raise OtherTarget(proposal)
    return proposal.target


def amend(
    by: ChangeContext,
    proposal: Proposal,
    kind: Kind,
    changes: tuple[NoteChange, ...],
    base_commit: str | None = None,
) -> NoteChangeOutcome:
    """Ask for `changes` in an undecided proposal.

    Args:
        base_commit: the commit of main the notes were read at; the head of main by default.

    Raises:
        OtherTarget: the proposal is about another note, or one of them is an import.
        NothingAmended: it asks for exactly this already, on the current notes, and no other evidence is given.
        NotesChanged: a note changed since it was read.
        AlreadyDecided, BeingDecided, BeingMade, TooManyRevisions.
    """
    proposal = next_revision.require_amendable(proposal, agents.finish)
    if kind != Kind.IMPORT:
        next_revision.require_target(proposal, TargetKind.NOTE, changes[0].id)
    elif proposal.kind != Kind.IMPORT:
        raise OtherTarget(proposal)
    said = flags.said_with(by.reasoning or proposal.reasoning, by.evidence or proposal.evidence)
    made = assess_changes(kind, changes, said=said)
    former = proposal.current_revision
    if _is_same(proposal, made, kind) and list(by.evidence) in ([], proposal.evidence):
        raise NothingAmended(proposal)
    base = base_commit or retrying(head_of_main)
    _require_unchanged(proposal.owner, changes, base)
    next_revision.begin(
        proposal,
        operation=by.operation,
        said={"reasoning": by.reasoning, "session_id": by.session_id, "evidence": list(by.evidence)},
        values={
            "kind": kind,
            "search_words": made.search_words(proposal.target, by.reasoning or proposal.reasoning),
            **made.fields,
        },
        also=lambda: _name_notes_again(proposal, changes),
        base_commit=base,
        base_sha256="",
        base_text=made.before,
        edits=[],
        result_text=made.after,
        note_changes=made.stored,
        risk_report=made.summary.risk_report.as_json() if kind == Kind.IMPORT else None,
    )
    proposal = agents.finish(proposal, is_mine=True)
    next_revision.drop_former_branch(proposal, former)
    return NoteChangeOutcome(changes, proposal.merge_commit, proposal, amended=True)


def _is_same(proposal: Proposal, made: NoteChangeResult, kind: Kind) -> bool:
    """Whether the proposal asks for the same already, of the same notes as they are now."""
    before = [_before(change) for change in proposal.current_revision.note_changes]
    same = proposal.result_sha256 == made.fields["result_sha256"] and proposal.kind == kind
    return same and before == [_before(change) for change in made.stored]


def _before(change: dict[str, Any]) -> tuple[str, str]:
    return change["id"], change["before"]["sha256"] if change["before"] else ""


def _require_unchanged(owner: str, changes: tuple[NoteChange, ...], commit: str) -> None:
    """Raise NotesChanged unless the notes are at `commit` as they were read: the branch is written on top of it."""
    found = reads.find_notes(owner, [change.id for change in changes], commit)
    if any(sha256_of(found.get(change.id)) != sha256_of(change.before) for change in changes):
        raise NotesChanged([change.id for change in changes])


def _name_notes_again(proposal: Proposal, changes: tuple[NoteChange, ...]) -> None:
    if proposal.kind == Kind.IMPORT:
        ProposedNote.objects.filter(proposal=proposal).delete()
        agents.name_notes(proposal, [change.id for change in changes])
