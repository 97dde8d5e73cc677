"""A form from the JSON Schema of a tool's arguments, and the arguments from what was typed into it.

Pure: no Django, no tool by name. What was typed is a mapping of field names to texts, one each, so that it survives
being kept while somebody signs in again. Text that fits no type is passed on as it was typed: the tool refuses it as it
would refuse an agent's. Only JSON that cannot be read is refused here, as there is nothing to pass on.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

Schema = Mapping[str, Any]
Typed = Mapping[str, str]

#: Begins the names of the fields, apart from those of the page itself.
PREFIX = "arg-"
#: Characters from which on a text gets several lines.
_LONG = 200
#: Items of a list that the page draws.
MOST_ROWS = 50

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_NUMBER = re.compile(r"[+-]?[0-9]{1,18}(\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?")


class Control(StrEnum):
    """How a field is drawn."""

    LINE = "line"
    TEXT = "text"
    NUMBER = "number"
    CHOICE = "choice"
    CHOICES = "choices"
    LINES = "lines"
    ROWS = "rows"
    JSON = "json"


@dataclass(frozen=True)
class Option:
    """One of the values to choose from."""

    name: str
    value: str
    is_chosen: bool


@dataclass(frozen=True)
class FormField:
    """One argument.

    Args:
        name: of the form's field; of a list of objects, what the names of its rows' fields begin with.
        default: what the tool takes when nothing is given, as text.
        limits: the type and its bounds, for the help.
        is_shared: every tool of its kind takes it, so it is drawn behind the others.
        rows: of a list of objects, the fields of each.
        error: why it could not be read.
    """

    name: str
    label: str
    control: Control
    help: str = ""
    limits: str = ""
    is_required: bool = False
    is_shared: bool = False
    default: str = ""
    value: str = ""
    options: tuple[Option, ...] = ()
    rows: tuple[tuple[FormField, ...], ...] = ()
    error: str = ""

    @property
    def is_filled(self) -> bool:
        """Whether anything was typed into it."""
        chosen = any(option.is_chosen for option in self.options)
        return bool(self.value) or chosen or any(field.is_filled for row in self.rows for field in row)


def fields_of(schema: Schema, typed: Typed, *, shared: Set[str] = frozenset()) -> tuple[FormField, ...]:
    """Return the fields of a tool's form with what was typed."""
    required = set(schema.get("required", ()))
    return tuple(
        _field(name, each, typed, PREFIX + name, is_required=name in required, is_shared=name in shared - required)
        for name, each in schema["properties"].items()
    )


def arguments_of(schema: Schema, typed: Typed) -> dict[str, Any]:
    """Return the arguments that were typed: nothing for what was left empty, unless it is a text that is required."""
    return _object(schema, typed, PREFIX)


def names_of_unreadable(fields: Sequence[FormField]) -> list[str]:
    """Return the arguments whose JSON cannot be read."""
    inner = [each for field in fields for row in field.rows for each in row]
    return [field.label for field in (*fields, *inner) if field.error]


def with_one_more_row(typed: Typed, name: str) -> dict[str, str]:
    """Return what was typed with one more item in a list of objects.

    Args:
        name: of the argument.
    """
    key = f"{PREFIX}{name}-rows"
    return {**typed, key: str(min(_rows_of(typed, PREFIX + name) + 1, MOST_ROWS))}


def corrected(schema: Schema, typed: Typed, text: str) -> dict[str, str]:
    """Return what was typed with the texts, numbers and booleans of corrected arguments in place of what was wrong.

    Args:
        text: the arguments as JSON, as the page sent them along; what cannot be read changes nothing.
    """
    try:
        arguments = json.loads(text)
    except (ValueError, RecursionError):
        return dict(typed)
    plain = {
        PREFIX + name: _as_text(value)
        for name, value in (arguments.items() if isinstance(arguments, dict) else ())
        if name in schema["properties"] and isinstance(value, str | int | float)
    }
    return {**typed, **plain}


# -- drawing --------------------------------------------------------------------------------------


def _field(
    label: str, schema: Schema, typed: Typed, name: str, *, is_required: bool, is_shared: bool = False
) -> FormField:
    control = _control(schema)
    value, error = typed.get(name, ""), ""
    rows: tuple[tuple[FormField, ...], ...] = ()
    if control is Control.ROWS:
        rows = _row_fields(schema["items"], typed, name)
    elif control is Control.JSON and value.strip():
        error = _json_error(value)
    return FormField(
        name=name,
        label=label,
        control=control,
        help=schema.get("description", ""),
        limits=_limits(schema),
        is_required=is_required,
        is_shared=is_shared,
        default=_as_text(schema["default"]) if "default" in schema else "",
        value=value,
        options=_options(schema, control, typed, name),
        rows=rows,
        error=error,
    )


def _control(schema: Schema) -> Control:
    kind = schema.get("type")
    if kind == "boolean" or "enum" in schema:
        return Control.CHOICE
    if kind in ("integer", "number"):
        return Control.NUMBER
    if kind == "string":
        is_short = schema.get("maxLength", _LONG + 1) <= _LONG or "pattern" in schema
        return Control.LINE if is_short else Control.TEXT
    if kind == "array":
        items = schema.get("items", {})
        if "enum" in items:
            return Control.CHOICES
        if items.get("type") in ("string", "integer", "number"):
            return Control.LINES
        if items.get("type") == "object" and "properties" in items:
            return Control.ROWS
    return Control.JSON


def _row_fields(items: Schema, typed: Typed, name: str) -> tuple[tuple[FormField, ...], ...]:
    required = set(items.get("required", ()))
    return tuple(
        tuple(
            _field(label, each, typed, f"{name}-{row}-{label}", is_required=label in required)
            for label, each in items["properties"].items()
        )
        for row in range(_rows_of(typed, name))
    )


def _rows_of(typed: Typed, name: str) -> int:
    """Return how many items of a list are drawn: as many as the form said, one at first."""
    said = typed.get(f"{name}-rows", "")
    return min(int(said), MOST_ROWS) if said.isascii() and said.isdigit() and len(said) < 4 else 1


def _options(schema: Schema, control: Control, typed: Typed, name: str) -> tuple[Option, ...]:
    if control is Control.CHOICE:
        values = [_as_text(value) for value in schema.get("enum", (True, False))]
        return tuple(Option(name, value, typed.get(name) == value) for value in values)
    if control is Control.CHOICES:
        return tuple(Option(f"{name}-{value}", value, f"{name}-{value}" in typed) for value in schema["items"]["enum"])
    return ()


#: In words; of a list, those of its items.
_TYPES = {"integer": "whole number", "number": "number"}


def _limits(schema: Schema) -> str:
    """Return the type and the bounds in words, as far as they are no matter of course."""
    items = schema.get("items", {})
    said = []
    if (kind := _TYPES.get(schema.get("type", ""))) is not None:
        said.append(kind)
    if schema.get("type") == "array" and items.get("type") in ("string", "integer", "number"):
        said.append(
            f"{_TYPES.get(items['type'], 'text')}s, one on each line" if "enum" not in items else "any of these"
        )
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None and high < 10**9:
        said.append(f"{low:,} to {high:,}")
    elif low is not None:
        said.append(f"at least {low:,}")
    if (most := schema.get("maxLength")) is not None and most > _LONG:
        said.append(f"at most {most:,} characters")
    return ", ".join(said)


def _as_text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


# -- reading --------------------------------------------------------------------------------------


_NOTHING = object()


def _object(schema: Schema, typed: Typed, prefix: str) -> dict[str, Any]:
    required = set(schema.get("required", ()))
    found: dict[str, Any] = {}
    for name, each in schema["properties"].items():
        value = _value(each, typed, prefix + name, is_required=name in required)
        if value is not _NOTHING:
            found[name] = value
    return found


def _value(schema: Schema, typed: Typed, name: str, *, is_required: bool) -> Any:
    control = _control(schema)
    # Browsers send the line ends of forms as CR LF, whatever was in the text.
    text = typed.get(name, "").replace("\r\n", "\n").replace("\r", "\n")
    if control is Control.CHOICES:
        chosen = [value for value in schema["items"]["enum"] if f"{name}-{value}" in typed]
        return chosen or _NOTHING
    if control is Control.ROWS:
        return _items(schema["items"], typed, name, is_required=is_required)
    if control is Control.LINES:
        lines = [line.strip() for line in text.split("\n") if line.strip()]
        return [_scalar(line, schema["items"]) for line in lines] or _NOTHING
    if not text and not (is_required and control in (Control.LINE, Control.TEXT)):
        return _NOTHING
    if control is Control.JSON:
        return _NOTHING if _json_error(text) else json.loads(text)
    return _scalar(text, schema)


def _items(schema: Schema, typed: Typed, name: str, *, is_required: bool) -> Any:
    """Return the items into which something was typed; of a list that is required, at least none."""
    found = []
    for row in range(_rows_of(typed, name)):
        prefix = f"{name}-{row}-"
        if any(value for key, value in typed.items() if key.startswith(prefix)):
            found.append(_object(schema, typed, prefix))
    return found if found or is_required else _NOTHING


def _scalar(text: str, schema: Schema) -> Any:
    kind = schema.get("type")
    if kind == "boolean" and text in ("true", "false"):
        return text == "true"
    if kind == "integer" and _WHOLE.fullmatch(text.strip()):
        return int(text)
    if kind == "number" and _NUMBER.fullmatch(text.strip()):
        value = json.loads(text.strip().removeprefix("+")) if _is_json(text) else float(text)
        return value if math.isfinite(value) else text
    return text


def _is_json(text: str) -> bool:
    return not _json_error(text.strip().removeprefix("+"))


def _json_error(text: str) -> str:
    try:
        json.loads(text)
    except RecursionError:
        return "nested too deeply"
    except ValueError as error:
        return str(error)
    return ""
