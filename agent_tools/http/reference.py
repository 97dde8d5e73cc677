"""The reference page of the agent API, written from the registry, the OpenAPI document and the error codes.

`manage.py api_reference` writes it to `docs/api.md`, which is not committed; `/api/docs/` shows the same on every
installation.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from drf_spectacular.generators import SchemaGenerator

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.api_operation import ApiOperation
from agent_tools.calls.registry import ENDPOINTS, FORMATS, TOOLS
from agent_tools.errors import ErrorCode
from agent_tools.tools.guidance import WHICH_TOOLS

_HEAD = """\
# Agent API

*Written by `manage.py api_reference` from the code; edit that, not this. The guide is docs/agents.md.*

An agent sends `Authorization: Bearer <token>` and JSON, and gets JSON. A success is
`{"ok": true, "text": "…", "data": {…}}`, where `text` is for the model. A failure is
`{"ok": false, "text": "Error: …", "error": {"code": "…", "message": "…", "details": {…}}}` at every address,
404 and 500 included, and where the web server refuses a request unread (400, 408, 414, 431, 503): the first line of
`text` is the sentence, more help follows on new lines.

What a token is told follows from its scopes: `memory:read` reads what is there, and with `as_of` how it was;
`memory:history` adds what was deleted since, which is otherwise answered like what never was. Every
scope includes reading.

`POST /api/v1/tools/{name}/` runs a tool. Its body holds the arguments and `user_id`, which may be left out when
the token serves one owner. Unknown arguments are refused with the nearest known name; `null` stands for "left out".
The aliases `old_str`, `new_str`, `label` and `reason` are taken for `old_string`, `new_string`, `block_label` and
`reasoning`. `GET /api/v1/tools/?format=` gives the definitions of the tools the token may use, as FORMATS;
`GET /api/v1/tools/{name}/` that of one.

WHICH

A call that changes something takes an `Idempotency-Key` header (or the argument `idempotency_key`): the same key
with the same arguments gives the first answer again, marked `Idempotency-Replayed: true`; other arguments give 409.
Answers 429 and 5xx are not kept under the key: try again with it, after `Retry-After` seconds. A call that was cut off
can be sent again with its key: it goes on with what was begun, and is answered as soon as that is done.

The answer to a tool that is about one owner has `data.decisions` when something was decided about the agent's proposals
for that owner since its token was last told: `items` as in decision_list (at most five), `left_out` (how many more),
`more`, and `next` for `decided_since`. Each is a line below the text, but where the text is complete as it stands.

A proposal rejected as `too_private`, or redacted for its owner later, keeps who decided, when and why, and none of its
texts (`redacted`). The call that made it, sent again with its key, is answered `already_decided`.
"""


def page() -> str:
    """Return the whole page, in Markdown."""
    parts = [_HEAD.replace("FORMATS", ", ".join(f"`{name}`" for name in FORMATS)).replace("WHICH", WHICH_TOOLS)]
    parts += ["## Tools", *(_tool(tool) for tool in TOOLS.values())]
    parts += ["## Endpoints", _endpoints(), *(_fields_of(tool) for tool in ENDPOINTS.values())]
    parts += ["## Errors", _errors()]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _tool(tool: ApiOperation[Any]) -> str:
    return "\n\n".join(
        [
            f"### {tool.name}",
            tool.description,
            f"Scope {scopes(tool)} · {tool.effect} · timeout {tool.timeout} s",
            _arguments(tool),
            table(("`data`", ""), [(f"`{name}`", meaning) for name, meaning in tool.returns.items()]),
        ]
    )


def scopes(tool: ApiOperation[Any]) -> str:
    """Return the scope a token needs, in Markdown."""
    return f"`{tool.scope}`" + (f" (with `{tool.or_scope}` alone it waits for a person)" if tool.or_scope else "")


def _arguments(tool: ApiOperation[Any]) -> str:
    schema = tool.schema
    rows = [
        (
            f"`{name}`" + ("" if name in schema["required"] else "?"),
            _type(field) + (f" = {_literal(field['default'])}" if _has_default(field) else ""),
            field.get("description", ""),
        )
        for name, field in schema["properties"].items()
    ]
    return table(("argument", "type", ""), rows)


def _endpoints() -> str:
    generator: Any = SchemaGenerator
    document = generator().get_schema(request=None, public=True)
    rows = []
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            if path.startswith("/api/v1/tools/") and path != "/api/v1/tools/":
                continue
            parameters = operation.get("parameters", [])
            query = ", ".join(f"`{each['name']}`" for each in parameters if each["in"] == "query")
            rows.append((f"`{method.upper()} {path}`", operation["summary"], query))
    rows += [
        ("`GET /api/v1/tools/{name}/`", "The definition of one tool", "`format`"),
        ("`GET /api/schema/`", "The OpenAPI document", ""),
        ("`GET /api/docs/`", "The same as a page", ""),
        ("`GET /healthz`", "The process answers", ""),
        (
            "`GET /readyz`",
            "Both databases, Redis where configured, and an embedded database's disk work; 503 names what does not",
            "",
        ),
    ]
    return table(("endpoint", "", "query"), rows)


def _fields_of(tool: ApiOperation[Any]) -> str:
    fields = table(("`data`", ""), [(f"`{name}`", meaning) for name, meaning in tool.returns.items()])
    return f"### {tool.name}\n\n{tool.description}\n\n{_arguments(tool)}\n\n{fields}"


def _errors() -> str:
    rows = [(str(code.status), f"`{code.code}`", code.meaning) for code in ErrorCode]
    return table(("status", "code", "meaning; names in `code` type are fields of `details`"), sorted(rows))


def _type(field: dict[str, Any]) -> str:
    if "enum" in field:
        return ", ".join(f"`{value}`" for value in field["enum"])
    if field.get("type") == "array":
        return f"list of {_type(field['items'])}"
    return str(field.get("type", "any"))


def _has_default(field: dict[str, Any]) -> bool:
    return field.get("default") not in (None, "", [])


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> str:
    """Return a table in Markdown."""
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", r"\|") for cell in line) + " |" for line in lines)
