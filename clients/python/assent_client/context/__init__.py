"""What an agent's own context keeps: old tool results make way, a warning comes before, a hand-over keeps the rest.

Pure functions over lists of messages as OpenAI (Chat Completions and Responses), Anthropic and LangChain have them: no
server, and nothing is changed in place. What matters for longer than a context belongs in the memory; everything else
may go.

    manager = ContextManager()
    messages = manager.prepare(messages)              # before each request
    if manager.is_hand_over_due(messages):
        summary = …                                   # the model's answer to HAND_OVER
        messages = hand_over(messages, summary)

Which messages are understood is in `shapes`; others are an error (TypeError).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from assent_client.context import shapes

#: A mapping, or an object of a vendor's SDK.
Message = Any

#: Says that a result was there and how to have it again.
CLEARED_PLACEHOLDER = "[Tool result cleared to save context. Re-run the tool if needed.]"
#: For results whose point is in the memory already.
PROCESSED_PLACEHOLDER = "[Result processed - see workspace if needed]"

CONTEXT_WARNING = """\
⚠️ CONTEXT APPROACHING LIMIT

You are at {percentage}% of context capacity. Important tool results
will be cleared soon. Save any critical information to workspace.md now.
"""

#: Results that are never cleared: texts one edits, and lists one works by.
PROTECTED_TOOLS = frozenset(
    {"read_memory_block", "view_file", "memory", "read_file", "list_files", "list_todos", "get_progress"}
)

HAND_OVER = """\
Write a hand-over for an agent that continues this work with nothing but your text, in these five parts:

1. Task Overview: what was asked for, what counts as done, and the constraints.
2. Current State: what is completed, which files and memory blocks were changed, what was produced.
3. Important Discoveries: decisions made, errors resolved, approaches that failed.
4. Next Steps: what to do next, in order, and what stands in the way.
5. Context to Preserve: the user's preferences and what one has to know of the subject.
"""

#: The header that Anthropic's API wants with `clear_tool_uses` and `compact`.
CLEARING_BETA, COMPACTING_BETA = "context-management-2025-06-27", "compact-2026-01-12"

_CHARACTERS_PER_TOKEN = 4
_SHORTENED = "\n[… {left} more characters; run the tool again for a part of it]"


@dataclass(frozen=True)
class ContextConfig:
    """When results are cleared, and which.

    Args:
        compaction_threshold_tokens: from here on old tool results are cleared.
        summarization_threshold_tokens: from here on a hand-over replaces the messages before the recent ones.
        keep_recent_tool_results: the newest results, which stay; those of protected tools count among them.
        keep_recent_messages: the newest messages, which a hand-over leaves as they are.
        max_tool_result_length: characters after which a single result is cut.
        placeholder_text: takes a result's place; `CLEARED_PLACEHOLDER` for agents without a workspace.
        protected_tools: names of tools whose results always stay, whole.
        warning_share: percent of `compaction_threshold_tokens` from which the warning is given.
        warning_text: with `{percentage}` where the share used belongs.

    Raises:
        ValueError: for numbers that make no sense.
    """

    compaction_threshold_tokens: int = 80_000
    summarization_threshold_tokens: int = 100_000
    keep_recent_tool_results: int = 5
    keep_recent_messages: int = 20
    max_tool_result_length: int = 5_000
    placeholder_text: str = PROCESSED_PLACEHOLDER
    protected_tools: frozenset[str] = PROTECTED_TOOLS
    warning_share: int = 80
    warning_text: str = CONTEXT_WARNING

    def __post_init__(self) -> None:
        for name in ("compaction_threshold_tokens", "summarization_threshold_tokens", "max_tool_result_length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} has to be 1 or more")
        for name in ("keep_recent_tool_results", "keep_recent_messages", "warning_share"):
            if getattr(self, name) < 0:
                raise ValueError(f"{name} has to be 0 or more")
        # A list is fine to give; a word alone would protect the tools named for its letters.
        given: object = self.protected_tools
        if isinstance(given, str):
            raise ValueError("protected_tools has to be several names")
        object.__setattr__(self, "protected_tools", frozenset(self.protected_tools))


DEFAULT = ContextConfig()


def estimate_tokens(messages: Sequence[Message]) -> int:
    """Return about how many tokens the messages take: a quarter of their characters as JSON.

    Images count as their base64, which is far too much: count yourself where you can.
    """
    characters = sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages)
    return characters // _CHARACTERS_PER_TOKEN


def clear_old_tool_results(messages: Sequence[Message], config: ContextConfig = DEFAULT) -> list[Message]:
    """Return the messages with all tool results but the newest, and those of protected tools, as placeholders.

    The calls stay, so the model sees that it asked. Clearing what is cleared changes nothing.
    """
    names = _names_of_calls(messages)
    older = sum(1 for message in messages for _ in shapes.results(message)) - config.keep_recent_tool_results
    seen = 0

    def cleared(call: str, content: Any) -> Any:
        nonlocal seen
        seen += 1
        is_kept = seen > older or names.get(call) in config.protected_tools
        return content if is_kept else config.placeholder_text

    return [shapes.with_results(message, cleared) for message in messages]


def shorten_tool_results(messages: Sequence[Message], config: ContextConfig = DEFAULT) -> list[Message]:
    """Return the messages with each tool result cut to `max_tool_result_length` characters of text.

    Results of protected tools stay whole: one edits by them. Shortening what is short changes nothing.
    """
    names = _names_of_calls(messages)

    def shortened(call: str, content: Any) -> Any:
        if names.get(call) in config.protected_tools:
            return content
        if isinstance(content, str):
            return _cut(content, config.max_tool_result_length)
        if isinstance(content, list | tuple):
            return _cut_parts(content, config.max_tool_result_length)
        return content

    return [shapes.with_results(message, shortened) for message in messages]


class ContextManager:
    """Keeps a growing list of messages within its limits; one for each conversation, since it warns once.

    Args:
        count_tokens: how many tokens a list of messages takes.
    """

    def __init__(
        self, config: ContextConfig = DEFAULT, *, count_tokens: Callable[[Sequence[Message]], int] = estimate_tokens
    ) -> None:
        self.config = config
        self._count = count_tokens
        self._has_warned = False

    def prepare(self, messages: Sequence[Message], *, tokens: int | None = None) -> list[Message]:
        """Return what to send to the model: results shortened, the warning once, old results cleared when it is full.

        Args:
            tokens: how many the messages take, where the model's last answer said so.
        """
        prepared = shorten_tool_results(messages, self.config)
        used = self._count(prepared) if tokens is None else tokens
        if used >= self.config.compaction_threshold_tokens:
            self._has_warned = False  # the next time it fills up is another time
            return clear_old_tool_results(prepared, self.config)
        # Between a call and its result no other message may come.
        if not self._has_warned and not has_open_calls(prepared) and (text := warning(used, self.config)):
            self._has_warned = True
            prepared.append(shapes.by_user(text, prepared))
        return prepared

    def is_hand_over_due(self, messages: Sequence[Message], *, tokens: int | None = None) -> bool:
        """Whether clearing is not enough any more: ask the model for `HAND_OVER`, and call `hand_over`.

        Args:
            tokens: how many the cleared messages take, where the model's last answer said so.
        """
        used = self._count(clear_old_tool_results(messages, self.config)) if tokens is None else tokens
        return used >= self.config.summarization_threshold_tokens


def warning(tokens: int, config: ContextConfig = DEFAULT) -> str | None:
    """Return the warning that results will be cleared soon, with the share used; None as long as there is room."""
    percentage = tokens * 100 // config.compaction_threshold_tokens
    if percentage < config.warning_share:
        return None
    return config.warning_text.replace("{percentage}", str(percentage))


def has_open_calls(messages: Sequence[Message]) -> bool:
    """Whether a call still waits for its result."""
    asked = {call for message in messages for call, _ in shapes.calls(message)}
    return bool(asked - {call for message in messages for call in shapes.results(message)})


def hand_over(messages: Sequence[Message], summary: str, config: ContextConfig = DEFAULT) -> list[Message]:
    """Return system messages, the summary, and the recent messages.

    A result never stays without its call: where one is among the recent messages, they begin with its call.
    """
    system = [message for message in messages if shapes.is_system(message)]
    rest = [message for message in messages if not shapes.is_system(message)]
    start = _first_kept(rest, max(0, len(rest) - config.keep_recent_messages))
    told = shapes.by_user(f"What was done before, as handed over:\n\n{summary}", messages)
    return [*system, told, *rest[start:]]


def _first_kept(messages: Sequence[Message], start: int) -> int:
    """Return the first message of which nothing kept is torn away, at or before `start`."""
    asked_in = {call: at for at, message in enumerate(messages) for call, _ in shapes.calls(message)}
    at = len(messages)
    while at > start:
        at -= 1
        start = min([start, *(asked_in.get(call, at) for call in shapes.results(messages[at]))])
    while start and start < len(messages) and shapes.is_reasoning(messages[start - 1]):
        start -= 1
    return start


# -- Anthropic's own means ------------------------------------------------------------------------


def clear_tool_uses(
    config: ContextConfig = DEFAULT, *, trigger: int = 30_000, clear_at_least: int = 5_000
) -> dict[str, Any]:
    """Return Anthropic's `context_management`, which clears on its server (beta header `CLEARING_BETA`).

    Args:
        trigger: input tokens from which it clears.
        clear_at_least: tokens it has to free, or the broken cache costs more than it saves.
    """
    return {
        "edits": [
            {
                "type": "clear_tool_uses_20250919",
                "trigger": {"type": "input_tokens", "value": trigger},
                "keep": {"type": "tool_uses", "value": config.keep_recent_tool_results},
                "exclude_tools": sorted(config.protected_tools),
                "clear_at_least": {"type": "input_tokens", "value": clear_at_least},
            }
        ]
    }


def compact(config: ContextConfig = DEFAULT) -> dict[str, Any]:
    """Return an edit for the list of `clear_tool_uses`, by which Anthropic's server writes the hand-over itself.

    It goes with the beta header `COMPACTING_BETA`.
    """
    return {
        "type": "compact_20260112",
        "trigger": {"type": "input_tokens", "value": config.summarization_threshold_tokens},
        "instructions": HAND_OVER,
    }


def compaction_control(config: ContextConfig = DEFAULT, *, model: str | None = None) -> dict[str, Any]:
    """Return `compaction_control` of Anthropic's tool runner: its summary has the five parts of `HAND_OVER`.

    Newer versions of the anthropic package have no such argument: they take `compact` in its place.
    """
    control: dict[str, Any] = {
        "enabled": True,
        "context_token_threshold": config.summarization_threshold_tokens,
        "summary_prompt": HAND_OVER,
    }
    return control if model is None else {**control, "model": model}


# -- parts ----------------------------------------------------------------------------------------


def _names_of_calls(messages: Sequence[Message]) -> dict[str, str]:
    return {call: name for message in messages for call, name in shapes.calls(message)}


def _cut_parts(parts: Sequence[Any], length: int) -> list[Any]:
    """Return parts with `length` characters of text in all; texts after that are left out."""
    out, left = [], length
    for part in parts:
        text = part.get("text") if isinstance(part, Mapping) else part
        if not isinstance(text, str):
            out.append(part)
            continue
        cut = _cut(text, left) if left else ""
        left -= len(cut)
        if cut or not text:
            out.append({**part, "text": cut} if isinstance(part, Mapping) else cut)
    return out


def _cut(text: str, length: int) -> str:
    """Return at most `length` characters, which say how many more there are where there is room to."""
    if len(text) <= length:
        return text
    # The number grows with what the sentence itself takes; its longest form leaves room for every shorter one.
    kept = max(0, length - len(_SHORTENED.format(left=len(text))))
    told = _SHORTENED.format(left=len(text) - kept)
    return (text[:kept] + told)[:length] if kept else text[:length]
