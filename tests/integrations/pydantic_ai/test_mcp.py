"""Pydantic AI with the memory as an MCP server: examples/mcp_pydantic_ai.py, with a scripted model."""

import asyncio
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.integrations.conftest import RunningServer, example


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    edit = memory.an_edit()
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_edit", edit | {"old_string": "not there"}),
        ("propose_memory_edit", edit | {"old_string": "not there either"}),
        ("propose_memory_edit", edit),
    ]
    texts: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        assert {"read_memory_block", "propose_memory_edit"} <= {tool.name for tool in info.function_tools}
        last = messages[-1].parts[-1]
        if isinstance(last, ToolReturnPart | RetryPromptPart):
            texts.append(str(last.content))
        if len(texts) < len(calls):
            return ModelResponse(parts=[ToolCallPart(*calls[len(texts)])])
        return ModelResponse(parts=[TextPart("done")])

    asked = example("mcp_pydantic_ai.py")["ask"]("What are my goals?", FunctionModel(model))
    assert asyncio.run(asked) == "done"
    assert texts[0] == memory.call("read_memory_block", block_label="goals")["text"]
    assert texts[1].startswith("Error: old_string not found in block 'goals'.")
    assert texts[3].startswith("Edit proposal created for block 'goals'.")
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]
