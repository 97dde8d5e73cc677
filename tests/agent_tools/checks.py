"""What every answer has to look like, asked the same way by every test: what the OpenAPI document says it is."""

import json
import re
from collections.abc import Callable
from functools import cache
from typing import Any

from django.test import Client
from jsonschema import Draft202012Validator

from tests.conftest import eventually


@cache
def document() -> dict[str, Any]:
    """The OpenAPI document, which asks no database."""
    response = Client().get("/api/schema/")
    assert response.status_code == 200
    made: dict[str, Any] = json.loads(response.content)
    return made


def closed(schema: Any) -> Any:
    """A schema whose objects have no other properties than those it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(inner) for name, inner in schema.items()}
    is_object = schema.get("type") == "object" and "properties" in schema
    return {"additionalProperties": False} | found if is_object else found


@cache
def described(path: str, method: str, status: int) -> Draft202012Validator | None:
    """What checks an answer against the document; None for a status that it says nothing of."""
    answer = document()["paths"][path][method]["responses"].get(str(status))
    if answer is None:
        return None
    schema = closed(answer["content"]["application/json"]["schema"])
    return Draft202012Validator(schema | {"components": closed(document()["components"])})


def as_described(response: Any) -> None:
    """Assert that an answer is what the document says of its operation."""
    match, method = response.resolver_match, response.request["REQUEST_METHOD"].lower()
    if match is None:
        return
    route = re.sub(r"<\w+:(\w+)>", r"{\1}", f"/{match.route}").replace("/{name}/", f"/{match.kwargs.get('name')}/")
    if method not in document()["paths"].get(route, {}):
        return
    validator = described(route, method, response.status_code)
    assert validator, f"the document says nothing of {response.status_code} at {method} {route}"
    wrong = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(response.json())]
    assert not wrong, wrong[:5]


def refused(response: Any, status: int, code: str) -> Any:
    """The error of a refusal, after checking its shape, status and code."""
    answer = response.json()
    assert (response.status_code, answer["error"]["code"]) == (status, code), answer
    assert set(answer) == {"ok", "text", "error"}
    assert answer["ok"] is False
    assert set(answer["error"]) == {"code", "message", "details"}
    assert response["Content-Type"] == "application/json"
    assert response["X-Request-ID"]
    as_described(response)
    return answer["error"] | {"text": answer["text"]}


def answered(response: Any) -> Any:
    """The payload of a success, after checking its shape."""
    answer = response.json()
    assert response.status_code == 200, answer
    assert set(answer) == {"ok", "text", "data"}
    assert answer["ok"] is True
    as_described(response)
    return answer


def caught_up(ask: Callable[[], Any]) -> Any:
    """Return the answer to the call `ask` makes, once it is no longer `index_behind`."""

    def current() -> Any:
        answer = answered(ask())
        return None if answer["data"]["index_behind"] else answer

    return eventually(current, seconds=20)
