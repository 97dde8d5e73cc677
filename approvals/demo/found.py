"""Which steps of the story the databases hold already."""

from __future__ import annotations

import uuid
from collections.abc import Sequence

from approvals.demo.steps import Created, Edited, Proposed, Step
from approvals.models import DECIDED, Proposal, Status
from memory_app.models import Change

_NAMESPACE = uuid.UUID("0c0c7f0e-6a55-5f0c-8d7e-1d7b3a2f9e44")


def operation_of(name: str) -> str:
    """The operation id of the proposal called `name`: always the same, so proposing again finds it."""
    return uuid.uuid5(_NAMESPACE, name).hex


class Found:
    """What is there, read once, in three queries.

    Blocks and edits are looked for in the ledger and not in the memory: a demo block somebody deleted or
    changed since was still made.
    """

    def __init__(self, story: Sequence[Step]) -> None:
        self.story = story
        changes = Change.objects.filter(target_kind="block")
        self.created = set(changes.filter(action=Change.Action.CREATED).values_list("owner", "target"))
        self.edited = set(changes.filter(action=Change.Action.EDITED).values_list("owner", "target", "comment"))
        operations = [operation_of(step.name) for step in story if isinstance(step, Proposed)]
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
            case Proposed():
                return self.status.get(operation_of(step.name), Status.PREPARING) != Status.PREPARING
            case _:
                return self.status.get(operation_of(step.name)) in DECIDED
