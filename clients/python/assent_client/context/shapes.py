"""Where calls and results are in a message, in the shapes of OpenAI (Chat Completions, Responses) and Anthropic.

A message is a mapping, or an object of a vendor's SDK, which is read by its attributes and never changed. Not seen
here, and so kept as they are: results that are no text by nature (`computer_call_output`), results of tools the vendor
runs itself (`web_search_tool_result`, `mcp_call`), and the `function` messages that came before tools.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: Items of the Responses API.
_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})


def get(thing: Any, name: str) -> Any:
    """Return a field of a mapping or an attribute of an object; None where there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)


def calls(message: Any) -> Iterator[tuple[str, str]]:
    """Yield id and tool of each call in a message."""
    if get(message, "type") in _CALLS:
        yield str(get(message, "call_id")), str(get(message, "name"))
    for call in _list(get(message, "tool_calls")):
        yield str(get(call, "id")), str(get(get(call, "function") or get(call, "custom"), "name"))
    for part in _list(get(message, "content")):
        if get(part, "type") == "tool_use":
            yield str(get(part, "id")), str(get(part, "name"))


def results(message: Any) -> Iterator[str]:
    """Yield the id of the call of each result in a message."""
    if get(message, "type") in _OUTPUTS:
        yield str(get(message, "call_id"))
    elif get(message, "role") == "tool":
        yield str(get(message, "tool_call_id"))
    else:
        for part in _list(get(message, "content")):
            if get(part, "type") == "tool_result":
                yield str(get(part, "tool_use_id"))


def with_results(message: Any, change: Callable[[str, Any], Any]) -> Any:
    """Return the message with each result's content as `change(id of the call, content)` makes it.

    It is a copy where something changes, and the message itself where nothing can: an object, or one without results.
    """
    if not isinstance(message, Mapping):
        return message
    if message.get("type") in _OUTPUTS:
        return {**message, "output": change(str(message.get("call_id")), message.get("output"))}
    if message.get("role") == "tool":
        return {**message, "content": change(str(message.get("tool_call_id")), message.get("content"))}
    if next(results(message), None) is None:
        return message
    return {**message, "content": [_with_result(part, change) for part in message["content"]]}


def is_system(message: Any) -> bool:
    """Whether it instructs the model, and so belongs to every request."""
    return get(message, "role") in ("system", "developer")


def is_reasoning(message: Any) -> bool:
    """Whether it is a thought of the Responses API, which has to stay before what follows from it."""
    return bool(get(message, "type") == "reasoning")


def _with_result(part: Any, change: Callable[[str, Any], Any]) -> Any:
    if not isinstance(part, Mapping) or part.get("type") != "tool_result":
        return part
    return {**part, "content": change(str(part.get("tool_use_id")), part.get("content"))}


def _list(content: Any) -> list[Any]:
    return list(content) if isinstance(content, list | tuple) else []
