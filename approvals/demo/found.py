"""Which steps of the story the databases hold already."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from approvals.demo import people
from approvals.demo.steps import (
    AboutNote,
    Created,
    Edited,
    NoteChanged,
    Noted,
    NoteDeleted,
    NoteSuperseded,
    Proposed,
    Step,
)
from approvals.models import DECIDED, Proposal, Status
from memory_app.models import Change

_NAMESPACE = uuid.UUID("0c0c7f0e-6a55-5f0c-8d7e-1d7b3a2f9e44")


def operation_of(name: str) -> str:
    """The operation id of the proposal called `name`: always the same, so proposing again finds it."""
    return uuid.uuid5(_NAMESPACE, name).hex


def note_id_of(name: str) -> str:
    """The id of the note called `name`."""
    return f"note-{uuid.uuid5(_NAMESPACE, name)}"


def action_of(step: AboutNote) -> Change.Action:
    """How the ledger names what a person did in a step."""
    match step:
        case Noted():
            return Change.Action.CREATED
        case NoteChanged():
            return Change.Action.EDITED
        case NoteSuperseded():
            return Change.Action.SUPERSEDED
        case NoteDeleted():
            return Change.Action.DELETED


class Found:
    """What is there, read once, in four queries.

    Blocks and edits are looked for in the ledger and not in the memory: a demo block somebody deleted or
    changed since was still made.
    """

    def __init__(self, story: Sequence[Step]) -> None:
        self.story = story
        changes = Change.objects.filter(target_kind="block")
        self.created = set(changes.filter(action=Change.Action.CREATED).values_list("owner", "target"))
        self.edited = set(changes.filter(action=Change.Action.EDITED).values_list("owner", "target", "comment"))
        people_did = Change.objects.filter(target_kind="note").exclude(actor="")
        self.noted = set(people_did.values_list("owner", "target", "action"))
        operations = [operation_of(step.name) for step in story if isinstance(step, Proposed | AboutNote)]
        self.status = dict(Proposal.objects.filter(operation__in=operations).values_list("operation", "status"))

    def missing(self) -> list[Step]:
        """The steps not played yet, in order."""
        return [step for step in self.story if not self._has(step)]

    def _has(self, step: Step) -> bool:
        match step:
            case Created():
                return (step.owner, step.label) in self.created
            case Edited():
                return (step.owner, step.label, step.comment) in self.edited
            case Noted() | NoteChanged() | NoteSuperseded() | NoteDeleted() if step.actor != people.AGENT:
                return (step.owner, note_id_of(step.note), action_of(step)) in self.noted
            case Proposed() | Noted() | NoteChanged() | NoteSuperseded() | NoteDeleted():
                return self.status.get(operation_of(step.name), Status.PREPARING) != Status.PREPARING
            case _:
                return self.status.get(operation_of(step.name)) in DECIDED
