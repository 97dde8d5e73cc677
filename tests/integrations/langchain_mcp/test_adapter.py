"""The tools as `StructuredTool`s, run by LangChain's agent with a scripted model."""

import asyncio
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, ToolMessage

from assent_client import Assent, AsyncAssent
from assent_client.adapters.langchain import amemory_tools, memory_tools
from tests.integrations.conftest import RunningServer, snippet
from tests.integrations.langchain_mcp.test_mcp import Scripted

Calls = tuple[str, dict[str, Any]]


@pytest.fixture
def client(memory: RunningServer) -> Iterator[Assent]:
    with Assent(memory.url, memory.token, max_retries=0) as made:
        yield made


def append() -> dict[str, Any]:
    return {"block_label": "goals", "content": f"A line {uuid.uuid4().hex[:8]}.", "reasoning": "r"}


def scripted(*calls: Calls) -> Scripted:
    said = [
        AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": f"call-{number}"}])
        for number, (name, arguments) in enumerate(calls)
    ]
    return Scripted(responses=[*said, AIMessage("done")])


def ran(tools: Any, *calls: Calls, is_async: bool) -> list[ToolMessage]:
    agent, asked = create_agent(scripted(*calls), tools), {"messages": [("user", "hello")]}
    done = asyncio.run(agent.ainvoke(asked)) if is_async else agent.invoke(asked)
    return [each for each in done["messages"] if isinstance(each, ToolMessage)]


@pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
def test_the_model_reads_our_text_and_the_message_has_the_data(
    client: Assent, memory: RunningServer, is_async: bool
) -> None:
    line = append()
    read, missing, wrong, proposed, found = ran(
        memory_tools(client, user="alice", session_id="chat-9"),
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_append", {"block_label": "nonexistent", "content": "x", "reasoning": "r"}),
        ("propose_memory_append", {"content": 7, "nobody_knows": 1}),
        ("propose_memory_append", line),
        ("memory_search", {"query": "exam", "user_id": "ben"}),
        is_async=is_async,
    )
    answer = memory.call("read_memory_block", block_label="goals")
    assert (read.content, read.status) == (answer["text"], "success")
    assert read.artifact["body"] == answer["data"]["body"]
    for refused in (missing, wrong):
        assert refused.status == "error"
        assert str(refused.content).startswith("Error")
    assert "not found" in str(missing.content)
    newest = memory.newest_proposal()
    assert proposed.artifact["proposal_id"] == newest["proposal_id"]
    assert line["content"] in newest["result"]
    assert newest["session_id"] == "chat-9"
    assert found.status == "success"  # whose memory it is, the model does not say


@pytest.mark.parametrize("is_async", [False, True], ids=["invoke", "ainvoke"])
def test_a_call_that_is_run_again_makes_one_proposal(client: Assent, is_async: bool) -> None:
    (tool,) = memory_tools(client, user="alice", names=["propose_memory_append"])
    call = {"name": tool.name, "args": append(), "id": f"call_{uuid.uuid4().hex}", "type": "tool_call"}
    other = call | {"args": append()}  # a model that numbers its calls anew
    first, again, new = (
        (asyncio.run(tool.ainvoke(each)) if is_async else tool.invoke(each)).artifact["proposal_id"]
        for each in (call, call, other)
    )
    assert first == again
    assert new != first


def test_each_tool_is_described_as_the_server_describes_it(client: Assent) -> None:
    made = {tool.name: tool for tool in memory_tools(client, user="alice")}
    for described in client.tools.list().data["tools"]:
        tool = made.pop(described["name"])
        # The adapter makes the key of the framework's id of the call.
        described["parameters"]["properties"].pop("idempotency_key", None)
        assert (tool.description, tool.args_schema) == (described["description"], described["parameters"])
    assert not made


def test_a_server_that_went_away_is_an_error_and_not_an_exception(client: Assent) -> None:
    tools = memory_tools(client, user="alice", names=["read_memory_block"])
    client.core = Assent("http://127.0.0.1:1", "asn_x", max_retries=0).core
    (found,) = ran(tools, ("read_memory_block", {"block_label": "goals"}), is_async=False)
    assert (found.status, found.content) == (
        "error",
        "Error: the memory cannot be reached at the moment. Try again shortly.",
    )


def test_the_same_over_an_async_client(memory: RunningServer) -> None:
    async def asked() -> list[str]:
        async with AsyncAssent(memory.url, memory.token) as client:
            tools = await amemory_tools(client, user="alice", names=["read_memory_block"])
            agent = create_agent(scripted(("read_memory_block", {"block_label": "goals"})), tools)
            done = await agent.ainvoke({"messages": [("user", "hello")]})
            return [str(each.content) for each in done["messages"] if isinstance(each, ToolMessage)]

    assert asyncio.run(asked()) == [memory.call("read_memory_block", block_label="goals")["text"]]


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The model it names is the one thing replaced: it needs a key."""
    model = scripted(("read_memory_block", {"block_label": "goals"}))
    monkeypatch.setattr("langchain.agents.factory.init_chat_model", lambda name: model)
    exec(compile(snippet("langchain"), "langchain", "exec"), {"__name__": "example"})
    assert [each.content for each in model.seen if each.type == "tool"] == [
        memory.call("read_memory_block", block_label="goals")["text"]
    ]
    assert capsys.readouterr().out == "done\n"
