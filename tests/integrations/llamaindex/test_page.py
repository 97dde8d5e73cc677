"""docs/agents/llamaindex.md, as it stands, with a scripted model."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from llama_index.core.base.llms.types import ChatMessage, MessageRole, TextBlock, ToolCallBlock
from llama_index.core.llms.mock import MockFunctionCallingLLM

from tests.docs.documents import document
from tests.integrations.conftest import Call, RunningServer, assert_reads_and_proposes

(PROGRAM,) = document("docs/agents/llamaindex.md").fences("python")


def test_the_model_reads_our_text_and_its_proposal_waits(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEMORY_URL", memory.url)
    defined: dict[str, Any] = {"__name__": "page"}
    exec(compile(PROGRAM, "llamaindex.md", "exec"), defined)

    def ran(*calls: Call) -> list[str]:
        texts: list[str] = []

        def model(messages: Sequence[ChatMessage], **_: Any) -> ChatMessage:
            texts[:] = [str(each.content) for each in messages if each.role == MessageRole.TOOL]
            if len(texts) == len(calls):
                return ChatMessage(role="assistant", blocks=[TextBlock(text="done")])
            name, arguments = calls[len(texts)]
            asked = ToolCallBlock(tool_call_id=f"call_{len(texts)}", tool_name=name, tool_kwargs=arguments)
            return ChatMessage(role="assistant", blocks=[asked])

        llm = MockFunctionCallingLLM(response_generator=model, is_chat_model=True)
        assert asyncio.run(defined["ask"]("What are my goals?", llm)) == "done"
        return texts

    assert_reads_and_proposes(memory, ran)
