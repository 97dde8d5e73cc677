"""A form from a JSON Schema, and the arguments from what was typed."""

from __future__ import annotations

from typing import Any

import pytest

from agent_tools import tools  # noqa: F401 - `tools` fills the registry
from agent_tools.calls import registry
from agent_tools.console import schema_form
from agent_tools.console.schema_form import Control, arguments_of, fields_of

pytestmark = pytest.mark.pure


def schema(*required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(required)}


TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
TURN = {"type": "object", "properties": {"role": {"enum": ["user", "tool"], "type": "string"}, "content": TEXT}}
TURNS = {"type": "array", "items": TURN | {"required": ["role", "content"]}}


@pytest.mark.parametrize(
    ("each", "control"),
    [
        ({"type": "string", "maxLength": 64}, Control.LINE),
        ({"type": "string", "pattern": "^x$"}, Control.LINE),
        (TEXT, Control.TEXT),
        ({"type": "string", "enum": ["a", "b"]}, Control.CHOICE),
        ({"type": "boolean"}, Control.CHOICE),
        (WHOLE, Control.NUMBER),
        (NUMBER, Control.NUMBER),
        ({"type": "array", "items": TEXT}, Control.LINES),
        ({"type": "array", "items": WHOLE}, Control.LINES),
        ({"type": "array", "items": {"enum": ["a"], "type": "string"}}, Control.CHOICES),
        (TURNS, Control.ROWS),
        ({"type": "object"}, Control.JSON),
        ({"anyOf": [TEXT, WHOLE]}, Control.JSON),
        ({"type": "array"}, Control.JSON),
    ],
)
def test_each_type_has_its_control(each: dict[str, Any], control: Control) -> None:
    assert fields_of(schema(it=each), {})[0].control is control


@pytest.mark.parametrize(
    ("each", "typed", "sent"),
    [
        (TEXT, "a\r\nb", "a\nb"),
        (TEXT, " kept ", " kept "),
        (WHOLE, "7", 7),
        (WHOLE, "-7", -7),
        (WHOLE, "7.5", "7.5"),
        (WHOLE, "seven", "seven"),
        (WHOLE, "9" * 40, "9" * 40),
        (NUMBER, "0.5", 0.5),
        (NUMBER, "+1.5", 1.5),
        (NUMBER, "007", 7.0),
        (NUMBER, "1e400", "1e400"),
        (NUMBER, "nan", "nan"),
        ({"type": "boolean"}, "true", True),
        ({"type": "boolean"}, "false", False),
        ({"type": "boolean"}, "perhaps", "perhaps"),
        ({"type": "array", "items": TEXT}, "a\r\n\r\n b ", ["a", "b"]),
        ({"type": "array", "items": WHOLE}, "1\n-1\nx", [1, -1, "x"]),
        ({"type": "object"}, '{"a": [1]}', {"a": [1]}),
    ],
)
def test_what_is_typed_is_sent_as_the_type_or_as_it_is(each: dict[str, Any], typed: str, sent: object) -> None:
    assert arguments_of(schema(it=each), {"arg-it": typed}) == {"it": sent}


def test_what_is_left_empty_is_not_sent_but_for_texts_that_are_required() -> None:
    shape = schema("text", "number", text=TEXT, number=WHOLE, more=TEXT, flag={"type": "boolean"}, turns=TURNS)
    empty = dict.fromkeys(["arg-text", "arg-number", "arg-more", "arg-flag", "arg-turns-0-content"], "")
    assert arguments_of(shape, empty) == {"text": ""}


def test_boxes_are_sent_in_the_order_of_the_schema() -> None:
    boxes = {"type": "array", "items": {"enum": ["a", "b", "c"], "type": "string"}}
    assert arguments_of(schema(it=boxes), {"arg-it-c": "on", "arg-it-a": "on"}) == {"it": ["a", "c"]}
    chosen = [option.value for option in fields_of(schema(it=boxes), {"arg-it-c": "on"})[0].options if option.is_chosen]
    assert chosen == ["c"]


def test_items_of_a_list_are_added_and_empty_ones_left_out() -> None:
    typed = {"arg-turns-0-role": "user", "arg-turns-0-content": "one"}
    typed = schema_form.with_one_more_row(schema_form.with_one_more_row(typed, "turns"), "turns")
    typed["arg-turns-2-content"] = "three"
    field = fields_of(schema(turns=TURNS), typed)[0]
    assert [[each.value for each in row] for row in field.rows] == [["user", "one"], ["", ""], ["", "three"]]
    sent = arguments_of(schema(turns=TURNS), typed)
    assert sent == {"turns": [{"role": "user", "content": "one"}, {"content": "three"}]}
    assert arguments_of(schema("turns", turns=TURNS), {}) == {"turns": []}


@pytest.mark.parametrize("said", ["99999999999", "-1", "x", "999", "²"])
def test_no_number_of_items_makes_a_page_endless(said: str) -> None:
    field = fields_of(schema(turns=TURNS), {"arg-turns-rows": said})[0]
    assert 1 <= len(field.rows) <= schema_form.MOST_ROWS


@pytest.mark.parametrize("typed", ["{", "[" * 100_000, "'a'"])
def test_json_that_cannot_be_read_is_named(typed: str) -> None:
    shape = schema(it={"type": "object"}, other=TEXT)
    fields = fields_of(shape, {"arg-it": typed})
    assert schema_form.names_of_unreadable(fields) == ["it"]
    assert fields[0].value == typed


def test_shared_arguments_come_behind_unless_they_are_required() -> None:
    fields = fields_of(schema("session_id", session_id=TEXT, key=TEXT), {}, shared={"session_id", "key"})
    assert {field.label: field.is_shared for field in fields} == {"session_id": False, "key": True}


@pytest.mark.parametrize("name", list(registry.TOOLS))
def test_every_tool_has_a_form_without_raw_json(name: str) -> None:
    """Each argument there is has a control of its own: a new kind is noticed here."""
    fields = fields_of(registry.TOOLS[name].schema, {})
    inner = [each for field in fields for row in field.rows for each in row]
    assert [field.label for field in (*fields, *inner) if field.control is Control.JSON] == []
    assert [field.label for field in fields] == list(registry.TOOLS[name].schema["properties"])
