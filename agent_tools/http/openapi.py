"""The OpenAPI document: how our arguments and answers are described in it.

drf-spectacular collects the endpoints; what they take comes from the same models that check it, and the
one endpoint that runs tools is written as one path per tool of the registry.
"""

from collections.abc import Callable, Collection
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from agent_tools.calls import registry
from agent_tools.calls.arguments import Arguments, json_schema
from agent_tools.errors import ErrorCode

View = TypeVar("View", bound=Callable[..., Any])

_SUCCESS = {"$ref": "#/components/schemas/Success"}
_FAILURE = {"$ref": "#/components/schemas/Failure"}
_TOOL_PATH = "/api/v1/tools/{name}/"
#: Every endpoint may answer with these.
_ALWAYS = (400, 401, 403, 408, 414, 429, 431, 500, 503, 504)

_NO_NUL = r"^[^\u0000]*$"
_USERNAME = {"type": "string", "pattern": "^[a-z0-9._-]{1,64}$"}
_USER_ID = _USERNAME | {"description": "Whose memory; may be left out when the token serves one owner."}
#: What the routes let through is less than what they take.
_IN_PATHS: dict[str, dict[str, Any]] = {"user_id": _USERNAME, "proposal_id": {"minimum": 1}}


class TokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the document describes `TokenAuthentication`."""

    target_class = "agent_tools.auth.TokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: Any) -> dict[str, Any]:
        return {"type": "http", "scheme": "bearer"}


def describe(**described: Any) -> Callable[[View], View]:
    """Return `extend_schema` with a type."""
    return extend_schema(**{"request": None} | described)


def query(
    model: type[Arguments], *, leave_out: Collection[str] = (), also: dict[str, str] | None = None
) -> list[OpenApiParameter]:
    """Return a model's arguments as parameters of the query."""
    schema = _as_taken(json_schema(model), with_null=False)
    found = [
        OpenApiParameter(name, type=inner, description=inner.get("description", ""), required=False)
        for name, inner in schema["properties"].items()
        if name not in leave_out
    ]
    return found + [OpenApiParameter(name, type=str, description=text) for name, text in (also or {}).items()]


def body(model: type[Arguments], *, leave_out: Collection[str] = ()) -> dict[str, Any]:
    """Return a model's arguments as the request's JSON."""
    schema = _as_taken(json_schema(model))
    schema["properties"] = {name: inner for name, inner in schema["properties"].items() if name not in leave_out}
    schema["required"] = [name for name in schema["required"] if name not in leave_out]
    return {"application/json": schema}


def _as_taken(schema: dict[str, Any], *, with_null: bool = True) -> dict[str, Any]:
    """Return a schema with what holds for every body: null for what may be left out, and no NUL in a text.

    Not part of the definitions for models, which would then send null.
    """
    if schema.get("type") == "object" and "properties" in schema:
        required = schema.get("required", [])
        schema = schema | {
            "properties": {
                name: _as_taken(inner, with_null=with_null)
                | ({"nullable": True} if with_null and name not in required else {})
                for name, inner in schema["properties"].items()
            }
        }
    elif "anyOf" in schema:
        schema = schema | {"anyOf": [_as_taken(form, with_null=with_null) for form in schema["anyOf"]]}
    elif schema.get("type") == "array":
        schema = schema | {"items": _as_taken(schema["items"], with_null=with_null)}
    elif schema.get("type") == "string" and not schema.keys() & {"enum", "pattern"}:
        schema = schema | {"pattern": _NO_NUL}
    return schema


def answers(description: str, *statuses: int) -> dict[int, OpenApiResponse]:
    """Return a success and the failures an endpoint may answer with."""
    failures = {status: OpenApiResponse(_FAILURE, _codes(status)) for status in sorted({*statuses, *_ALWAYS})}
    return {200: OpenApiResponse(_SUCCESS, description), **failures}


def answers_of(asked: registry.ApiOperation[Any], *statuses: int) -> dict[int, OpenApiResponse]:
    """Return a success of a tool or endpoint, with its fields, and the failures it may answer with."""
    return answers(_fields(asked.returns), *statuses)


def add_tools(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Return the document with one path per tool and the two shapes of answers; a hook of drf-spectacular."""
    result.setdefault("components", {}).setdefault("schemas", {}).update(_SHAPES)
    paths: dict[str, Any] = {}
    for path, operations in result["paths"].items():
        if path != _TOOL_PATH:
            for operation in operations.values():
                for parameter in operation.get("parameters", []):
                    if parameter["in"] == "path":
                        parameter["schema"] |= _IN_PATHS.get(parameter["name"], {})
            paths[path] = operations
            continue
        for tool in registry.TOOLS.values():
            paths[f"/api/v1/tools/{tool.name}/"] = {
                "get": _definition(tool, operations["get"]),
                "post": _tool(tool, operations["post"]),
            }
    return result | {"paths": paths}


def _definition(tool: registry.Tool[Any], generic: dict[str, Any]) -> dict[str, Any]:
    parameters = [each for each in generic["parameters"] if each["in"] == "query"]
    return generic | {
        "operationId": f"{tool.name}_definition",
        "summary": f"The definition of {tool.name}",
        "parameters": parameters,
    }


def _tool(tool: registry.Tool[Any], generic: dict[str, Any]) -> dict[str, Any]:
    schema = _as_taken({**tool.schema, "properties": {"user_id": _USER_ID, **tool.schema["properties"]}})
    statuses = (404, 413, 415) if tool.effect is registry.Effect.READ_ONLY else (404, 409, 413, 415, 422)
    scopes = " or ".join(f"`{scope}`" for scope in tool.scopes)
    failures = {
        str(status): {"description": _codes(status), "content": {"application/json": {"schema": _FAILURE}}}
        for status in sorted({*statuses, *_ALWAYS})
    }
    operation = {
        "operationId": tool.name,
        "summary": tool.first_sentence.rstrip("."),
        "description": f"{tool.description}\n\nScope: {scopes}; {tool.effect}; timeout {tool.timeout} s.",
        "tags": ["tools"],
        "security": generic.get("security", []),
        "requestBody": {"required": bool(schema["required"]), "content": {"application/json": {"schema": schema}}},
        "responses": {
            "200": {"description": _fields(tool.returns), "content": {"application/json": {"schema": _SUCCESS}}},
            **failures,
        },
    }
    if tool.effect is registry.Effect.SIDE_EFFECTING:
        operation["parameters"] = [
            {
                "in": "header",
                "name": "Idempotency-Key",
                "schema": {"type": "string", "minLength": 1, "maxLength": 200},
                "description": "The same key with the same arguments gives the first answer again. Where the argument "
                "idempotency_key is given too, it has to be the same.",
            }
        ]
    return operation


def _fields(returns: dict[str, str]) -> str:
    """Return what an answer has in `data`, as a list."""
    lines = (f"- `{name}`: {meaning}" for name, meaning in returns.items())
    return "\n".join(["What it says. `data` has:", "", *lines])


def _codes(status: int) -> str:
    return ", ".join(f"`{code.code}`" for code in ErrorCode if code.status == status)


_SHAPES = {
    "Success": {
        "type": "object",
        "required": ["ok", "text", "data"],
        "properties": {
            "ok": {"type": "boolean", "enum": [True]},
            "text": {"type": "string", "description": "For the model."},
            "data": {"type": "object", "additionalProperties": {}, "description": "The same as data."},
        },
    },
    "Failure": {
        "type": "object",
        "required": ["ok", "text", "error"],
        "properties": {
            "ok": {"type": "boolean", "enum": [False]},
            "text": {"type": "string", "description": "For the model: the sentence, then help on new lines."},
            "error": {
                "type": "object",
                "required": ["code", "message", "details"],
                "properties": {
                    "code": {
                        "type": "string",
                        "enum": [code.code for code in ErrorCode],
                        "description": "Names in `code` type are fields of `details`.\n\n"
                        + "\n".join(f"- `{code.code}` ({code.status}): {code.meaning}" for code in ErrorCode),
                    },
                    "message": {"type": "string"},
                    "details": {"type": "object", "additionalProperties": {}},
                },
            },
        },
    },
}
