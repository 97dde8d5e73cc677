"""`MemoryBlockTools` against a real server: its tools awaited as they are, and run by Agno's agent."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from agno.agent import Agent

from assent_client import Assent, AsyncAssent, adapters
from assent_client.adapters.agno import MemoryBlockTools, strip_agno_fields
from tests.integrations.agno_mcp.test_mcp import Scripted
from tests.integrations.conftest import ROOT, RunningServer, snippet


class Recording(Scripted):
    """Keeps what a model's provider is sent of the tools."""

    sent: Any = None

    def invoke(self, messages: list[Any], *args: Any, **more: Any) -> Any:
        self.sent = more.get("tools")
        return super().invoke(messages)

    async def ainvoke(self, messages: list[Any], *args: Any, **more: Any) -> Any:
        self.sent = more.get("tools")
        return self._next(messages)


@pytest.fixture
def client(memory: RunningServer) -> Iterator[Assent]:
    with Assent(memory.url, memory.token, max_retries=0) as made:
        yield made


@pytest.fixture
def tools(client: Assent) -> MemoryBlockTools:
    return MemoryBlockTools(client, user_id="alice", agent_id="test-agent")


def called(tools: MemoryBlockTools, name: str, **arguments: Any) -> str:
    text = asyncio.run(getattr(tools, name)(**arguments))
    assert isinstance(text, str)
    return text


class TestListMemoryBlocks:
    def test_list_blocks_returns_formatted_list(self, tools: MemoryBlockTools) -> None:
        result = called(tools, "list_memory_blocks")
        assert result.startswith("Available memory blocks:\n\n- ")
        assert "profile: Learner profile" in result
        assert "goals: Learning goals" in result

    def test_list_blocks_empty(self, memory: RunningServer) -> None:
        with Assent(memory.url, os.environ["MEMORY_TOKEN_OF_ADMIN"]) as client:
            result = called(MemoryBlockTools(client, user_id="admin"), "list_memory_blocks")
        assert "No memory blocks exist" in result


class TestReadMemoryBlock:
    def test_read_block_returns_content(self, tools: MemoryBlockTools) -> None:
        result = called(tools, "read_memory_block", block_label="goals")
        assert "# Learning goals" in result
        assert "Pass Stochastik" in result

    def test_read_block_not_found(self, tools: MemoryBlockTools) -> None:
        assert "not found" in called(tools, "read_memory_block", block_label="nonexistent")


class TestProposeMemoryEdit:
    def test_propose_edit_success(self, tools: MemoryBlockTools, memory: RunningServer) -> None:
        edit = memory.an_edit()
        result = called(tools, "propose_memory_edit", **edit)
        assert "proposal created" in result.lower()
        assert "The user will be asked to approve this change." in result
        assert edit["new_string"] in memory.newest_proposal()["result"]

    def test_propose_edit_old_string_not_found(self, tools: MemoryBlockTools, memory: RunningServer) -> None:
        result = called(tools, "propose_memory_edit", **memory.an_edit() | {"old_string": "not in content"})
        assert "not found" in result.lower()
        assert "read the block first" in result.lower()

    def test_propose_edit_non_unique_fails(self, tools: MemoryBlockTools, memory: RunningServer) -> None:
        count = memory.call("read_memory_block", block_label="goals")["data"]["body"].count("Stochastik")
        assert count > 1
        result = called(tools, "propose_memory_edit", **memory.an_edit() | {"old_string": "Stochastik"})
        assert f"appears {count} times" in result
        assert "replace_all" in result.lower()

    def test_propose_edit_replace_all(self, tools: MemoryBlockTools, memory: RunningServer) -> None:
        new = f"Probability {uuid.uuid4().hex[:8]}"
        edit = memory.an_edit() | {"old_string": "Stochastik", "new_string": new, "replace_all": True}
        result = called(tools, "propose_memory_edit", **edit)
        assert "proposal created" in result.lower()
        new_body = memory.newest_proposal()["result"]
        assert new_body.count(new) > 1
        assert "Stochastik" not in new_body

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            ({"old_string": "same", "new_string": "same"}, "must be different"),
            ({"old_string": ""}, "cannot be empty"),
            ({"reasoning": ""}, "reasoning is required"),
            ({"block_label": "nonexistent"}, "not found"),
        ],
    )
    def test_propose_edit_that_does_not_fit_fails(
        self, tools: MemoryBlockTools, memory: RunningServer, change: dict[str, str], said: str
    ) -> None:
        assert said in called(tools, "propose_memory_edit", **memory.an_edit() | change).lower()


def answered(tools: MemoryBlockTools, *calls: tuple[str, dict[str, Any]], is_async: bool, **run: Any) -> Recording:
    model = Recording(calls=list(calls))
    agent = Agent(model=model, tools=[tools], telemetry=False)
    done = asyncio.run(agent.arun("hello", **run)) if is_async else agent.run("hello", **run)
    assert done.content == "done"
    return model


@pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])
def test_an_agent_reads_our_text_and_its_proposal_waits(
    tools: MemoryBlockTools, memory: RunningServer, is_async: bool
) -> None:
    assert tools.name == "memory_block_tools"
    edit = memory.an_edit()
    model = answered(
        tools,
        ("list_memory_blocks", {}),
        ("read_memory_block", {"block_label": "goals"}),
        ("propose_memory_edit", edit | {"old_string": "not there"}),
        ("propose_memory_edit", edit),
        is_async=is_async,
    )
    listed, read, refused, proposed = model.texts
    assert "- goals: Learning goals" in listed
    assert read == memory.call("read_memory_block", block_label="goals")["text"]
    assert refused.startswith("Error: old_string not found in block 'goals'.")
    assert proposed.startswith("Edit proposal created for block 'goals'.")
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]


@pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])
def test_the_run_says_whose_memory_and_which_conversation(
    client: Assent, memory: RunningServer, is_async: bool
) -> None:
    tools = MemoryBlockTools(client)
    session = f"chat-{uuid.uuid4().hex[:8]}"
    answered(tools, ("propose_memory_edit", memory.an_edit()), is_async=is_async, user_id="alice", session_id=session)
    assert memory.newest_proposal()["session_id"] == session
    (refused,) = answered(
        tools, ("read_memory_block", {"block_label": "goals"}), is_async=is_async, user_id="ben"
    ).texts
    assert refused.startswith("Error")
    (bound,) = answered(
        MemoryBlockTools(client, "alice"), ("list_memory_blocks", {}), is_async=is_async, user_id="ben"
    ).texts
    assert "- goals" in bound


@pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])
def test_the_models_provider_is_sent_nothing_that_only_agno_reads(client: Assent, is_async: bool) -> None:
    tools = strip_agno_fields(MemoryBlockTools(client, "alice", more_tools=["memory_search"]))
    model = answered(tools, ("list_memory_blocks", {}), is_async=is_async)
    sent = {each["function"]["name"]: each for each in model.sent}
    assert set(sent) == {"list_memory_blocks", "read_memory_block", "propose_memory_edit", "memory_search"}
    for each in sent.values():
        assert set(each) == {"type", "function"}
        assert set(each["function"]) == {"name", "description", "parameters"}
        assert "run_context" not in json.dumps(each)
    edit = sent["propose_memory_edit"]["function"]["parameters"]
    assert set(edit["properties"]) == {"block_label", "old_string", "new_string", "reasoning", "replace_all"}


@pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])
def test_further_tools_are_those_of_the_server(client: Assent, memory: RunningServer, is_async: bool) -> None:
    tools = MemoryBlockTools(client, "alice", more_tools=["memory_search", "propose_memory_append"])
    text = f"A line {uuid.uuid4().hex[:8]}."
    append = {"block_label": "goals", "content": text, "reasoning": "r"}
    model = answered(
        tools,
        ("memory_search", {"query": "exam", "user_id": "ben"}),
        ("propose_memory_append", append),
        ("propose_memory_append", {"content": 7}),
        is_async=is_async,
    )
    found, proposed, refused = model.texts
    assert not found.startswith("Error")  # whose memory it is, the model does not say
    assert "proposal" in proposed.lower()
    assert text in memory.newest_proposal()["result"]
    assert refused.startswith("Error")
    with pytest.raises(ValueError, match="This token may use no fly_away"):
        MemoryBlockTools(client, "alice", more_tools=["fly_away"])


@pytest.mark.parametrize("is_async", [False, True], ids=["run", "arun"])
def test_wrong_arguments_end_no_run(tools: MemoryBlockTools, memory: RunningServer, is_async: bool) -> None:
    before = memory.newest_proposal()["proposal_id"]
    model = answered(
        tools,
        ("read_memory_block", {}),
        ("read_memory_block", {"block_label": 7}),
        ("read_memory_block", {"block_label": "goals", "run_context": "mine"}),
        ("propose_memory_edit", {"block_label": "goals"}),
        ("propose_memory_edit", memory.an_edit() | {"replace_all": "perhaps"}),
        is_async=is_async,
    )
    assert len(model.texts) == 5
    assert all(model.texts)
    assert memory.newest_proposal()["proposal_id"] == before


def test_a_server_that_is_away_is_a_text() -> None:
    tools = MemoryBlockTools(Assent("http://127.0.0.1:1", "asn_x", max_retries=0), "alice")
    for name, arguments, said in (
        ("list_memory_blocks", {}, "Error listing memory blocks: the memory cannot be reached"),
        ("read_memory_block", {"block_label": "goals"}, "Error reading memory block: the memory cannot be reached"),
        (
            "propose_memory_edit",
            {"block_label": "g", "old_string": "a", "new_string": "b", "reasoning": "r"},
            "Error creating edit proposal: the memory cannot be reached",
        ),
    ):
        assert called(tools, name, **arguments).startswith(said)
        for is_async in (False, True):
            (text,) = answered(tools, (name, arguments), is_async=is_async).texts
            assert text.startswith(said)


def test_an_async_client_serves_arun(memory: RunningServer) -> None:
    async def asked() -> list[str]:
        async with AsyncAssent(memory.url, memory.token) as client:
            model = Recording(calls=[("read_memory_block", {"block_label": "goals"})])
            await Agent(model=model, tools=[MemoryBlockTools(client, "alice")], telemetry=False).arun("hello")
            return model.texts

    assert asyncio.run(asked()) == [memory.call("read_memory_block", block_label="goals")["text"]]
    with pytest.raises(TypeError, match="needs an Assent or an AsyncAssent, not str"):
        MemoryBlockTools("http://127.0.0.1:8000")  # type: ignore[arg-type]


def test_the_class_can_be_imported_from_the_package_too() -> None:
    assert adapters.MemoryBlockTools is MemoryBlockTools


def test_agnos_own_options_work(client: Assent) -> None:
    tools = MemoryBlockTools(client, "alice", include_tools=["read_memory_block"], instructions="Read first.")
    assert list(tools.functions) == list(tools.async_functions) == ["read_memory_block"]
    assert tools.instructions == "Read first."


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agno's own default is the one thing replaced: it needs a key."""
    model = Streamed(calls=[("read_memory_block", {"block_label": "goals"})])
    monkeypatch.setattr("agno.agent._init.set_default_model", lambda agent: setattr(agent, "model", model))
    exec(compile(snippet("agno"), "agno", "exec"), {"__name__": "example"})
    assert model.texts == [memory.call("read_memory_block", block_label="goals")["text"]]
    assert "done" in capsys.readouterr().out


class Streamed(Recording):
    """`print_response` streams."""

    def invoke_stream(self, messages: list[Any], *args: Any, **more: Any) -> Iterator[Any]:
        yield self._next(messages)


def test_the_example_agent_runs_as_written_without_a_key(memory: RunningServer) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    said = f"My exam is in room {uuid.uuid4().hex[:6]}."
    command = [sys.executable, str(ROOT / "examples" / "agno_agent.py"), said]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Edit proposal created for block 'goals'." in done.stdout
    assert said in memory.newest_proposal()["result"]
