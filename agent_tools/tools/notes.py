"""Changing notes: memory_save, memory_update, memory_delete, remember, forget.

With `notes:write` the owner's policy decides whether it is applied at once; with `memory:propose` alone it
always waits for a person. Reading notes is in `recall`.
"""

import time
from typing import Annotated

from django.dispatch import Signal
from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals
from agent_tools.answers.representations import Subject
from agent_tools.calls import execution
from agent_tools.calls.arguments import FOR_PROGRAMS, SHOWN_AS, NoteWriteArguments
from agent_tools.calls.registry import Answer, Call, tool
from agent_tools.tools.note_arguments import Category, Confidence, Content, NoteId, Tags, Type, changed_by
from approvals.models import Status
from approvals.services import notes

_WRITTEN = {"note_id": "string: the note's id"} | fields.WRITTEN


class SaveArguments(NoteWriteArguments):
    content: Content
    category: Category = None
    tags: Tags = Field(default_factory=list)


@tool(
    description=(
        "Save an important piece of information to your persistent memory as a natural language note. Use this "
        "proactively whenever the user shares preferences, makes decisions, states facts, or tells you something "
        "worth remembering across conversations. Saved notes persist across all sessions and channels. Returns a "
        "note_id for future reference."
    ),
    failing="Error saving note",
    returns=_WRITTEN,
)
def memory_save(call: Call, arguments: SaveArguments) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments)):
        outcome = notes.save(
            by=changed_by(call, arguments),
            owner=call.owner,
            content=arguments.content,
            category=arguments.category,
            tags=arguments.tags,
        )
    return _answer(outcome, "saved")


class UpdateArguments(NoteWriteArguments):
    note_id: NoteId
    content: Content


@tool(
    description=(
        "Update a previously saved note with new content. Use this when the user corrects or changes previously "
        "stored information (e.g., a new preferred name, an updated preference). First use memory_search to find the "
        "note and its note_id, then call this with the note_id and the new content."
    ),
    failing="Error updating note",
    returns=_WRITTEN,
    target="note_id",
    is_repeatable=True,
)
def memory_update(call: Call, arguments: UpdateArguments) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments)):
        outcome = notes.update(
            by=changed_by(call, arguments), owner=call.owner, note_id=arguments.note_id, content=arguments.content
        )
    return _answer(outcome, "updated")


class DeleteArguments(NoteWriteArguments):
    note_id: NoteId


@tool(
    description=(
        "Delete a previously saved note from memory. Use this when the user asks you to forget specific information. "
        "First use memory_search to find the note and its note_id, then call this with the note_id to remove it."
    ),
    failing="Error deleting note",
    returns=_WRITTEN,
    target="note_id",
)
def memory_delete(call: Call, arguments: DeleteArguments) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments)):
        outcome = notes.delete(by=changed_by(call, arguments), owner=call.owner, note_id=arguments.note_id)
    if outcome.proposal and outcome.proposal.status == Status.WITHDRAWN:
        number = outcome.proposal.pk
        text = f"Note {outcome.note_id} was not in the memory yet: your proposal {number}, which waited, is withdrawn."
        data = outcomes.data_of(outcomes.of_notes(outcome))
        return Answer(text, {"note_id": outcome.note_id} | data)
    return _answer(outcome, "deleted")


class RememberArguments(NoteWriteArguments):
    content: Content
    type: Annotated[Type, Field(description="Type of memory.")] = "fact"
    confidence: Confidence = 0.8
    rationale: Annotated[
        str | None,
        # Models are shown `reasoning` alone, which stands for it.
        Field(description="Why this is worth remembering.", max_length=2_000, json_schema_extra={FOR_PROGRAMS: True}),
    ] = None
    tags: Tags = Field(default_factory=list)
    memory_id: Annotated[
        str | None,
        Field(
            description="An id of your own, as in memories.md: mem-{unix time}-{4 of 0-9a-z}. One is made otherwise.",
            min_length=1,
            max_length=64,
            json_schema_extra={FOR_PROGRAMS: True},
        ),
    ] = None


@tool(
    description=(
        "Persist important information to long-term memory. "
        "Use when you discover something valuable for future sessions."
    ),
    failing="Error remembering",
    returns={
        "remembered": "boolean: true once it is in the memory; false while it waits for a person",
        "memory_id": "string: the memory's id",
        "memory_type": "string: as given",
        "message": "string: as in the text",
    }
    | fields.WRITTEN,
)
def remember(call: Call, arguments: RememberArguments) -> Answer:
    began = time.perf_counter()
    with refusals.explained(Subject.of_write(call, arguments, fields={"note_id": "memory_id"})):
        outcome = notes.save(
            by=changed_by(call, arguments),
            owner=call.owner,
            content=arguments.content,
            type=arguments.type,
            confidence=arguments.confidence,
            rationale=arguments.rationale or arguments.reasoning.strip(),
            tags=arguments.tags,
            note_id=arguments.memory_id,
        )
    _audit(execution.remembered, call, outcome, began, session_id=arguments.session_id, type=arguments.type)
    data = {"remembered": outcome.is_applied, "memory_id": outcome.note_id, "memory_type": arguments.type}
    return outcomes.of_note(
        outcome,
        applied=f"Successfully stored {arguments.type} memory with id {outcome.note_id}",
        beside=data,
        message=True,
    )


class ForgetArguments(NoteWriteArguments):
    memory_id: Annotated[
        str,
        Field(
            description="ID of the note to supersede.",
            min_length=1,
            max_length=200,
            json_schema_extra={SHOWN_AS: "note_id"},
        ),
    ]
    reason: Annotated[
        str | None,
        # As with `rationale`.
        Field(
            description="Why this memory is being superseded.", max_length=2_000, json_schema_extra={FOR_PROGRAMS: True}
        ),
    ] = None
    replacement_id: Annotated[
        str | None,
        Field(description="ID of the note that takes its place (optional).", min_length=1, max_length=200),
    ] = None


@tool(
    description=(
        "Mark a memory as superseded (soft delete), as outdated or replaced by another; memory_delete removes one, "
        "which is what users mean who ask you to forget something. "
        "The memory remains for provenance but won't be retrieved in normal queries."
    ),
    failing="Error forgetting",
    returns={
        "forgotten": "boolean: true once it is superseded; false while that waits for a person",
        "memory_id": "string: the memory's id",
        "reason": "string | null: as given, or null",
        "message": "string: as in the text",
    }
    | fields.WRITTEN,
    target="memory_id",
    is_repeatable=True,
)
def forget(call: Call, arguments: ForgetArguments) -> Answer:
    began = time.perf_counter()
    with refusals.explained(Subject.of_write(call, arguments, fields={"note_id": "memory_id"})):
        outcome = notes.supersede(
            by=changed_by(call, arguments),
            owner=call.owner,
            note_id=arguments.memory_id,
            reason=arguments.reason or arguments.reasoning.strip() or None,
            replacement_id=arguments.replacement_id,
        )
    before = outcome.changes[0].before
    _audit(
        execution.forgotten, call, outcome, began, session_id=arguments.session_id, type=before.type if before else ""
    )
    data = {"forgotten": outcome.is_applied, "memory_id": outcome.note_id, "reason": arguments.reason}
    return outcomes.of_note(outcome, applied=f"Memory {outcome.note_id} has been superseded", beside=data, message=True)


def _answer(outcome: notes.NoteChangeOutcome, done: str) -> Answer:
    note_id = outcome.note_id
    return outcomes.of_note(outcome, applied=f"Note {note_id} {done}.", beside={"note_id": note_id})


def _audit(
    record: Signal, call: Call, outcome: notes.NoteChangeOutcome, began: float, *, session_id: str, type: str
) -> None:
    status = "applied" if outcome.is_applied else "open"
    execution.tell(record, call, began=began, session_id=session_id, type=type, note_id=outcome.note_id, status=status)
