"""Where calls and results are in a message, in the shapes of OpenAI (Chat, Responses), Anthropic and LangChain.

A message is a mapping, or an object of an SDK, which is read by its attributes; neither is changed, copies are.
LangChain's messages are known by their `type`, as objects and as each of the dicts that LangChain makes of them.
Anything else is an error: a list passed through as it is would look as if it had been trimmed. Not seen here, and so
kept as they are: results that are no text by nature (`computer_call_output`), results of tools the vendor runs itself
(`web_search_tool_result`, `mcp_call`), and the `function` messages that came before tools.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

#: Items of the Responses API.
_CALLS = frozenset({"function_call", "custom_tool_call"})
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output"})
#: LangChain's types of messages, and what others call the same role. Those of a stream end with "MessageChunk".
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool"}
_STREAMED = "MessageChunk"


def get(thing: Any, name: str) -> Any:
    """Return a field of a mapping or an attribute of an object; None where there is none."""
    if not isinstance(thing, Mapping):
        return getattr(thing, name, None)
    inner = _inner(thing)
    return thing[inner].get(name, thing.get(name)) if inner else thing.get(name)


def calls(message: Any) -> Iterator[tuple[str, str]]:
    """Yield id and tool of each call in a message. Raise TypeError for what is no message that is known."""
    _require_known(message)
    if get(message, "type") in _CALLS:
        yield str(get(message, "call_id")), str(get(message, "name"))
    for call in (*_list(get(message, "tool_calls")), *_list(get(message, "invalid_tool_calls"))):
        function = get(call, "function") or get(call, "custom") or call
        yield str(get(call, "id")), str(get(function, "name"))
    for part in _list(get(message, "content")):
        if get(part, "type") == "tool_use":
            yield str(get(part, "id")), str(get(part, "name"))


def results(message: Any) -> Iterator[str]:
    """Yield the id of the call of each result in a message."""
    _require_known(message)
    if get(message, "type") in _OUTPUTS:
        yield str(get(message, "call_id"))
    elif role_of(message) == "tool":
        yield str(get(message, "tool_call_id"))
    else:
        for part in _list(get(message, "content")):
            if get(part, "type") == "tool_result":
                yield str(get(part, "tool_use_id"))


def with_results(message: Any, change: Callable[[str, Any], Any]) -> Any:
    """Return the message with each result's content as `change(id of the call, content)` makes it.

    It is a copy where it has results, and the message itself where it has none.
    """
    found = list(results(message))
    if not found:
        return message
    if get(message, "type") in _OUTPUTS:
        return _with(message, "output", change(found[0], get(message, "output")))
    content = get(message, "content")
    if role_of(message) == "tool":
        return _with(message, "content", change(found[0], content))
    return _with(message, "content", [_with_result(part, change) for part in content])


def role_of(message: Any) -> str:
    """Return whose message it is; empty for an item of the Responses API that has no role."""
    kind = str(get(message, "type") or "").removesuffix(_STREAMED)
    return _ROLES.get(kind.lower(), "") or str(get(message, "role") or "")


def is_system(message: Any) -> bool:
    """Whether it instructs the model, and so belongs to every request."""
    return role_of(message) in ("system", "developer")


def is_reasoning(message: Any) -> bool:
    """Whether it is a thought of the Responses API, which has to stay before what follows from it."""
    return bool(get(message, "type") == "reasoning")


def by_user(text: str, messages: Sequence[Any]) -> Any:
    """Return a message of the user's in the shape of the others."""
    for message in messages:
        if get(message, "role") is None and role_of(message) == "user":
            if not isinstance(message, Mapping):
                return type(message)(content=text)
            said = {"type": "human", "content": text}
            inner = _inner(message)
            return {**message, inner: said} if inner else said
    return {"role": "user", "content": text}


def _require_known(message: Any) -> None:
    if isinstance(get(message, "type"), str) or (isinstance(get(message, "role"), str) and not get(message, "parts")):
        return
    raise TypeError(
        f"{type(message).__name__} is no message of OpenAI, Anthropic or LangChain: it has neither a type, nor a role "
        "with its content. Convert the messages first."
    )


def _inner(message: Mapping[str, Any]) -> str:
    """Return where LangChain's dicts have the fields of a message; empty where they are the dict's own."""
    where = "kwargs" if "lc" in message else "data"
    return where if isinstance(message.get(where), Mapping) else ""


def _with(message: Any, name: str, value: Any) -> Any:
    """Return a copy with another value in one field."""
    if isinstance(message, Mapping):
        inner = _inner(message)
        return {**message, inner: {**message[inner], name: value}} if inner else {**message, name: value}
    made = copy.copy(message)
    setattr(made, name, value)
    return made


def _with_result(part: Any, change: Callable[[str, Any], Any]) -> Any:
    if get(part, "type") != "tool_result":
        return part
    return _with(part, "content", change(str(get(part, "tool_use_id")), get(part, "content")))


def _list(content: Any) -> list[Any]:
    return list(content) if isinstance(content, list | tuple) else []
