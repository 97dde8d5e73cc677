"""The tools as `FunctionTool`s, run by the Agents SDK with a scripted model."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from agents import Agent, Runner
from agents.tool_context import ToolContext

from assent_client import Assent
from assent_client.adapters import openai_agents
from tests.integrations.conftest import READ_GOALS, Call, RunningServer, run_snippet
from tests.integrations.contract import APPEND, Ran, Running, ToolsContract
from tests.integrations.openai_agents.test_mcp import Scripted


@pytest.fixture
def adapter() -> Any:
    return openai_agents


@pytest.fixture
def running() -> Running:
    async def running(tools: Any, *calls: Call) -> list[str]:
        model = Scripted(*calls)
        done = await Runner.run(Agent(name="tutor", model=model, tools=list(tools)), "hello")
        assert done.final_output == "done"
        return model.texts

    return running


@pytest.fixture
def ran(running: Running) -> Ran:
    return lambda tools, *calls: asyncio.run(running(tools, *calls))


def invoked_with(tool: Any, given: str, call_id: str) -> str:
    """What the SDK gets of a tool for a call with this id."""
    context: Any = ToolContext(context=None, tool_name=tool.name, tool_call_id=call_id, tool_arguments=given)
    text: str = asyncio.run(tool.on_invoke_tool(context, given))
    return text


@pytest.fixture
def invoked() -> Callable[..., str]:
    return lambda tool, arguments, call_id: invoked_with(tool, json.dumps(arguments), call_id)


class TestTools(ToolsContract):
    pass


@pytest.mark.parametrize("given", ["{", "[]", '{"content": NaN}', "[" * 100_000, '{"content": "\\ud800"}'])
def test_arguments_that_are_none_are_answered(client: Assent, given: str) -> None:
    (tool,) = openai_agents.memory_tools(client, user="alice", names=[APPEND])
    assert invoked_with(tool, given, "call_1").startswith("Error: ")


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model that the SDK takes by default is the one thing replaced: it needs a key."""
    model = Scripted(READ_GOALS)
    monkeypatch.setattr("agents.models.multi_provider.MultiProvider.get_model", lambda *_: model)
    run_snippet("openai-agents")
    assert model.texts == [memory.text_of_goals()]
    assert capsys.readouterr().out == "done\n"
