"""What tools take in common: pydantic models, strict but for aliases, `null` and what clients turned into text.

An unknown argument is refused. Lenient are other names for an argument, `null` for what may be left out, and the JSON
of a list, number or truth value as text, with one value for a list of one (`json_values.taken`). `parse` reads a
caller's arguments as a model, or raises the refusal that names each bad field with a plain reason; `json_schema` says
what is taken, `shown_schema` what a language model is told of it.
"""

import difflib
import json
import re
from collections.abc import Sequence
from datetime import datetime
from itertools import islice
from typing import Annotated, Any, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import ErrorDetails, PydanticCustomError

from agent_tools.calls.foreign_names import ALIASES, FOREIGN_ARGUMENTS
from agent_tools.calls.json_values import taken
from agent_tools.errors import ApiError, ErrorCode, error_because

#: Characters of the longest answer a caller may ask for.
LONGEST_ANSWER = 1_000_000

#: Marks an argument that has a default only so that another check refuses its absence, with a text of its own.
REQUIRED = "x-required"
#: What a program gives, and no model can know or use: where it may be left out, models are not shown it. The refusal
#: that needs `force` names it; `reasoning` stands for the other words for a reason.
_FOR_PROGRAMS = frozenset(
    "session_id idempotency_key max_characters expected_sha256 force memory_id reason rationale".split()
)
#: What models are shown an argument as, for one vocabulary.
_SHOWN_AS = {"memory_id": "note_id", "top_k": "limit"}


class Strict(BaseModel):
    """Base of everything read from a caller."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _by_their_names(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        named = dict(given)
        for alias in given.keys() & ALIASES.keys() - cls.model_fields.keys():
            if name := named_by(cls, alias):
                if name in named:
                    shown = shown_names(cls)[name]
                    context = {"name": name if alias == shown else shown, "alias": alias}
                    raise PydanticCustomError("twice", "is another name for {name}; give one of them", context)
                named[name] = named.pop(alias)
        for name in named.keys() & cls.model_fields.keys():
            named[name] = taken(name, cls.model_fields[name].annotation, named[name])
        return {
            name: value
            for name, value in named.items()
            if value is not None or name not in cls.model_fields or cls.model_fields[name].is_required()
        }


def named_by(model: type[BaseModel], alias: str) -> str | None:
    """Return the argument that another name stands for; None where it stands for none, or is one itself."""
    if alias in model.model_fields:
        return None
    return next((name for name in ALIASES.get(alias, ()) if name in shown_names(model)), None)


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

    role: Literal["user", "assistant", "system", "tool"] = Field(description="Who said it.")
    content: str = Field(description="What was said, in its own words.", max_length=20_000)
    at: Annotated[
        str | None, Field(description="When it was said (ISO 8601).", max_length=40), AfterValidator(is_time)
    ] = None


class Arguments(Strict):
    """What every tool takes."""

    session_id: str = Field(
        default="", description="The conversation this call belongs to, as provenance.", max_length=128
    )


class BoundedArguments(Arguments):
    """What every tool takes whose answer may be long; see `bounds`."""

    max_characters: int | None = Field(
        default=None,
        description="Characters the answer may have, about: what does not fit is left out whole, and said. "
        "The installation's default is 20000.",
        ge=100,
        le=LONGEST_ANSWER,
    )


class WriteArguments(Arguments):
    """What every tool that changes something takes."""

    idempotency_key: str | None = Field(
        default=None,
        description="Any text of your own: the same key with the same arguments gives the first answer again.",
        min_length=1,
        max_length=200,
    )


#: The largest number a proposal may have.
LARGEST_ID = 2**63 - 1
ProposalId = Annotated[int, Field(ge=1, le=LARGEST_ID)]
#: A label or an id.
Name = Annotated[str, Field(min_length=1, max_length=200)]


def _as_turns(said: Any) -> Any:
    """Return a sentence, or sentences, as turns of the user's."""
    turns = said if isinstance(said, list) else [said]
    return [{"role": "user", "content": turn} if isinstance(turn, str) else turn for turn in turns if turn != ""]


#: What the words of a confidence stand for, on the scale from 0 to 1 of notes.
_CONFIDENCE = {"low": 0.3, "medium": 0.6, "high": 0.9}
_Word = Literal["low", "medium", "high"]


def _as_word(sure: Any) -> Any:
    """Return how sure a number says one is, as proposals have it: the nearest word."""
    number = taken("confidence", float, sure)
    if isinstance(number, bool) or not isinstance(number, int | float):
        return sure
    return min(_CONFIDENCE, key=lambda word: abs(_CONFIDENCE[word] - number))


#: A confidence in a note's scale, or in words, which stand for numbers of it. Models are shown the numbers.
TakesConfidence = BeforeValidator(
    lambda sure: _CONFIDENCE.get(sure, sure) if isinstance(sure, str) else sure, json_schema_input_type=float | _Word
)


class ChangeArguments(WriteArguments):
    """What every tool that changes notes or blocks takes."""

    reasoning: str = Field(
        default="", description="Why, in a sentence the user can read beside the change.", max_length=4_000
    )
    evidence: Annotated[
        Annotated[list[TurnArguments], Field(max_length=50)],
        BeforeValidator(_as_turns, json_schema_input_type=str | list[TurnArguments]),
        Field(description="What the user said, word for word."),
    ] = Field(default_factory=list)
    proposal_id: ProposalId | None = Field(
        default=None,
        description="Amend this undecided proposal of yours, about the same block or note: this takes its place.",
    )
    force: bool = Field(
        default=False,
        description="Ask the user again about what was rejected before (rejected_before), with new reasoning. "
        "Only where something has changed since.",
    )


class NoteWriteArguments(ChangeArguments):
    """What every tool that changes notes takes."""


class ReasonedArguments(ChangeArguments):
    """What every tool that proposes a change of blocks takes."""

    reasoning: str = Field(
        default="",
        description="Brief explanation of why this edit is needed (shown to user for approval).",
        max_length=4_000,
        json_schema_extra={REQUIRED: True},
    )
    confidence: Annotated[
        _Word,
        BeforeValidator(_as_word, json_schema_input_type=float | _Word),
        Field(description="How sure you are that the user will agree, from 0 to 1."),
    ] = "medium"


class ProposeArguments(ReasonedArguments):
    """What every tool that proposes a change of a block that exists takes."""

    expected_sha256: str | None = Field(
        default=None,
        description="The sha256 that read_memory_block returned; refused when the block has changed since.",
        pattern="^[0-9a-f]{64}$",
    )


def accepted(model: type[Arguments]) -> list[str]:
    """Return the names of a model's arguments, its own before those all tools take, what is required first."""
    fields = model.model_fields
    return sorted(fields, key=lambda name: (_generality(model, name), not fields[name].is_required()))


def given(arguments: Arguments, *, without: set[str]) -> dict[str, Any]:
    """Return what a caller gave, in the order of the schema, as a call that can be made again."""
    dumped = arguments.model_dump(exclude_unset=True, exclude=without)
    return {name: dumped[name] for name in accepted(type(arguments)) if name in dumped}


def required_names(model: type[Arguments]) -> list[str]:
    """Return the arguments that are required although they have a default; see `REQUIRED`."""
    extras = ((name, field.json_schema_extra) for name, field in model.model_fields.items())
    return [name for name, extra in extras if isinstance(extra, dict) and extra.get(REQUIRED)]


def shown_names(model: type[BaseModel]) -> dict[str, str]:
    """Return the arguments that a language model is shown, and what they are called there."""
    fields = model.model_fields.items()
    shown = (name for name, field in fields if field.is_required() or name not in _FOR_PROGRAMS)
    return {name: _SHOWN_AS.get(name, name) for name in shown}


_SHARED: tuple[tuple[int, type[Strict]], ...] = (
    (6, Arguments),
    (5, BoundedArguments),
    (5, WriteArguments),
    (3, ChangeArguments),
    (2, ReasonedArguments),
    (4, ProposeArguments),
)


def _generality(model: type[Arguments], name: str) -> int:
    """Return 0 for a tool's own arguments, more for those it shares with others."""
    for rank, shared in _SHARED:
        if issubclass(model, shared) and name in shared.model_fields:
            # Why comes first of what all proposals take.
            return 1 if name == "reasoning" else rank
    return 0


def json_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return JSON Schema as makers of models want it: no $defs, no titles, no `anyOf: […, null]`."""
    raw = model.model_json_schema()
    cleaned: dict[str, Any] = _clean(raw, raw.get("$defs", {}))
    cleaned.pop("description", None)
    properties = cleaned.get("properties", {})
    cleaned["properties"] = {name: properties[name] for name in accepted(model)}
    required = {*cleaned.pop("required", []), *required_names(model)}
    cleaned["required"] = [name for name in cleaned["properties"] if name in required]
    return {"type": "object", **cleaned}


#: What the server checks, and a refusal says.
_LIMITS = frozenset({"minLength", "maxLength", "pattern"})


def shown_schema(model: type[Arguments]) -> dict[str, Any]:
    """Return JSON Schema as language models read it: what they can know and use, each in its plainest form."""
    schema, shown = json_schema(model), shown_names(model)
    properties = {shown[name]: _plainest(each) for name, each in schema["properties"].items() if name in shown}
    return schema | {"properties": properties, "required": [shown[name] for name in schema["required"]]}


def _plainest(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema with the first of several forms, and without limits that a model hardly meets."""
    plain = {**schema, **schema.get("anyOf", [{}])[0]}
    gone = {"anyOf", *_LIMITS}
    if plain.get("maximum") == LARGEST_ID:
        gone |= {"minimum", "maximum"}
    if "anyOf" in schema or plain.get("default") in (False, []):
        gone.add("default")
    if "items" in plain:
        plain["items"] = _plainest(plain["items"])
    if "properties" in plain:
        plain["properties"] = {name: _plainest(each) for name, each in plain["properties"].items()}
    return {key: value for key, value in plain.items() if key not in gone}


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
    if node.get("default", "") in (None, ""):
        node.pop("default", None)
    if isinstance(node.get("title"), str):
        node.pop("title")
    return {
        key: {name: _clean(inner, definitions) for name, inner in value.items()}
        if key == "properties"
        else _clean(value, definitions)
        for key, value in node.items()
    }


#: What all strict modes know, beside objects and lists. Lengths and limits are the server's to say, when it refuses:
#: Anthropic's refuses a definition with `minimum`, `maximum` or `maxItems`.
_STRICT_KEYWORDS = frozenset("type description enum".split())


def strict_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema of `json_schema` for models whose output is held to it.

    Every property is required there; what may be left out is null instead, which `Strict` takes as left out.
    """
    strict = {key: value for key, value in schema.items() if key in _STRICT_KEYWORDS}
    if schema["type"] == "array":
        strict["items"] = strict_schema(schema["items"])
    if schema["type"] == "object":
        strict["properties"] = {
            name: strict_schema(inner) if name in schema.get("required", ()) else or_null(strict_schema(inner))
            for name, inner in schema["properties"].items()
        }
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return a schema that takes null too."""
    if "anyOf" in schema:
        return schema | {"anyOf": [*schema["anyOf"], {"type": "null"}]}
    with_null = {"enum": [*schema["enum"], None]} if "enum" in schema else {}
    return schema | {"type": [schema["type"], "null"]} | with_null


#: Bad arguments that a refusal explains; a reader of more would have to be a program.
MOST_REASONS = 20
#: Arguments that are looked at: reading 60,000 unknown ones takes a third of a second. No tool has as many.
MOST_ARGUMENTS = 200

_NOT_BARE = re.compile(r"[^a-z0-9]")

A = TypeVar("A", bound=Arguments)


def parse(model: type[A], given: dict[str, Any], *, called: str) -> A:
    """Return `given` as `model`.

    Args:
        called: what a refusal calls the tool or endpoint.

    Raises:
        ApiError: `invalid_arguments` with the bad fields (`MOST_REASONS` of them) and a plain reason for each.
    """
    beyond = max(len(given) - MOST_ARGUMENTS, 0)
    given = dict(islice(given.items(), MOST_ARGUMENTS))
    try:
        return model.model_validate(given)
    except ValidationError as error:
        fields: dict[str, str] = {}
        wrong = list(filter(_is_about_the_form_given, error.errors(include_url=False)))
        # Each unknown name is compared with the known ones: 90,000 of them took 2.8 s, and an answer as long.
        for detail in wrong[:MOST_REASONS]:
            detail["loc"] = tuple(part for part in detail["loc"] if part not in _FORMS)
            loc = detail["loc"] + ((detail["ctx"]["alias"],) if detail["type"] == "twice" else ())
            if loc and loc[0] not in given:  # it has another name in the call, or is missing
                loc = (shown_names(model).get(str(loc[0]), loc[0]), *loc[1:])
            fields.setdefault(_path(loc) or "arguments", _reason(model, detail))
        for name in required_names(model):
            if name not in given and not any(named_by(model, alias) == name for alias in given):
                fields.setdefault(name, "is required")
        more = max(len(wrong) - MOST_REASONS, 0) + beyond
        known = [shown_names(model)[name] for name in accepted(model) if name in shown_names(model)]
        raise invalid(fields, called=called, known=known, more=more) from error


#: What pydantic calls the forms of an argument that takes a text or a list of texts, in the places of errors.
_FORMS = ("str", "list[str]")


def _is_about_the_form_given(detail: ErrorDetails) -> bool:
    """Whether an error is not that a value has one of two forms that are taken, and not the other."""
    form = next((part for part in detail["loc"] if part in _FORMS), "")
    return not (form == "str" and isinstance(detail["input"], list)) and (form, detail["type"]) != (
        _FORMS[1],
        "list_type",
    )


def invalid(fields: dict[str, str], *, called: str, known: Sequence[str] = (), more: int = 0) -> ApiError:
    """Return the refusal that names the bad fields.

    Args:
        called: what it calls the tool or endpoint.
        more: how many are wrong beside those.
    """
    reasons = "; ".join(f"{name} {reason}" for name, reason in fields.items())
    if more:
        reasons += f"; and {more:,} more"
    return error_because(
        ErrorCode.INVALID_ARGUMENTS,
        "Error",
        f"invalid arguments for {called}: {reasons}.",
        help=[f"It takes: {', '.join(known)}."] if known else (),
        details={"fields": fields} | ({"accepted": known} if known else {}),
    )


_REASONS: dict[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    **dict.fromkeys(("int_type", "int_from_float"), "must be a whole number"),
    **dict.fromkeys(("float_type", "finite_number"), "must be a number"),
    "list_type": "must be a list",
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "must be an object"),
    "string_pattern_mismatch": "must be 64 hexadecimal digits in lower case",
    "string_too_long": "must have at most {max_length:,} characters",
    "string_too_short": "must not be empty",
    "too_long": "must have at most {max_length:,} items",
}


def _reason(model: type[Arguments], detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return _unknown(model, detail["loc"])
        case "literal_error":
            return "must be one of " + str(context["expected"]).replace("'", "").replace(" or ", ", ")
        case "too_short":
            least = context["min_length"]
            return f"must have at least {least} item{'' if least == 1 else 's'}{_such_as(model, detail['loc'])}"
        case "greater_than_equal":
            return f"must be at least {_number(context['ge'])}"
        case "less_than_equal":
            return f"must be at most {_number(context['le'])}"
        case "list_type" | "model_type" | "model_attributes_type":
            return _REASONS[kind] + _such_as(model, detail["loc"])
        case "missing" if (shape := _such_as(model, detail["loc"])).startswith(", such as ["):
            return _REASONS[kind] + shape
    return _REASONS[kind].format(**context) if kind in _REASONS else detail["msg"]


def _such_as(model: type[Arguments], loc: tuple[int | str, ...]) -> str:
    """Return what has the shape that is wanted at `loc`."""
    wanted = json_schema(model)
    for part in loc:
        wanted = wanted.get("anyOf", [wanted])[-1]
        wanted = wanted.get("items", {}) if isinstance(part, int) else wanted.get("properties", {}).get(part, {})
    return f", such as {json.dumps(_example(wanted), ensure_ascii=False)}"


def _example(schema: dict[str, Any], number: int = 1) -> Any:
    """Return the shortest value of a schema: what is required, with dots for texts."""
    match schema.get("type"):
        case "array":
            return [_example(schema["items"], 1 + each) for each in range(max(1, schema.get("minItems", 1)))]
        case "object":
            return {name: _example(schema["properties"][name]) for name in schema.get("required", ())}
        case "integer":
            return number
    return schema.get("enum", ["…"])[0]


def _number(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


def _unknown(model: type[Arguments], loc: tuple[int | str, ...]) -> str:
    """Return the reason with the name that is meant; case and punctuation (`replaceAll`) do not count."""
    inner = _model_at(model, loc)
    fields, shown = inner.model_fields, shown_names(inner)
    known = {_bare(name): shown.get(name, name) for name in fields}
    known |= {_bare(alias): shown[meant] for alias in ALIASES if (meant := named_by(inner, alias))}
    name = str(loc[-1])
    meant = next((ours for ours in FOREIGN_ARGUMENTS.get(name, ()) if ours in fields), None)
    if meant is None:
        near = difflib.get_close_matches(_bare(name), known, n=1, cutoff=0.6)
        meant = known[near[0]] if near else None
    return "is not known here" + (f" (did you mean {meant}?)" if meant else "")


def _model_at(model: type[Strict], loc: tuple[int | str, ...]) -> type[Strict]:
    """Return the model that the last part of `loc` belongs to: `edits[0].old_string` is the item's."""
    for part in loc[:-1]:
        if isinstance(part, str) and part in model.model_fields:
            inner = [
                argument
                for argument in getattr(model.model_fields[part].annotation, "__args__", ())
                if isinstance(argument, type) and issubclass(argument, Strict)
            ]
            model = inner[0] if inner else model
    return model


def _bare(name: str) -> str:
    return _NOT_BARE.sub("", name.lower())


def _path(loc: tuple[int | str, ...]) -> str:
    """Return `("edits", 0, "old_string")` as `edits[0].old_string`."""
    path = ""
    for part in loc:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path[:200]
