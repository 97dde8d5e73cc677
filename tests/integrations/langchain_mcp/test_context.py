"""LangChain's own messages, as objects and as each dict that LangChain makes of them, within a context's limits."""

from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.load import dumpd, load
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
    messages_from_dict,
    messages_to_dict,
)

from assent_client.context import PROCESSED_PLACEHOLDER, ContextConfig, ContextManager, hand_over, has_open_calls

WAYS: dict[str, tuple[Callable[[list[BaseMessage]], list[Any]], Callable[[list[Any]], list[BaseMessage]]]] = {
    "objects": (list, convert_to_messages),
    "messages_to_dict": (messages_to_dict, messages_from_dict),
    "dumpd": (lambda said: [dumpd(each) for each in said], lambda said: [load(each) for each in said]),
    "model_dump": (
        lambda said: [each.model_dump() for each in said],
        lambda said: messages_from_dict([{"type": each["type"], "data": each} for each in said]),
    ),
}


def conversation() -> list[BaseMessage]:
    said: list[BaseMessage] = [SystemMessage("You tutor."), HumanMessage("Begin.")]
    for number in range(30):
        call = {"id": f"c{number}", "name": "view_file" if number == 0 else "recall", "args": {}}
        chunk = AIMessageChunk if number == 1 else AIMessage
        said += [chunk(content="", tool_calls=[call]), ToolMessage("x" * 12_000, tool_call_id=f"c{number}")]
    return said


@pytest.mark.parametrize("way", WAYS)
def test_messages_of_langchain_are_trimmed_and_stay_what_they_are(way: str) -> None:
    write, read = WAYS[way]
    said = conversation()
    before = [each.model_copy() for each in said]
    manager = ContextManager(ContextConfig(compaction_threshold_tokens=30_000))
    made = read(manager.prepare(write(said)))
    assert said == before
    results = [str(each.content) for each in made if isinstance(each, ToolMessage)]
    assert (len(made), len(results)) == (len(said), 30)
    assert results[0] == "x" * 12_000, "the next edit has to quote it"
    assert results[1:25] == [PROCESSED_PLACEHOLDER] * 24
    assert all(len(each) <= 5_000 and each.startswith("xxx") for each in results[25:])
    assert not has_open_calls(write(made))
    assert has_open_calls(write(said[:-1]))


@pytest.mark.parametrize("way", WAYS)
def test_the_warning_and_the_hand_over_are_messages_of_langchain(way: str) -> None:
    write, read = WAYS[way]
    said = write(conversation())
    warned = read(ContextManager().prepare(said, tokens=70_000))
    assert isinstance(warned[-1], HumanMessage)
    system, told, *rest = read(hand_over(said, "All is well."))
    assert isinstance(system, SystemMessage)
    assert isinstance(told, HumanMessage)
    assert str(told.content).endswith("All is well.")
    assert (len(rest), type(rest[0])) == (20, AIMessage)
