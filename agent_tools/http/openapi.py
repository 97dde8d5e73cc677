"""The OpenAPI document (3.1): how our arguments and answers are described in it.

drf-spectacular collects the endpoints; what they take comes from the same models that check it, what they answer from
`answers.fields`, and the one endpoint that runs tools is written as one path per tool of the registry.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, TypeVar

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema

from agent_tools.answers import fields
from agent_tools.answers.fields import Fields
from agent_tools.calls import registry
from agent_tools.calls.arguments import Arguments, json_schema, or_null
from agent_tools.errors import ErrorCode

View = TypeVar("View", bound=Callable[..., Any])

_TOOL_PATH = "/api/v1/tools/{name}/"
#: Every endpoint may answer with these.
_ALWAYS = (400, 401, 403, 406, 429, 431, 500, 503, 504)

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
    return {"application/json": schema | _required(name for name in schema.pop("required") if name not in leave_out)}


def _required(names: Iterable[str]) -> dict[str, list[str]]:
    """Return what a schema says of required properties: nothing where none is, since the list may not be empty."""
    found = list(names)
    return {"required": found} if found else {}


def _as_taken(schema: dict[str, Any], *, with_null: bool = True) -> dict[str, Any]:
    """Return a schema with what holds for every body: null for what may be left out, and no NUL in a text.

    Not part of the definitions for models, which would then send null.
    """
    if schema.get("type") == "object" and "properties" in schema:
        required = schema.get("required", [])
        schema = schema | {
            "properties": {
                name: or_null(_as_taken(inner)) if with_null and name not in required else _as_taken(inner)
                for name, inner in schema["properties"].items()
            }
        }
    elif "anyOf" in schema:
        schema = schema | {"anyOf": [_as_taken(form, with_null=with_null) for form in schema["anyOf"]]}
    elif schema.get("type") == "array":
        schema = schema | {"items": _as_taken(schema["items"])}
    elif schema.get("type") == "string" and not schema.keys() & {"enum", "pattern"}:
        schema = schema | {"pattern": _NO_NUL}
    return schema


def answers(returns: Fields, *statuses: int, data: dict[str, Any] | None = None) -> dict[int, OpenApiResponse]:
    """Return a success with these fields, and the failures an endpoint may answer with.

    Args:
        data: the schema of `data`, where it has a name.
    """
    failures = {status: OpenApiResponse(_ref(f"Failure{status}"), _codes(status)) for status in (*statuses, *_ALWAYS)}
    success = OpenApiResponse(_shape(True, {"data": data or _object(returns)}), _meanings(returns))
    return {200: success} | dict(sorted(failures.items()))


def answers_of(asked: registry.ApiOperation[Any], *statuses: int) -> dict[int, OpenApiResponse]:
    """Return a success of a tool or endpoint, and the failures it may answer with."""
    return answers(asked.returns, *statuses, data=_ref(_data_name(asked)))


def add_tools(result: dict[str, Any], **kwargs: Any) -> dict[str, Any]:
    """Return the document with one path per tool and the shapes of answers; a hook of drf-spectacular."""
    result.setdefault("components", {})["schemas"] = _shapes()
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
    statuses = (404, 411, 413, 415, *(() if tool.effect is registry.Effect.READ_ONLY else (409, 422)))
    scopes = " or ".join(f"`{scope}`" for scope in tool.scopes)
    is_required = bool(schema["required"])
    schema |= _required(schema.pop("required"))
    operation = {
        "operationId": tool.name,
        "summary": tool.first_sentence.rstrip("."),
        "description": f"{tool.description}\n\nScope: {scopes}; {tool.effect}; timeout {tool.timeout} s.",
        "tags": ["tools"],
        "security": generic.get("security", []),
        "requestBody": {"required": is_required, "content": {"application/json": {"schema": schema}}},
        "responses": {
            str(status): {
                "description": answer.description,
                "content": {"application/json": {"schema": answer.response}},
            }
            for status, answer in answers_of(tool, *statuses).items()
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


def _meanings(returns: Fields) -> str:
    """Return what an answer has in `data`, as a list."""
    lines = (f"- `{name}`: {fields.read(text)[2]}" for name, text in returns.items())
    return "\n".join(["What it says. `data` has:", "", *lines])


def _codes(status: int) -> str:
    return ", ".join(f"`{code.code}`" for code in ErrorCode if code.status == status)


# -- What is answered, as schemas.


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _data_name(asked: registry.ApiOperation[Any]) -> str:
    return "".join(word.title() for word in asked.name.split("_")) + "Data"


def _data_schema(asked: registry.ApiOperation[Any]) -> dict[str, Any]:
    beside = {} if asked.text_is_complete else {"decisions": "optional Decisions: what was decided since the last call"}
    usual = _object(asked.returns | beside)
    return {"anyOf": [usual, _object(asked.or_returns)]} if asked.or_returns else usual


def _object(returns: Fields) -> dict[str, Any]:
    """Return the schema of an object with these fields."""
    plain, lists = fields.split(returns)
    read = {name: fields.read(text) for name, text in plain.items()}
    properties = {name: _of_kind(kind) | {"description": meaning} for name, (kind, _, meaning) in read.items()}
    properties |= {name: {"type": "array", "items": _item(inner)} for name, inner in lists.items()}
    required = _required(name for name in properties if not (name in read and read[name][1]))
    return {"type": "object", "properties": properties, **required}


def _item(returns: Fields) -> dict[str, Any]:
    """Return the schema of an item of a list: by its name, where it has one."""
    name = next((name for name, known in fields.OBJECTS.items() if known == returns), None)
    return _of_kind(name) if name else _object(returns)


def _of_kind(kind: str) -> dict[str, Any]:
    """Return the schema of a type as `answers.fields` writes it."""
    if " | " in kind:
        options = [_of_kind(each) for each in kind.split(" | ")]
        is_plain = all(option.keys() == {"type"} for option in options)
        return {"type": [option["type"] for option in options]} if is_plain else {"anyOf": options}
    if kind.endswith("[]"):
        return {"type": "array", "items": _of_kind(kind.removesuffix("[]"))}
    if kind.endswith("{}"):
        return {"type": "object", "additionalProperties": _of_kind(kind.removesuffix("{}"))}
    if kind in fields.OBJECTS:
        return _ref(kind)
    if kind not in ("string", "integer", "number", "boolean", "object", "null"):
        raise ValueError(f"{kind!r} is no type of a field")
    return {"type": kind}


def _shape(is_ok: bool, more: dict[str, Any]) -> dict[str, Any]:
    """Return the shape of an answer: whether it is a success, a text for the model, and what a program reads."""
    means = "For the model." if is_ok else "For the model: the sentence, then help on new lines."
    properties = {"ok": {"type": "boolean", "enum": [is_ok]}, "text": {"type": "string", "description": means}, **more}
    return {"type": "object", "required": list(properties), "properties": properties}


def _shapes() -> dict[str, Any]:
    """Return all named schemas: what answers are made of, and the failures of each status."""
    found = {name: _object(returns) for name, returns in fields.OBJECTS.items()}
    found |= {_data_name(asked): _data_schema(asked) for asked in (registry.TOOLS | registry.ENDPOINTS).values()}
    found["Failure"] = _failing(list(ErrorCode))
    for status in sorted({code.status for code in ErrorCode}):
        found[f"Failure{status}"] = _failing([code for code in ErrorCode if code.status == status])
    return found


def _failing(codes: Sequence[ErrorCode]) -> dict[str, Any]:
    lines = (f"- `{code.code}` ({code.status}): {code.meaning}" for code in codes)
    described = "\n".join(["Names in `code` type are fields of `details`.", "", *lines])
    properties = {
        "code": {"type": "string", "enum": [code.code for code in codes], "description": described},
        "message": {"type": "string"},
        "details": {"type": "object", "additionalProperties": {}},
    }
    return _shape(False, {"error": {"type": "object", "required": list(properties), "properties": properties}})
