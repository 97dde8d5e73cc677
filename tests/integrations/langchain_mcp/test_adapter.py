"""The tools as `StructuredTool`s, run by LangChain's agent with a scripted model."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import ToolMessage

from assent_client import Assent
from assent_client.adapters import langchain
from tests.integrations.conftest import READ_GOALS, Call, RunningServer, an_append, run_snippet
from tests.integrations.contract import APPEND, Ran, Running, ToolsContract
from tests.integrations.langchain_mcp.test_mcp import Scripted


@pytest.fixture
def adapter() -> Any:
    return langchain


@pytest.fixture(params=[False, True], ids=["invoke", "ainvoke"])
def is_async(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def told(answer: dict[str, Any]) -> list[str]:
    """What the tools answered, whose messages say whether it is a refusal."""
    messages = [each for each in answer["messages"] if isinstance(each, ToolMessage)]
    for each in messages:
        assert (each.status == "error") is str(each.content).startswith("Error")
    return [str(each.content) for each in messages]


@pytest.fixture
def running() -> Running:
    async def running(tools: Any, *calls: Call) -> list[str]:
        return told(await create_agent(Scripted.calling(*calls), tools).ainvoke({"messages": [("user", "hello")]}))

    return running


@pytest.fixture
def ran(running: Running, is_async: bool) -> Ran:
    def ran(tools: Any, *calls: Call) -> list[str]:
        if is_async:
            return asyncio.run(running(tools, *calls))
        return told(create_agent(Scripted.calling(*calls), tools).invoke({"messages": [("user", "hello")]}))

    return ran


@pytest.fixture
def invoked(is_async: bool) -> Callable[..., str]:
    def invoked(tool: Any, arguments: dict[str, Any], call_id: str) -> str:
        call = {"name": tool.name, "args": arguments, "id": call_id, "type": "tool_call"}
        return str((asyncio.run(tool.ainvoke(call)) if is_async else tool.invoke(call)).content)

    return invoked


class TestTools(ToolsContract):
    pass


def test_the_message_has_the_data(client: Assent, memory: RunningServer) -> None:
    (tool,) = langchain.memory_tools(client, user="alice", names=[APPEND])
    message = tool.invoke({"name": tool.name, "args": an_append(), "id": "call-1", "type": "tool_call"})
    assert message.artifact["proposal_id"] == memory.newest_proposal()["proposal_id"]


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model it names is the one thing replaced: it needs a key."""
    model = Scripted.calling(READ_GOALS)
    monkeypatch.setattr("langchain.agents.factory.init_chat_model", lambda name: model)
    run_snippet("langchain")
    assert model.texts == [memory.text_of_goals()]
    assert capsys.readouterr().out == "done\n"
