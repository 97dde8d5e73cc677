"""OpenAI's Agents SDK with the memory as an MCP server: examples/mcp_openai_agents.py, with a scripted model."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from agents import set_tracing_disabled
from agents.items import ModelResponse
from agents.models.interface import Model
from agents.usage import Usage
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes, example

set_tracing_disabled(True)


class Scripted(Model):
    """Calls tools one after the other, and then says that it is done. `seen` has what it was shown."""

    def __init__(self, *calls: Call) -> None:
        self.calls = list(calls)
        self.seen: list[Any] = []
        self.tools: list[Any] = []

    async def get_response(
        self, system_instructions: Any, input: Any, model_settings: Any, tools: Any, *args: Any, **more: Any
    ) -> ModelResponse:
        self.tools, self.seen = tools, input
        done = sum(isinstance(item, dict) and item.get("type") == "function_call_output" for item in input)
        if done < len(self.calls):
            name, arguments = self.calls[done]
            call = ResponseFunctionToolCall(
                call_id=f"call-{done}", name=name, arguments=json.dumps(arguments), type="function_call"
            )
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(annotations=[], text="done", type="output_text")
        said = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[said], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **more: Any) -> AsyncIterator[Any]:
        raise NotImplementedError

    @property
    def texts(self) -> list[str]:
        """What the tools answered, as the model reads it."""
        found = []
        for item in self.seen:
            if isinstance(item, dict) and item.get("type") == "function_call_output":
                output = item["output"]
                found.append(output if isinstance(output, str) else "".join(part["text"] for part in output))
        return found


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    def ran(*calls: Call) -> list[str]:
        model = Scripted(*calls)
        assert asyncio.run(example("mcp_openai_agents.py")["ask"]("What are my goals?", model)) == "done"
        assert {name for name, _ in calls} <= {tool.name for tool in model.tools}
        return [unpacked(text) for text in model.texts]

    assert_reads_and_proposes(memory, ran)


def unpacked(output: str) -> str:
    """The text in a tool's output, which the SDK writes as JSON."""
    try:
        found = json.loads(output)
    except ValueError:
        return output
    text: str = found["text"] if isinstance(found, dict) and "text" in found else output
    return text
