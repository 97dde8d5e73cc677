"""The tools as `FunctionTool`s, run by the Agents SDK with a scripted model."""

import asyncio
import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from agents import Agent, Runner
from agents.tool_context import ToolContext

from assent_client import Assent, AsyncAssent
from assent_client.adapters.openai_agents import amemory_tools, memory_tools
from tests.integrations.conftest import RunningServer, snippet
from tests.integrations.openai_agents.test_mcp import Scripted


@pytest.fixture
def client(memory: RunningServer) -> Iterator[Assent]:
    with Assent(memory.url, memory.token, max_retries=0) as made:
        yield made


def append(text: str = "") -> dict[str, Any]:
    return {"block_label": "goals", "content": text or f"A line {uuid.uuid4().hex[:8]}.", "reasoning": "r"}


def ran(tools: Any, *calls: tuple[str, dict[str, Any]]) -> Scripted:
    model = Scripted(*calls)
    done = asyncio.run(Runner.run(Agent(name="tutor", model=model, tools=tools), "hello"))
    assert done.final_output == "done"
    return model


def invoked(tool: Any, given: str, call_id: str) -> str:
    """What the SDK gets of a tool for a call with this id."""
    context: Any = ToolContext(context=None, tool_name=tool.name, tool_call_id=call_id, tool_arguments=given)
    text: str = asyncio.run(tool.on_invoke_tool(context, given))
    return text


def test_the_model_reads_our_text_and_its_proposal_waits(client: Assent, memory: RunningServer) -> None:
    line = append()
    model = ran(
        memory_tools(client, user="alice", session_id="chat-9"),
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_append", {"block_label": "nonexistent", "content": "x", "reasoning": "r"}),
        ("propose_memory_append", {"content": 7}),
        ("propose_memory_append", line),
        ("memory_search", {"query": "exam", "user_id": "ben"}),
    )
    read, missing, wrong, proposed, found = model.texts
    assert read == memory.call("read_memory_block", block_label="goals")["text"]
    assert missing.startswith("Error")
    assert "not found" in missing
    assert wrong.startswith("Error")
    assert "proposal" in proposed.lower()
    assert not found.startswith("Error")  # whose memory it is, the model does not say
    newest = memory.newest_proposal()
    assert line["content"] in newest["result"]
    assert newest["session_id"] == "chat-9"


def test_each_tool_is_described_as_the_server_describes_it(client: Assent) -> None:
    made = {tool.name: tool for tool in memory_tools(client, user="alice")}
    for described in client.tools.list().data["tools"]:
        tool = made.pop(described["name"])
        # The adapter makes the key of the framework's id of the call.
        described["parameters"]["properties"].pop("idempotency_key", None)
        assert (tool.description, tool.params_json_schema) == (described["description"], described["parameters"])
        assert not tool.strict_json_schema
    assert not made


def test_a_call_that_is_run_again_makes_one_proposal(client: Assent, memory: RunningServer) -> None:
    (tool,) = memory_tools(client, user="alice", names=["propose_memory_append"])
    given, call_id = json.dumps(append()), f"call_{uuid.uuid4().hex}"
    first = invoked(tool, given, call_id)
    number = memory.newest_proposal()["proposal_id"]
    assert invoked(tool, given, call_id) == first
    assert memory.newest_proposal()["proposal_id"] == number
    # A model that numbers its calls anew: another call under the same id.
    assert "proposal" in invoked(tool, json.dumps(append()), call_id).lower()
    assert memory.newest_proposal()["proposal_id"] != number


@pytest.mark.parametrize("given", ["{", "[]", '"goals"', '{"content": NaN}', "[" * 100_000, '{"content": "\\ud800"}'])
def test_arguments_that_are_none_are_answered(client: Assent, given: str) -> None:
    (tool,) = memory_tools(client, user="alice", names=["propose_memory_append"])
    assert invoked(tool, given, "call_1").startswith("Error: ")


def test_a_server_that_went_away_is_a_text(client: Assent) -> None:
    (tool,) = memory_tools(client, user="alice", names=["read_memory_block"])
    client.core = Assent("http://127.0.0.1:1", "asn_x", max_retries=0).core
    assert invoked(tool, '{"block_label": "goals"}', "call_1") == (
        "Error: the memory cannot be reached at the moment. Try again shortly."
    )


def test_the_same_over_an_async_client(memory: RunningServer) -> None:
    async def asked() -> list[str]:
        async with AsyncAssent(memory.url, memory.token) as client:
            tools = await amemory_tools(client, user="alice", names=["read_memory_block", "propose_memory_append"])
            model = Scripted(("read_memory_block", {"block_label": "goals"}), ("propose_memory_append", append()))
            await Runner.run(Agent(name="tutor", model=model, tools=list(tools)), "hello")
            return model.texts

    read, proposed = asyncio.run(asked())
    assert read == memory.call("read_memory_block", block_label="goals")["text"]
    assert "proposal" in proposed.lower()


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model that the SDK takes by default is the one thing replaced: it needs a key."""
    model = Scripted(("read_memory_block", {"block_label": "goals"}))
    monkeypatch.setattr("agents.models.multi_provider.MultiProvider.get_model", lambda *_: model)
    exec(compile(snippet("openai-agents"), "openai-agents", "exec"), {"__name__": "example"})
    assert model.texts == [memory.call("read_memory_block", block_label="goals")["text"]]
    assert capsys.readouterr().out == "done\n"
