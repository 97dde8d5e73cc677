"""What an agent's own context keeps, on messages of three shapes. Properties on made-up conversations come last."""

import copy
import json
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assent_client.context import (
    CLEARED_PLACEHOLDER,
    HAND_OVER,
    PROCESSED_PLACEHOLDER,
    PROTECTED_TOOLS,
    ContextConfig,
    ContextManager,
    clear_old_tool_results,
    clear_tool_uses,
    compact,
    compaction_control,
    estimate_tokens,
    hand_over,
    has_open_calls,
    shapes,
    shorten_tool_results,
    warning,
)

Message = dict[str, Any]


def chat(id: str, tool: str, result: Any) -> list[Message]:
    function = {"name": tool, "arguments": "{}"}
    return [
        {"role": "assistant", "content": None, "tool_calls": [{"id": id, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": id, "content": result},
    ]


def responses(id: str, tool: str, result: Any) -> list[Message]:
    return [
        {"type": "reasoning", "id": f"rs_{id}", "summary": []},
        {"type": "function_call", "call_id": id, "name": tool, "arguments": "{}"},
        {"type": "function_call_output", "call_id": id, "output": result},
    ]


def anthropic(id: str, tool: str, result: Any) -> list[Message]:
    call = {"type": "tool_use", "id": id, "name": tool, "input": {}}
    return [
        {"role": "assistant", "content": [{"type": "text", "text": "…"}, call]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": result}]},
    ]


def langchain(id: str, tool: str, result: Any) -> list[Message]:
    """As `model_dump` of its messages."""
    call = {"id": id, "type": "tool_call", "name": tool, "args": {}}
    return [
        {"type": "ai", "content": "", "tool_calls": [call]},
        {"type": "tool", "tool_call_id": id, "name": tool, "content": result},
    ]


def stored(id: str, tool: str, result: Any) -> list[Message]:
    """As LangChain's `messages_to_dict`."""
    return [{"type": each["type"], "data": each} for each in langchain(id, tool, result)]


def serialised(id: str, tool: str, result: Any) -> list[Message]:
    """As LangChain's `dumpd`."""
    return [{"lc": 1, "type": "constructor", "kwargs": each} for each in langchain(id, tool, result)]


EVERY = [chat, responses, anthropic, langchain, stored, serialised]
SHAPES = pytest.mark.parametrize("shape", EVERY)


def contents(messages: list[Any]) -> list[Any]:
    """The contents of all results, in order."""
    found: list[Any] = []

    def note(_: str, content: Any) -> Any:
        found.append(content)
        return content

    for message in messages:
        shapes.with_results(message, note)
    return found


def conversation(shape: Any, *tools: str, length: int = 10) -> list[Message]:
    said: list[Message] = [{"role": "system", "content": "You tutor."}, {"role": "user", "content": "Begin."}]
    for number, tool in enumerate(tools):
        said += shape(f"call_{number}", tool, f"{number}" * length)
    return said


def test_the_texts_and_tools_are_the_plans() -> None:
    """The numbers are those of docs/agents/context.md, which a test of the documents compares."""
    assert PROCESSED_PLACEHOLDER == "[Result processed - see workspace if needed]"
    assert CLEARED_PLACEHOLDER == "[Tool result cleared to save context. Re-run the tool if needed.]"
    assert {"read_file", "list_files", "list_todos", "get_progress", "read_memory_block"} <= PROTECTED_TOOLS
    assert {"view_file", "memory"} <= PROTECTED_TOOLS
    for part in ("Task Overview", "Current State", "Important Discoveries", "Next Steps", "Context to Preserve"):
        assert f". {part}: " in HAND_OVER


@pytest.mark.parametrize("name", [name for name, default in vars(ContextConfig()).items() if type(default) is int])
def test_numbers_that_make_no_sense_are_refused(name: str) -> None:
    least = 1 if "threshold" in name or "length" in name else 0
    smallest: dict[str, Any] = {name: least}
    wrong: dict[str, Any] = {name: least - 1}
    ContextConfig(**smallest)
    with pytest.raises(ValueError, match=name):
        ContextConfig(**wrong)


def test_one_name_is_no_set_of_tools() -> None:
    with pytest.raises(ValueError, match="protected_tools"):
        ContextConfig(protected_tools="read_file")  # type: ignore[arg-type]


def test_several_results_in_one_message_are_several() -> None:
    parts = [{"type": "tool_result", "tool_use_id": f"t{n}", "content": "x", "is_error": n == 0} for n in range(3)]
    messages = [{"role": "user", "content": [*parts, {"type": "text", "text": "and?"}]}]
    (message,) = clear_old_tool_results(messages, ContextConfig(keep_recent_tool_results=1))
    assert [part.get("content") for part in message["content"]] == [PROCESSED_PLACEHOLDER] * 2 + ["x", None]
    assert message["content"][0]["is_error"] is True
    assert message["content"][3] == {"type": "text", "text": "and?"}


def test_custom_tools_are_cleared_and_screenshots_are_not() -> None:
    call = {"type": "custom_tool_call", "call_id": "a", "name": "grep", "input": "x"}
    output = {"type": "custom_tool_call_output", "call_id": "a", "output": "long"}
    image = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}}
    cleared = clear_old_tool_results([call, output, image], ContextConfig(keep_recent_tool_results=0))
    assert cleared == [call, output | {"output": PROCESSED_PLACEHOLDER}, image]


def test_objects_of_an_sdk_are_read_and_left_as_they_are() -> None:
    calls = [SimpleNamespace(type="tool_use", id=id, name=tool) for id, tool in (("t1", "read_file"), ("t2", "recall"))]
    as_object = SimpleNamespace(role="assistant", content=calls[:1])
    in_mapping = {"role": "assistant", "content": calls[1:]}
    first, second = (anthropic(id, "", "x")[1] for id in ("t1", "t2"))
    messages = [as_object, first, in_mapping, second]
    cleared = clear_old_tool_results(messages, ContextConfig(keep_recent_tool_results=0))
    assert cleared[0] is as_object
    assert contents(cleared) == ["x", PROCESSED_PLACEHOLDER]


@pytest.mark.parametrize("plain", [{"role": "user"}, {"role": "user", "content": ["just text"]}, {"type": "remove"}])
def test_what_has_no_result_is_kept(plain: Any) -> None:
    for made in (clear_old_tool_results([plain]), shorten_tool_results([plain]), ContextManager().prepare([plain])):
        assert made == [plain]


@pytest.mark.parametrize(
    "odd", [{}, "text", 3, None, {"role": "user", "parts": [{"text": "Gemini"}]}, SimpleNamespace()]
)
def test_a_message_of_no_known_shape_is_an_error(odd: Any) -> None:
    for work in (clear_old_tool_results, shorten_tool_results, ContextManager().prepare, has_open_calls):
        with pytest.raises(TypeError, match="is no message of OpenAI, Anthropic or LangChain"):
            work([{"role": "user", "content": "x"}, odd])
    with pytest.raises(TypeError, match="is no message"):
        hand_over([odd], "x")


@SHAPES
def test_a_long_result_is_cut_and_says_how_much_is_missing(shape: Any) -> None:
    messages = conversation(shape, "recall", length=6_000)
    (content,) = contents(shorten_tool_results(messages))
    assert len(content) <= 5_000
    kept = len(content.split("\n[…")[0])
    assert content.endswith(f"\n[… {6_000 - kept} more characters; run the tool again for a part of it]")
    protected = conversation(shape, "read_file", length=6_000)
    assert shorten_tool_results(protected) == protected


def test_parts_of_a_result_share_its_length_and_images_stay() -> None:
    first, last = ({"type": "text", "text": letter * 4_000} for letter in "ab")
    parts = [first, {"type": "image", "source": {}}, last]
    (content,) = contents(shorten_tool_results(anthropic("t1", "recall", parts)))
    assert [part["type"] for part in content] == ["text", "image", "text"]
    assert sum(len(part.get("text", "")) for part in content) <= 5_000
    assert content[0]["text"] == "a" * 4_000


def manager(**config: Any) -> ContextManager:
    return ContextManager(ContextConfig(**config))


def test_it_warns_once_with_the_share_used_and_before_it_clears() -> None:
    messages = conversation(chat, *["recall"] * 7)
    kept = manager()
    assert kept.prepare(messages, tokens=63_999) == messages
    warned = kept.prepare(messages, tokens=68_000)
    assert warned[:-1] == messages
    assert warned[-1]["role"] == "user"
    assert "⚠️ CONTEXT APPROACHING LIMIT\n\nYou are at 85% of context capacity." in warned[-1]["content"]
    assert kept.prepare(messages, tokens=72_000) == messages
    assert contents(kept.prepare(messages, tokens=80_000))[:2] == [PROCESSED_PLACEHOLDER] * 2
    assert len(kept.prepare(messages, tokens=70_000)) == len(messages) + 1, "the next time it fills up is another time"


@pytest.mark.parametrize("shape", [langchain, stored, serialised])
def test_what_is_added_has_the_shape_of_the_others(shape: Any) -> None:
    said = shape("c", "recall", "x")
    human = {"type": "human", "content": "Begin."}
    first = human if shape is langchain else said[0] | {"type": "human", "data": human}
    first = said[0] | {"kwargs": human} if shape is serialised else first
    warned = manager().prepare([first, *said], tokens=70_000)[-1]
    assert set(warned) == set(first)
    assert (shapes.role_of(warned), "APPROACHING LIMIT" in shapes.get(warned, "content")) == ("user", True)
    assert shapes.role_of(hand_over([first, *said], "Well.")[0]) == "user"


def test_the_warnings_text_and_share_are_chosen() -> None:
    config = ContextConfig(compaction_threshold_tokens=200, warning_share=50, warning_text="{percentage}% of {all}")
    assert warning(99, config) is None
    assert warning(100, config) == "50% of {all}"


@SHAPES
def test_no_warning_comes_between_a_call_and_its_result(shape: Any) -> None:
    messages = conversation(shape, "recall")
    open_ = messages[:-1]
    assert has_open_calls(open_)
    assert not has_open_calls(messages)
    kept = manager()
    assert kept.prepare(open_, tokens=70_000) == open_
    assert len(kept.prepare(messages, tokens=70_000)) == len(messages) + 1


def test_tokens_are_counted_where_nobody_says_how_many() -> None:
    messages = conversation(chat, *["recall"] * 7, length=4_000)
    assert 7_000 <= estimate_tokens(messages) <= 7_400
    kept = manager(compaction_threshold_tokens=5_000)
    assert contents(kept.prepare(messages))[0] == PROCESSED_PLACEHOLDER
    counted = ContextManager(ContextConfig(compaction_threshold_tokens=8), count_tokens=len)
    assert contents(counted.prepare(messages))[0] == PROCESSED_PLACEHOLDER


def test_a_hand_over_is_due_when_clearing_is_not_enough() -> None:
    kept = manager(summarization_threshold_tokens=3_000, keep_recent_tool_results=1)
    assert not kept.is_hand_over_due(conversation(chat, *["recall"] * 7, length=4_000))
    assert kept.is_hand_over_due(conversation(chat, *["read_file"] * 7, length=4_000))
    assert kept.is_hand_over_due([], tokens=3_000)


def test_system_messages_the_summary_and_the_recent_messages_stay() -> None:
    said = [{"role": "user", "content": str(number)} for number in range(30)]
    messages = [{"role": "developer", "content": "You tutor."}, *said]
    kept = hand_over(messages, "All is well.")
    assert kept[0] == messages[0]
    assert kept[1] == {"role": "user", "content": "What was done before, as handed over:\n\nAll is well."}
    assert kept[2:] == said[-20:]
    assert hand_over(messages, "x", ContextConfig(keep_recent_messages=0))[2:] == []
    assert hand_over(messages, "x", ContextConfig(keep_recent_messages=99))[2:] == said


def test_anthropics_settings_are_the_plans() -> None:
    (edit,) = clear_tool_uses()["edits"]
    assert edit == {
        "type": "clear_tool_uses_20250919",
        "trigger": {"type": "input_tokens", "value": 30_000},
        "keep": {"type": "tool_uses", "value": 5},
        "exclude_tools": sorted(PROTECTED_TOOLS),
        "clear_at_least": {"type": "input_tokens", "value": 5_000},
    }
    assert compaction_control(model="claude-haiku-4-5") == {
        "enabled": True,
        "context_token_threshold": 100_000,
        "summary_prompt": HAND_OVER,
        "model": "claude-haiku-4-5",
    }
    assert "model" not in compaction_control()
    assert compact()["trigger"]["value"] == 100_000
    assert compact()["instructions"] == HAND_OVER


texts = st.text(max_size=60)
bodies = texts | st.lists(st.builds(lambda text: {"type": "text", "text": text}, texts), max_size=3)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Messages of one shape: people talk, tools are called one by one or several at once, and some calls are open."""
    shape = draw(st.sampled_from(EVERY))
    said: list[Message] = [{"role": "system", "content": "You tutor."}] * draw(st.integers(0, 1))
    for number in range(draw(st.integers(0, 8))):
        if draw(st.booleans()):
            said.append({"role": draw(st.sampled_from(["user", "assistant"])), "content": draw(bodies)})
        tools = draw(st.lists(st.sampled_from(["recall", "read_file", "grep"]), max_size=3))
        pairs = [shape(f"c{number}_{at}", tool, draw(bodies)) for at, tool in enumerate(tools)]
        said += [message for pair in pairs for message in pair[:-1]]
        said += [pair[-1] for pair in pairs]
    is_cut: bool = draw(st.booleans())
    return said[:-1] if is_cut else said


configs = st.builds(
    ContextConfig,
    compaction_threshold_tokens=st.integers(1, 400),
    summarization_threshold_tokens=st.integers(1, 400),
    keep_recent_tool_results=st.integers(0, 6),
    keep_recent_messages=st.integers(0, 12),
    max_tool_result_length=st.integers(1, 80),
    placeholder_text=st.sampled_from([PROCESSED_PLACEHOLDER, CLEARED_PLACEHOLDER]),
    protected_tools=st.frozensets(st.sampled_from(["recall", "read_file"])) | st.just(PROTECTED_TOOLS),
)


def ids(messages: list[Message]) -> tuple[list[str], list[str]]:
    asked = [call for message in messages for call, _ in shapes.calls(message)]
    return asked, [call for message in messages for call in shapes.results(message)]


@given(conversations(), configs)
def test_nothing_given_is_changed_no_pair_is_broken_and_twice_is_as_once(
    messages: list[Message], config: ContextConfig
) -> None:
    before = copy.deepcopy(messages)
    for work in (clear_old_tool_results, shorten_tool_results):
        made = work(messages, config)
        assert ids(made) == ids(messages)
        assert work(made, config) == made
    assert ids(ContextManager(config).prepare(messages)) == ids(messages)
    asked, answered = ids(hand_over(messages, "x", config))
    assert set(answered) <= set(asked)
    assert set(asked) - set(answered) <= set(ids(messages)[0]) - set(ids(messages)[1])
    assert messages == before


@given(conversations(), configs)
def test_no_result_is_longer_than_it_may_be_and_the_newest_are_as_they_were(
    messages: list[Message], config: ContextConfig
) -> None:
    names = {call: name for message in messages for call, name in shapes.calls(message)}
    order = ids(messages)[1]
    for call, content in zip(order, contents(shorten_tool_results(messages, config)), strict=True):
        if names[call] not in config.protected_tools:
            texts = [content] if isinstance(content, str) else [part["text"] for part in content]
            assert sum(map(len, texts)) <= config.max_tool_result_length
    before, after = contents(messages), contents(clear_old_tool_results(messages, config))
    newest = len(before) - config.keep_recent_tool_results
    for at, call in enumerate(order):
        stays = at >= newest or names[call] in config.protected_tools
        assert after[at] == (before[at] if stays else config.placeholder_text)


@given(conversations(), configs)
def test_a_hand_over_keeps_at_least_the_recent_messages_in_their_order(
    messages: list[Message], config: ContextConfig
) -> None:
    system = [message for message in messages if shapes.is_system(message)]
    rest = [message for message in messages if not shapes.is_system(message)]
    kept = hand_over(messages, "x", config)[len(system) + 1 :]
    assert len(kept) >= min(config.keep_recent_messages, len(rest))
    assert kept == rest[len(rest) - len(kept) :]
    assert json.dumps(kept)


def test_a_result_without_an_id_is_cleared_like_others() -> None:
    nameless = anthropic("", "recall", "long")[1:]
    assert contents(clear_old_tool_results(nameless, ContextConfig(keep_recent_tool_results=0))) == [
        PROCESSED_PLACEHOLDER
    ]
