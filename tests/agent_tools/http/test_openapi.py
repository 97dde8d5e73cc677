"""The OpenAPI document is valid, and describes each answer; that answers are so, `tests.agent_tools.checks` looks."""

from typing import Any

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from agent_tools.answers import fields
from tests.agent_tools.checks import document

pytestmark = pytest.mark.pure


def test_the_document_is_valid() -> None:
    assert [error.message for error in OpenAPIV31SpecValidator(document()).iter_errors()] == []


def test_every_operation_answers_typed_data_and_each_failure_names_its_codes() -> None:
    schemas = document()["components"]["schemas"]
    operations = [
        operation
        for path in document()["paths"].values()
        for method, operation in path.items()
        if method != "parameters"
    ]
    untyped = []
    for operation in operations:
        for status, answer in operation["responses"].items():
            content = answer["content"]
            if "application/json" not in content:
                assert operation["operationId"] == "memories_export"
                continue
            schema = content["application/json"]["schema"]
            if status == "200":
                data = schema["properties"]["data"]
                data = schemas[data["$ref"].rsplit("/", 1)[-1]] if "$ref" in data else data
                untyped += [operation["operationId"]] if not (data.get("properties") or data.get("anyOf")) else []
            else:
                failure = schemas[schema["$ref"].rsplit("/", 1)[-1]]
                codes = failure["properties"]["error"]["properties"]["code"]["enum"]
                assert [f"`{code}`" for code in codes] == answer["description"].split(", ")
    assert untyped == []
    assert len(operations) > 80


def test_no_field_is_without_a_type() -> None:
    def check(schema: Any, where: str) -> None:
        assert schema.keys() & {"type", "$ref", "anyOf"}, where
        for name, inner in schema.get("properties", {}).items():
            check(inner, f"{where}.{name}")

    for name, schema in document()["components"]["schemas"].items():
        check(schema, name)


@pytest.mark.parametrize("row", ["what it means", "strnig: what it means", "Block | nul: what it means"])
def test_a_field_without_a_type_or_with_one_that_is_none_is_an_error(row: str) -> None:
    from agent_tools.http.openapi import _object

    with pytest.raises(ValueError, match="type"):
        _object({"field": row})


def test_of_an_answer_about_one_thing_or_another_what_only_one_has_may_be_null() -> None:
    either = fields.of_either(
        {"a": "string: a", "b": "string | null: b", "c": "integer: c"}, {"a": "string: A", "b": "string: B"}
    )
    assert either == {"a": "string: A", "b": "string | null: B", "c": "integer | null: c"}
