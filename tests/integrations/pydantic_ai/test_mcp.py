"""Pydantic AI with the memory as an MCP server: examples/mcp_pydantic_ai.py, with a scripted model."""

import asyncio

from pydantic_ai.messages import ModelMessage, ModelResponse, RetryPromptPart, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes, example


def test_the_model_reads_our_text_and_its_proposal_waits(memory: RunningServer) -> None:
    def ran(*calls: Call) -> list[str]:
        texts: list[str] = []

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            assert {name for name, _ in calls} <= {tool.name for tool in info.function_tools}
            last = messages[-1].parts[-1]
            if isinstance(last, ToolReturnPart | RetryPromptPart):
                texts.append(str(last.content))
            if len(texts) < len(calls):
                return ModelResponse(parts=[ToolCallPart(*calls[len(texts)])])
            return ModelResponse(parts=[TextPart("done")])

        asked = example("mcp_pydantic_ai.py")["ask"]("What are my goals?", FunctionModel(model))
        assert asyncio.run(asked) == "done"
        return texts

    assert_reads_and_proposes(memory, ran)
