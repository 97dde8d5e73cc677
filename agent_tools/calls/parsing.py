"""Reading arguments: a caller's JSON as a model, or the refusal that names each bad field with a plain reason."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any, TypeVar

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from agent_tools.calls.arguments import ALIASES, Arguments, Strict, accepted, required_names
from agent_tools.errors import ApiError, ErrorCode

#: Bad arguments that a refusal explains; a reader of more would have to be a program.
MOST_REASONS = 20

#: What other systems call an argument, and ours: told in a refusal, never taken for it. The first that the tool has.
_FOREIGN_NAMES: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ("text", "file_text", "insert_text", "body", "data", "value", "new_text"), ("content", "new_content")
    ),
    **dict.fromkeys(("new_string", "new_str", "replacement"), ("content", "new_content", "new_string")),
    **dict.fromkeys(("old_text", "find", "search", "target"), ("old_string",)),
    "content": ("new_content", "new_string", "body"),
    "memory": ("content",),
    **dict.fromkeys(("line", "line_number", "after_line", "position", "at"), ("insert_line", "section_line")),
    **dict.fromkeys(("header", "heading", "section", "section_name", "section_title"), ("section_header",)),
    **dict.fromkeys(
        ("block", "name", "path", "file_path", "file", "block_name", "block_id", "title"), ("block_label",)
    ),
    **dict.fromkeys(("why", "explanation", "rationale", "justification", "description", "summary"), ("reasoning",)),
    **dict.fromkeys(("replacements", "changes", "operations"), ("edits",)),
    **dict.fromkeys(("sha256", "base_sha256", "etag", "version"), ("expected_sha256",)),
}

_NOT_BARE = re.compile(r"[^a-z0-9]")

A = TypeVar("A", bound=Arguments)


def parse(model: type[A], given: dict[str, Any], *, called: str) -> A:
    """Return `given` as `model`.

    Args:
        called: what a refusal calls the tool or endpoint.

    Raises:
        ApiError: `invalid_arguments` with the bad fields (`MOST_REASONS` of them) and a plain reason for each.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        fields: dict[str, str] = {}
        wrong = error.errors(include_url=False, include_input=False)
        # Each unknown name is compared with the known ones: 90,000 of them took 2.8 s, and an answer as long.
        for detail in wrong[:MOST_REASONS]:
            loc = detail["loc"] + ((detail["ctx"]["alias"],) if detail["type"] == "twice" else ())
            fields.setdefault(_path(loc) or "arguments", _reason(model, detail))
        for name in required_names(model):
            if not given.keys() & _names_of(name):
                fields.setdefault(name, "is required")
        more = max(len(wrong) - MOST_REASONS, 0)
        raise invalid(fields, called=called, known=accepted(model), more=more) from error


def invalid(fields: dict[str, str], *, called: str, known: Iterable[str] = (), more: int = 0) -> ApiError:
    """Return the refusal that names the bad fields.

    Args:
        called: what it calls the tool or endpoint.
        more: how many are wrong beside those.
    """
    reasons = "; ".join(f"{name} {reason}" for name, reason in fields.items())
    if more:
        reasons += f"; and {more:,} more"
    message = f"invalid arguments for {called}: {reasons}."
    details: dict[str, Any] = {"fields": fields}
    names = list(known)
    if names:
        details["accepted"] = names
    return ApiError(
        ErrorCode.INVALID_ARGUMENTS,
        message[0].upper() + message[1:],
        text=f"Error: {message}",
        help=[f"It takes: {', '.join(names)}."] if names else (),
        details=details,
    )


_REASONS: dict[str, str] = {
    "missing": "is required",
    "string_type": "must be a string",
    "bool_type": "must be true or false",
    "int_type": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number",
    "list_type": "must be a list",
    "dict_type": "must be an object",
    "model_type": "must be an object",
    "model_attributes_type": "must be an object",
    "string_pattern_mismatch": "must be 64 hexadecimal digits in lower case",
}


def _reason(model: type[Arguments], detail: ErrorDetails) -> str:
    kind, context = detail["type"], detail.get("ctx", {})
    match kind:
        case "extra_forbidden":
            return _unknown(model, detail["loc"])
        case "literal_error":
            return "must be one of " + str(context["expected"]).replace("'", "").replace(" or ", ", ")
        case "string_too_long":
            return f"must have at most {_counted(context['max_length'], 'character')}"
        case "string_too_short":
            return "must not be empty"
        case "too_long":
            return f"must have at most {_counted(context['max_length'], 'item')}"
        case "too_short":
            return f"must have at least {_counted(context['min_length'], 'item')}"
        case "greater_than_equal":
            return f"must be at least {_number(context['ge'])}"
        case "less_than_equal":
            return f"must be at most {_number(context['le'])}"
    return _REASONS.get(kind) or detail["msg"]


def _counted(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"


def _number(bound: float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:g}"


def _unknown(model: type[Arguments], loc: tuple[int | str, ...]) -> str:
    """Return the reason with the name that is meant; case and punctuation (`replaceAll`) do not count."""
    fields = _model_at(model, loc).model_fields
    known = {_bare(name): name for name in fields}
    known |= {_bare(alias): name for alias, name in ALIASES.items() if name in fields and alias not in fields}
    name = str(loc[-1])
    meant = next((ours for ours in _FOREIGN_NAMES.get(name, ()) if ours in fields), None)
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


def _names_of(name: str) -> set[str]:
    return {name, *(alias for alias, target in ALIASES.items() if target == name)}
