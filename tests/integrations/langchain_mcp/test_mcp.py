"""LangChain with the memory as an MCP server: examples/mcp_langchain.py, with a scripted model."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.language_models.fake_chat_models import FakeMessagesListChatModel
from langchain_core.messages import AIMessage

from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes, example


class Scripted(FakeMessagesListChatModel):
    """Says what it is given to say; `seen` has the messages it was shown last."""

    seen: list[Any] = []

    @classmethod
    def calling(cls, *calls: Call) -> Scripted:
        """A model that makes these calls one by one, and then says that it is done."""
        said = [
            AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
            for number, (name, arguments) in enumerate(calls)
        ]
        return cls(responses=[*said, AIMessage("done")])

    @property
    def texts(self) -> list[str]:
        """What the tools answered."""
        return [each.text for each in self.seen if each.type == "tool"]

    def bind_tools(self, tools: Any, **more: Any) -> Scripted:
        return self

    def _generate(self, messages: Any, *args: Any, **more: Any) -> Any:
        self.seen[:] = messages
        return super()._generate(messages, *args, **more)


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    def ran(*calls: Call) -> list[str]:
        model = Scripted.calling(*calls)
        assert asyncio.run(example("mcp_langchain.py")["ask"]("What are my goals?", model)) == "done"
        return model.texts

    assert_reads_and_proposes(memory, ran)
