"""What several tools take, most of them about notes, with the words that explain it; and who changes a note."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from agent_tools.calls.arguments import ChangeArguments, Name, TakesConfidence
from agent_tools.calls.registry import Call
from approvals.services.notes import ChangeContext
from assent_client.text import notes

ALL = "all"
_OR_ALL = [ALL, *notes.TYPES]


def _known(type: str, *, types: Sequence[str] = notes.TYPES) -> str:
    if type not in types:
        raise PydanticCustomError("note_type", "must be one of {types}", {"types": ", ".join(types)})
    return type


def _has_words(query: str) -> str:
    if not query.strip():
        raise PydanticCustomError("query", "must not be empty")
    return query


Query = Annotated[str, Field(min_length=1, max_length=20_000), AfterValidator(_has_words)]
#: In an address, which has 8,190 bytes at most; some characters take several bytes there.
QueryInAddress = Annotated[str, Field(min_length=1, max_length=8_000), AfterValidator(_has_words)]


def version_field(reads: str) -> Any:
    """Return the field of a version to read: `version_field("Read the block")`."""
    return Field(
        description=f"{reads} as it was then: a date or time (ISO 8601, UTC), or a commit hash.",
        min_length=1,
        max_length=64,
    )


#: What a content is, for models.
STATEMENT = f"Natural language text: one concise statement, at most {notes.MAX_CONTENT:,} characters."
# A longer content is refused by the service, which says by how much.
Content = Annotated[
    str,
    Field(
        description=STATEMENT,
        json_schema_extra={"minLength": 1, "maxLength": notes.MAX_CONTENT},
    ),
]
NoteId = Annotated[Name, Field(description="ID of the note, as answers name it.")]
Type = Annotated[str, AfterValidator(_known), Field(json_schema_extra={"enum": list(notes.TYPES)})]
TypeOrAll = Annotated[str, AfterValidator(partial(_known, types=_OR_ALL)), Field(json_schema_extra={"enum": _OR_ALL})]
Category = Annotated[str | None, Field(description="One word to organise notes by.", min_length=1, max_length=64)]
Tags = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=64)]],
    Field(description="Words to find the note by.", max_length=50),
]
Confidence = Annotated[
    float, TakesConfidence, Field(description="How sure you are, from 0 to 1; 0.8 if you do not say.")
]


def said_with(call: Call, arguments: ChangeArguments) -> dict[str, Any]:
    """Return what every service takes beside a change: why, and with which rights; see `ChangeContext`."""
    return {
        "may_apply": call.may_apply,
        "reasoning": arguments.reasoning.strip(),
        "session_id": arguments.session_id,
        "evidence": [turn.model_dump(exclude_none=True) for turn in arguments.evidence],
        "operation": call.operation,
        "proposal_id": arguments.proposal_id,
        "force": arguments.force,
    }


def changed_by(call: Call, arguments: ChangeArguments) -> ChangeContext:
    """Return who changes notes, for the record."""
    return ChangeContext(actor=call.caller.agent, **said_with(call, arguments))
