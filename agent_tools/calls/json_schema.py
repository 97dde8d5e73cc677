"""The JSON Schema of a tool's arguments, as makers of models want it."""

from __future__ import annotations

from typing import Any

from agent_tools.calls.arguments import REQUIRED, Arguments, accepted, required_names


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
