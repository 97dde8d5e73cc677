"""`MemoryBlockTools` against a real server, run by Agno's agent. What each tool says is tested with the tools."""

import asyncio
import json
import os
import subprocess
import sys
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from agno.agent import Agent

from assent_client import Assent, AsyncAssent, adapters
from assent_client.adapters.agno import MemoryBlockTools, strip_agno_fields
from tests.integrations.agno_mcp.test_mcp import Scripted
from tests.integrations.conftest import READ_GOALS, ROOT, Call, RunningServer, an_append, run_snippet

LIST: Call = ("list_memory_blocks", {})
EDIT, APPEND, SEARCH = "propose_memory_edit", "propose_memory_append", "memory_search"
Answered = Callable[..., Scripted]


@pytest.fixture(params=[False, True], ids=["run", "arun"])
def answered(request: pytest.FixtureRequest) -> Answered:
    """`answered(tools, *calls, user_id=…)`: a model that made these calls, and was shown what they answered."""

    def answered(tools: MemoryBlockTools, *calls: Call, **run: Any) -> Scripted:
        model = Scripted(calls=list(calls))
        agent = Agent(model=model, tools=[tools], telemetry=False)
        done = asyncio.run(agent.arun("hello", **run)) if request.param else agent.run("hello", **run)
        assert done.content == "done"
        return model

    return answered


def test_an_agent_reads_our_text_and_its_proposal_waits(
    client: Assent, memory: RunningServer, answered: Answered
) -> None:
    tools = MemoryBlockTools(client, user_id="alice", agent_id="test-agent")
    assert tools.name == "memory_block_tools"
    edit, new = memory.an_edit(), f"Probability {uuid.uuid4().hex[:8]}"
    missing = edit | {"old_string": "not there"}
    everywhere = edit | {"old_string": "Stochastik", "new_string": new, "replace_all": True}
    model = answered(tools, LIST, READ_GOALS, (EDIT, missing), (EDIT, edit))
    listed, read, refused, proposed = model.texts
    assert "- goals: Learning goals" in listed
    assert read == memory.text_of_goals()
    assert refused.startswith("Error: old_string not found in block 'goals'.")
    assert proposed.startswith("Edit proposal created for block 'goals'.")
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]
    answered(tools, (EDIT, everywhere))
    result = memory.newest_proposal()["result"]
    assert result.count(new) > 1
    assert "Stochastik" not in result


def test_the_run_says_whose_memory_and_which_conversation(
    client: Assent, memory: RunningServer, answered: Answered
) -> None:
    tools = MemoryBlockTools(client)
    session = f"chat-{uuid.uuid4().hex[:8]}"
    answered(tools, (EDIT, memory.an_edit()), user_id="alice", session_id=session)
    assert memory.newest_proposal()["session_id"] == session
    (refused,) = answered(tools, READ_GOALS, user_id="ben").texts
    assert refused.startswith("Error")
    (bound,) = answered(MemoryBlockTools(client, "alice"), LIST, user_id="ben").texts
    assert "- goals" in bound


def test_the_models_provider_is_sent_nothing_that_only_agno_reads(client: Assent, answered: Answered) -> None:
    model = answered(strip_agno_fields(MemoryBlockTools(client, "alice", more_tools=[SEARCH])), LIST)
    sent = {each["function"]["name"]: each for each in model.sent}
    assert set(sent) == {"list_memory_blocks", "read_memory_block", EDIT, SEARCH}
    for each in sent.values():
        assert set(each) == {"type", "function"}
        assert set(each["function"]) == {"name", "description", "parameters"}
        assert "run_context" not in json.dumps(each)
    edit = sent[EDIT]["function"]["parameters"]
    assert set(edit["properties"]) == {"block_label", "old_string", "new_string", "reasoning", "replace_all"}


def test_further_tools_are_those_of_the_server(client: Assent, memory: RunningServer, answered: Answered) -> None:
    tools = MemoryBlockTools(client, "alice", more_tools=[SEARCH, APPEND])
    line = an_append()
    calls = (SEARCH, {"query": "exam", "user_id": "ben"}), (APPEND, line), (APPEND, {"content": 7})
    found, proposed, refused = answered(tools, *calls).texts
    assert not found.startswith("Error")  # whose memory it is, the model does not say
    assert "proposal" in proposed.lower()
    assert line["content"] in memory.newest_proposal()["result"]
    assert refused.startswith("Error")
    with pytest.raises(ValueError, match="This token may use no fly_away"):
        MemoryBlockTools(client, "alice", more_tools=["fly_away"])


def test_wrong_arguments_end_no_run(client: Assent, memory: RunningServer, answered: Answered) -> None:
    before = memory.newest_proposal()["proposal_id"]
    model = answered(
        MemoryBlockTools(client, "alice"),
        ("read_memory_block", {}),
        ("read_memory_block", {"block_label": 7}),
        ("read_memory_block", {"block_label": "goals", "run_context": "mine"}),
        (EDIT, {"block_label": "goals"}),
        (EDIT, memory.an_edit() | {"replace_all": "perhaps"}),
    )
    assert len(model.texts) == 5
    assert all(model.texts)
    assert memory.newest_proposal()["proposal_id"] == before


def test_a_server_that_is_away_is_a_text(answered: Answered) -> None:
    tools = MemoryBlockTools(Assent("http://127.0.0.1:1", "asn_x", max_retries=0), "alice")
    edit = {"block_label": "g", "old_string": "a", "new_string": "b", "reasoning": "r"}
    texts = answered(tools, LIST, READ_GOALS, (EDIT, edit)).texts
    assert [text.partition(": the memory cannot be reached")[0] for text in texts] == [
        "Error listing memory blocks",
        "Error reading memory block",
        "Error creating edit proposal",
    ]


def test_an_async_client_serves_arun(memory: RunningServer) -> None:
    async def asked() -> list[str]:
        async with AsyncAssent(memory.url, memory.token) as client:
            model = Scripted(calls=[READ_GOALS])
            await Agent(model=model, tools=[MemoryBlockTools(client, "alice")], telemetry=False).arun("hello")
            return model.texts

    assert asyncio.run(asked()) == [memory.text_of_goals()]


def test_the_class_is_a_toolkit_of_agnos_and_wants_a_client(client: Assent) -> None:
    assert adapters.MemoryBlockTools is MemoryBlockTools
    tools = MemoryBlockTools(client, "alice", include_tools=["read_memory_block"], instructions="Read first.")
    assert list(tools.functions) == list(tools.async_functions) == ["read_memory_block"]
    assert tools.instructions == "Read first."
    with pytest.raises(TypeError, match="needs an Assent or an AsyncAssent, not str"):
        MemoryBlockTools("http://127.0.0.1:8000")  # type: ignore[arg-type]


def test_the_quick_start_runs_as_written(
    memory: RunningServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agno's own default is the one thing replaced: it needs a key."""
    model = Scripted(calls=[READ_GOALS])
    monkeypatch.setattr("agno.agent._init.set_default_model", lambda agent: setattr(agent, "model", model))
    run_snippet("agno")
    assert model.texts == [memory.text_of_goals()]
    assert "done" in capsys.readouterr().out


def test_the_example_agent_runs_as_written_without_a_key(memory: RunningServer) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "OPENAI_API_KEY"}
    said = f"My exam is in room {uuid.uuid4().hex[:6]}."
    command = [sys.executable, str(ROOT / "examples" / "agno_agent.py"), said]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert "Edit proposal created for block 'goals'." in done.stdout
    assert said in memory.newest_proposal()["result"]
