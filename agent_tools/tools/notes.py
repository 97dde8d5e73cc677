"""Changing notes: memory_save, memory_update, memory_delete, remember, forget.

With `notes:write` the owner's policy decides whether it is applied at once; with `memory:propose` alone it
always waits for a person. Reading notes is in `recall`.
"""

import json
import time
from collections.abc import Callable
from functools import partial
from typing import Annotated

from django.dispatch import Signal
from pydantic import Field

from agent_tools.answers import fields, outcomes, refusals
from agent_tools.answers.representations import Subject, named
from agent_tools.calls import execution
from agent_tools.calls.arguments import Name, NoteWriteArguments
from agent_tools.calls.registry import Answer, Call, for_list, is_listed, tool
from agent_tools.tools import note_arguments as taken
from approvals.models import Status
from approvals.services import notes
from memory_app import reads
from memory_app.reads.catalogue import catalogue
from memory_app.text import alike
from memory_app.text.lines import first_words

#: How the older of two notes that say nearly the same is taken out.
_TAKE_OUT = 'call memory_delete with note_id="{old}"'
#: What is stored with a note beside its text.
_FIELDS = {"category", "tags", "type", "confidence", "rationale"}

#: Notes saved with one call.
_MOST = 50

_SAME = {"same_notes": "string[]: ids of other notes that say the same, newest first; of a new note, but for a word"}
_WRITTEN = {
    "note_id": "string: the note's id",
    "note_ids": "optional string[]: of a list of texts that is saved, the id of the note that says each",
    **_SAME,
    **fields.WRITTEN,
}


class SaveArguments(NoteWriteArguments):
    content: Annotated[
        taken.Content | Annotated[list[taken.Content], Field(min_length=1, max_length=_MOST)],
        # Of several forms, models are shown the first.
        Field(description=taken.STATEMENT),
    ]
    category: taken.Category = None
    tags: taken.Tags = Field(default_factory=list)


@tool(returns=_WRITTEN)
def memory_save(call: Call, arguments: SaveArguments) -> Answer:
    if isinstance(arguments.content, list):
        return _saved_several(call, arguments, arguments.content)
    save = partial(notes.save, content=arguments.content, category=arguments.category, tags=arguments.tags)
    outcome = _changed(call, arguments, save)
    near = _TAKE_OUT + for_list(" (next time, memory_update with it)")
    return _answer(outcome, "saved", _beside_new(call, outcome, arguments, near))


def _saved_several(call: Call, arguments: SaveArguments, contents: list[str]) -> Answer:
    with refusals.explained(Subject.of_write(call, arguments)):
        outcome, ids = notes.save_several(
            by=taken.changed_by(call, arguments),
            owner=call.owner,
            contents=contents,
            tags=arguments.tags,
            category=arguments.category,
        )
    beside = {"note_id": ids[0], "note_ids": ids, "same_notes": []}
    if outcome is None:
        nothing = dict.fromkeys(fields.WRITTEN) | {"status": "known", "created": False, "amended": False}
        return Answer(f"Known already: {named(ids)}. Nothing was made.", nothing | beside)
    made = [change.id for change in outcome.changes]
    known = [id_ for id_ in dict.fromkeys(ids) if id_ not in made]
    more = f"Known already: {named(known)}." if known else ""
    return outcomes.of_note(outcome, applied=f"Notes {named(made)} saved.", beside=beside, more=more)


class UpdateArguments(NoteWriteArguments):
    note_id: taken.NoteId
    content: taken.Content


@tool(returns=_WRITTEN, is_repeatable=True)
def memory_update(call: Call, arguments: UpdateArguments) -> Answer:
    update = partial(notes.update, note_id=arguments.note_id, content=arguments.content)
    outcome = _changed(call, arguments, update)
    return _answer(outcome, "updated", _others(call, outcome))


class DeleteArguments(NoteWriteArguments):
    note_id: taken.NoteId


@tool(returns=_WRITTEN)
def memory_delete(call: Call, arguments: DeleteArguments) -> Answer:
    outcome = _changed(call, arguments, partial(notes.delete, note_id=arguments.note_id))
    if outcome.proposal and outcome.proposal.status == Status.WITHDRAWN:
        number = outcome.proposal.pk
        text = f"Note {outcome.note_id} was not in the memory yet: your proposal {number}, which waited, is withdrawn."
        data = outcomes.data_of(outcomes.of_notes(outcome))
        return Answer(text, {"note_id": outcome.note_id, "same_notes": []} | data)
    return _answer(outcome, "deleted", _others(call, outcome))


class RememberArguments(NoteWriteArguments):
    content: taken.Content
    type: taken.Type = Field(default="fact", description="Type of memory.")
    confidence: taken.Confidence = 0.8
    rationale: str | None = Field(default=None, description="Why this is worth remembering.", max_length=2_000)
    tags: taken.Tags = Field(default_factory=list)
    memory_id: str | None = Field(
        default=None,
        description="An id of your own, as in memories.md: mem-{unix time}-{4 of 0-9a-z}. One is made otherwise.",
        min_length=1,
        max_length=64,
    )


@tool(returns=_SAME | fields.WRITTEN)
def remember(call: Call, arguments: RememberArguments) -> Answer:
    save = partial(
        notes.save,
        content=arguments.content,
        type=arguments.type,
        confidence=arguments.confidence,
        rationale=arguments.rationale or arguments.reasoning.strip(),
        tags=arguments.tags,
        note_id=arguments.memory_id,
    )
    outcome = _told(execution.remembered, call, arguments, save)
    is_there = outcome.is_applied or outcome.known is not None
    data = {"remembered": is_there, "memory_id": outcome.note_id, "memory_type": arguments.type}
    near = 'call forget with memory_id="{old}" and replacement_id="{new}"' if is_listed("forget") else _TAKE_OUT
    same, more = _beside_new(call, outcome, arguments, near)
    return outcomes.of_note(
        outcome,
        applied=f"Successfully stored {arguments.type} memory with id {outcome.note_id}",
        beside=data | {"same_notes": same},
        more=more,
        message=True,
    )


class ForgetArguments(NoteWriteArguments):
    memory_id: Name = Field(description="ID of the note to supersede.")
    reason: str | None = Field(default=None, description="Why this memory is being superseded.", max_length=2_000)
    replacement_id: Name | None = Field(default=None, description="ID of the note that takes its place (optional).")


@tool(returns=_SAME | fields.WRITTEN, is_repeatable=True)
def forget(call: Call, arguments: ForgetArguments) -> Answer:
    reason = arguments.reason or arguments.reasoning.strip() or None
    new = arguments.replacement_id
    supersede = partial(notes.supersede, note_id=arguments.memory_id, reason=reason, replacement_id=new)
    outcome = _told(execution.forgotten, call, arguments, supersede)
    same, more = _others(call, outcome, "forget with the memory_id")
    data = {"forgotten": outcome.is_applied, "memory_id": outcome.note_id, "reason": arguments.reason}
    data |= {"same_notes": same}
    applied = f"Memory {outcome.note_id} has been superseded"
    return outcomes.of_note(outcome, applied=applied, beside=data, more=more, message=True)


def _changed(
    call: Call, arguments: NoteWriteArguments, change: Callable[..., notes.NoteChangeOutcome]
) -> notes.NoteChangeOutcome:
    """Return what came of a change of a note. Raise ApiError for what is refused."""
    with refusals.explained(Subject.of_write(call, arguments)):
        return change(by=taken.changed_by(call, arguments), owner=call.owner)


def _told(
    signal: Signal, call: Call, arguments: NoteWriteArguments, change: Callable[..., notes.NoteChangeOutcome]
) -> notes.NoteChangeOutcome:
    """Return the same, and tell `signal` of it."""
    began = time.perf_counter()
    outcome = _changed(call, arguments, change)
    note = outcome.changes[0].before or outcome.changes[0].after
    about = {"session_id": arguments.session_id, "type": note.type if note else "", "note_id": outcome.note_id}
    status = "applied" if outcome.is_applied else "known" if outcome.known else "open"
    execution.tell(signal, call, began=began, status=status, **about)
    return outcome


#: Other notes that say the same, by their ids, and the line that says it.
_Beside = tuple[list[str], str]


def _answer(outcome: notes.NoteChangeOutcome, done: str, beside: _Beside) -> Answer:
    data = {"note_id": outcome.note_id, "same_notes": beside[0]}
    return outcomes.of_note(outcome, applied=f"Note {outcome.note_id} {done}.", beside=data, more=beside[1])


def _others(call: Call, outcome: notes.NoteChangeOutcome, how: str = "memory_delete with the note_id") -> _Beside:
    """Name the other notes that say what this one says now, or said before it was deleted or superseded."""
    change = outcome.changes[0]
    note = change.before if change.after is None or change.after.is_superseded else change.after
    found = catalogue(call.owner).saying(alike.said_by(note.content) if note else "", but=change.id)
    ids = [entry.id for entry in found]
    says = "1 more note says" if len(ids) == 1 else f"{len(ids)} more notes say"
    return ids, f"{says} the same: {named(ids)}.{for_list(f' {how} of each takes it out too.')}" if ids else ""


def _beside_new(
    call: Call, outcome: notes.NoteChangeOutcome, arguments: SaveArguments | RememberArguments, near: str
) -> _Beside:
    """Say what was given with a text that was there already, or else which note says nearly the same.

    Args:
        near: what to call about that one.
    """
    if outcome.known or (outcome.proposed and not outcome.proposed.created):
        return [], _not_stored(outcome, arguments)
    old = reads.find_note(call.owner, outcome.near) if outcome.near else None
    if old is None:
        return [], ""
    says = f"{old.id} says nearly this: “{first_words(old.content, 200)}”. Where both hold, leave it."
    replaces = f" If the new one replaces it, {near.format(old=old.id, new=outcome.note_id)}."
    return [old.id], f"{says}{for_list(replaces)}"


def _not_stored(outcome: notes.NoteChangeOutcome, arguments: SaveArguments | RememberArguments) -> str:
    has = outcome.changes[0].as_json()["after"]
    given = arguments.model_dump(include=arguments.model_fields_set & _FIELDS).items()
    other = [f"{name} {_said(value)} (it has {_said(has[name])})" for name, value in given if value != has[name]]
    if not other:
        return ""
    is_forgotten = isinstance(arguments, RememberArguments) and is_listed("forget")
    gone = "forget with memory_id" if is_forgotten else "memory_delete with note_id"
    again = f"call {gone}={json.dumps(has['id'])}, then save it again"
    if outcome.proposed:
        again = f"save it again with proposal_id={outcome.proposed.proposal.pk}"
    return f"Not stored with it: {', '.join(other)}.{for_list(f' To have that, {again}.')}"


def _said(value: object) -> str:
    return json.dumps(value, ensure_ascii=False) if value else "none"
