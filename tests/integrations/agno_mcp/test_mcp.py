"""Agno with the memory as an MCP server: examples/mcp_agno.py, with a scripted model."""

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from agno.models.base import Model
from agno.models.response import ModelResponse

from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes, example


@dataclass
class Scripted(Model):
    """Calls tools one after the other, and then says that it is done.

    `texts` has what they answered, `sent` what a model's provider is sent of the tools.
    """

    id: str = "scripted"
    calls: list[Call] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    sent: Any = None

    def invoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        self.sent = more.get("tools")
        self.texts = [str(each.content) for each in messages if each.role == "tool"]
        if len(self.texts) == len(self.calls):
            return ModelResponse(role="assistant", content="done")
        name, arguments = self.calls[len(self.texts)]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call-{len(self.texts)}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    async def ainvoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        return self.invoke(messages, **more)

    def invoke_stream(self, messages: list[Any], *args: Any, **more: Any) -> Iterator[ModelResponse]:
        yield self.invoke(messages, **more)

    def ainvoke_stream(self, *args: Any, **more: Any) -> Any:
        raise NotImplementedError

    _parse_provider_response = _parse_provider_response_delta = ainvoke_stream


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    def ran(*calls: Call) -> list[str]:
        model = Scripted(calls=list(calls))
        assert asyncio.run(example("mcp_agno.py")["ask"]("What are my goals?", model)) == "done"
        return model.texts

    assert_reads_and_proposes(memory, ran)
