"""LangChain with the memory as an MCP server: examples/mcp_langchain.py, with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage

from tests.integrations.conftest import RunningServer, example


class Scripted(FakeMessagesListChatModel):
    """Says what it is given to say; `seen` has the messages it was shown last."""

    seen: list[Any] = []

    def bind_tools(self, tools: Any, **more: Any) -> Scripted:
        return self

    def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
        self.seen[:] = messages
        return super()._generate(messages, *args, **more)


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    edit = memory.an_edit()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_edit", edit | {"old_string": "not there"}),
        ("propose_memory_edit", edit),
    ]
    said = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
        for number, (name, arguments) in enumerate(calls)
    ]
    model = Scripted(responses=[*said, AIMessage("done")])
    asked = example("mcp_langchain.py")["ask"]("What are my goals?", model)
    assert asyncio.run(asked) == "done"
    read, refused, proposed = (each.text for each in model.seen if each.type == "tool")
    assert read == memory.call("read_memory_block", block_label="goals")["text"]
    assert "Error: old_string not found in block 'goals'." in refused
    assert proposed.startswith("Edit proposal created for block 'goals'.")
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]
