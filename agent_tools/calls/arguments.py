"""What tools take in common: pydantic models, strict but for aliases and `null`.

The text "true" is no boolean, and an unknown argument is refused. Two things are lenient: the aliases of the contract,
and `null` for what may be left out. Reading arguments is in `parsing`, their JSON Schema in `json_schema`.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

#: Other names agents use, from other systems' edit tools.
ALIASES = {"old_str": "old_string", "new_str": "new_string", "label": "block_label", "reason": "reasoning"}

#: Characters of the longest answer a caller may ask for.
LONGEST_ANSWER = 1_000_000

#: Marks an argument that has a default only so that another check refuses its absence, with a text of its own.
REQUIRED = "x-required"


class Strict(BaseModel):
    """Base of everything read from a caller."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _by_their_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        named = dict(given)
        for alias, name in ALIASES.items():
            if alias in named and alias not in cls.model_fields and name in cls.model_fields:
                if name in named:
                    raise PydanticCustomError(
                        "twice", "is another name for {name}; give one of them", {"name": name, "alias": alias}
                    )
                named[name] = named.pop(alias)
        return {
            name: value
            for name, value in named.items()
            if value is not None or name not in cls.model_fields or cls.model_fields[name].is_required()
        }


def is_time(text: str) -> str:
    try:
        at = datetime.fromisoformat(text)
    except ValueError as error:
        raise PydanticCustomError("time", "must be a date or time in ISO 8601") from error
    if not 1900 <= at.year <= 2200:  # at the ends of the calendar there is no other time zone to show it in
        raise PydanticCustomError("time", "must be between the years 1900 and 2200")
    return text


class TurnArguments(Strict):
    """One turn of the conversation a change rests on."""

    role: Annotated[Literal["user", "assistant", "system", "tool"], Field(description="Who said it.")]
    content: Annotated[str, Field(description="What was said, in its own words.", max_length=20_000)]
    at: Annotated[
        str | None, Field(description="When it was said (ISO 8601).", max_length=40), AfterValidator(is_time)
    ] = None


class Arguments(Strict):
    """What every tool takes."""

    session_id: Annotated[
        str, Field(description="The conversation this call belongs to, as provenance.", max_length=128)
    ] = ""


class BoundedArguments(Arguments):
    """What every tool takes whose answer may be long; see `bounds`."""

    max_characters: Annotated[
        int | None,
        Field(
            description="Characters the answer may have, about: what does not fit is left out whole, and said. "
            "The installation's default is 20000.",
            ge=100,
            le=LONGEST_ANSWER,
        ),
    ] = None


class WriteArguments(Arguments):
    """What every tool that changes something takes."""

    idempotency_key: Annotated[
        str | None,
        Field(
            description="Any text of your own: the same key with the same arguments gives the first answer again.",
            min_length=1,
            max_length=200,
        ),
    ] = None


#: The largest number a proposal may have.
LARGEST_ID = 2**63 - 1

_AmendedId = Annotated[
    int | None,
    Field(
        description="Amend this undecided proposal of yours, about the same block or note, instead of making another: "
        "its next revision, made on the text as it is now. So you answer a reviewer who asks for changes.",
        ge=1,
        le=LARGEST_ID,
    ),
]


_Force = Annotated[
    bool,
    Field(
        description="Ask the user again about what was rejected before (rejected_before), with new reasoning. "
        "Only where something has changed since.",
    ),
]


class NoteWriteArguments(WriteArguments):
    """What every tool that changes notes takes."""

    reasoning: Annotated[
        str, Field(description="Why, in a sentence the user can read beside the change.", max_length=4_000)
    ] = ""
    evidence: Annotated[
        list[TurnArguments],
        Field(description="The conversation turns this change rests on, shown beside it.", max_length=50),
    ] = Field(default_factory=list)
    proposal_id: _AmendedId = None
    force: _Force = False


class ReasonedArguments(WriteArguments):
    """What every tool that proposes a change of blocks takes."""

    reasoning: Annotated[
        str,
        Field(
            description="Brief explanation of why this edit is needed (shown to user for approval).",
            max_length=4_000,
            json_schema_extra={REQUIRED: True},
        ),
    ] = ""
    confidence: Annotated[
        Literal["low", "medium", "high"], Field(description="How sure you are that the user will agree.")
    ] = "medium"
    evidence: Annotated[
        list[TurnArguments],
        Field(description="The conversation turns this change rests on, shown beside it.", max_length=50),
    ] = Field(default_factory=list)
    proposal_id: _AmendedId = None
    force: _Force = False


class ProposeArguments(ReasonedArguments):
    """What every tool that proposes a change of a block that exists takes."""

    expected_sha256: Annotated[
        str | None,
        Field(
            description="The sha256 that read_memory_block returned; refused when the block has changed since.",
            pattern="^[0-9a-f]{64}$",
        ),
    ] = None


def accepted(model: type[Arguments]) -> list[str]:
    """Return the names of a model's arguments, its own before those all tools take."""
    return sorted(model.model_fields, key=lambda name: _generality(model, name))


def given(arguments: Arguments, *, without: set[str]) -> dict[str, Any]:
    """Return what a caller gave, in the order of the schema, as a call that can be made again."""
    dumped = arguments.model_dump(exclude_unset=True, exclude=without)
    return {name: dumped[name] for name in accepted(type(arguments)) if name in dumped}


def required_names(model: type[Arguments]) -> list[str]:
    """Return the arguments that are required although they have a default; see `REQUIRED`."""
    extras = ((name, field.json_schema_extra) for name, field in model.model_fields.items())
    return [name for name, extra in extras if isinstance(extra, dict) and extra.get(REQUIRED)]


_SHARED: tuple[tuple[int, type[Strict]], ...] = (
    (4, Arguments),
    (3, BoundedArguments),
    (3, WriteArguments),
    (2, NoteWriteArguments),
    (2, ReasonedArguments),
    (2, ProposeArguments),
)


def _generality(model: type[Arguments], name: str) -> int:
    """Return 0 for a tool's own arguments, more for those it shares with others."""
    for rank, shared in _SHARED:
        if issubclass(model, shared) and name in shared.model_fields:
            # Why comes first of what all proposals take.
            return 1 if name == "reasoning" else rank
    return 0


# -- The JSON Schema of a tool's arguments, as makers of models want it.


def json_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return JSON Schema as makers of models want it: no $defs, no titles, no `anyOf: […, null]`."""
    raw = model.model_json_schema()
    cleaned: dict[str, Any] = _clean(raw, raw.get("$defs", {}))
    cleaned.pop("description", None)
    properties = cleaned.get("properties", {})
    cleaned["properties"] = {name: properties[name] for name in accepted(model)}
    required = set(cleaned.pop("required", []))
    required |= set(required_names(model))
    cleaned["required"] = [name for name in cleaned["properties"] if name in required]
    return {"type": "object", **cleaned}


def _clean(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_clean(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    node = {key: value for key, value in node.items() if key not in ("$defs", REQUIRED)}
    if "$ref" in node:
        referred = definitions[node.pop("$ref").rsplit("/", 1)[-1]]
        node = {**referred, **node}
    if "anyOf" in node:
        real = [option for option in node["anyOf"] if option.get("type") != "null"]
        if len(real) == 1:
            node.pop("anyOf")
            node = {**real[0], **node}
        if node.get("default", "") is None:
            node.pop("default")
    if node.get("default") == "":
        node.pop("default")
    if isinstance(node.get("title"), str):
        node.pop("title")
    return {
        key: {name: _clean(inner, definitions) for name, inner in value.items()}
        if key == "properties"
        else _clean(value, definitions)
        for key, value in node.items()
    }
