"""Agno with the memory as an MCP server: examples/mcp_agno.py, with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field
from typing import Any

from agno.models.base import Model
from agno.models.response import ModelResponse

from tests.integrations.conftest import RunningServer, example


@dataclass
class Scripted(Model):
    """Calls tools one after the other, and then says that it is done. `texts` has what they answered."""

    id: str = "scripted"
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def _next(self, messages: list[Any]) -> ModelResponse:
        self.texts = [str(each.content) for each in messages if each.role == "tool"]
        if len(self.texts) == len(self.calls):
            return ModelResponse(role="assistant", content="done")
        name, arguments = self.calls[len(self.texts)]
        function = {"name": name, "arguments": json.dumps(arguments)}
        call = {"id": f"call-{len(self.texts)}", "type": "function", "function": function}
        return ModelResponse(role="assistant", tool_calls=[call])

    def invoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        return self._next(messages)

    async def ainvoke(self, messages: list[Any], *args: Any, **more: Any) -> ModelResponse:
        return self._next(messages)

    def invoke_stream(self, *args: Any, **more: Any) -> Iterator[ModelResponse]:
        raise NotImplementedError

    def ainvoke_stream(self, *args: Any, **more: Any) -> AsyncIterator[ModelResponse]:
        raise NotImplementedError

    def _parse_provider_response(self, response: Any, **more: Any) -> ModelResponse:
        raise NotImplementedError

    def _parse_provider_response_delta(self, response: Any) -> ModelResponse:
        raise NotImplementedError


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    edit = memory.an_edit()
    model = Scripted(
        calls=[
            ("read_memory_block", {"block_label": "goals"}),
            ("propose_memory_edit", edit | {"old_string": "not there"}),
            ("propose_memory_edit", edit),
        ]
    )
    assert asyncio.run(example("mcp_agno.py")["ask"]("What are my goals?", model)) == "done"
    read, refused, proposed = model.texts
    assert memory.call("read_memory_block", block_label="goals")["text"] in read
    assert "Error: old_string not found in block 'goals'." in refused
    assert "Edit proposal created for block 'goals'." in proposed
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]
