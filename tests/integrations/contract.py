"""What each adapter does that gives a framework the server's tools.

A framework's `test_adapter.py` has a class of tests below this one, and the fixtures they ask for:

    adapter    the adapter's module
    running    `await running(tools, *calls)`: what the framework's agent shows a model that makes these calls
    ran        the same without awaiting, in each of the framework's ways
    invoked    `invoked(tool, arguments, call_id)`: what one call answers
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from typing import Any

from assent_client import Assent, AsyncAssent
from tests.integrations.conftest import READ_GOALS, RunningServer, an_append

Running = Callable[..., Awaitable[list[str]]]
Ran = Callable[..., list[str]]
APPEND = "propose_memory_append"


class ToolsContract:
    def test_the_model_reads_our_text_and_its_proposal_waits(
        self, client: Assent, memory: RunningServer, adapter: Any, ran: Ran
    ) -> None:
        line = an_append()
        read, missing, wrong, proposed, found = ran(
            adapter.memory_tools(client, user="alice", session_id="chat-9"),
            READ_GOALS,
            (APPEND, line | {"block_label": "nonexistent"}),
            (APPEND, {"content": 7, "nobody_knows": 1}),
            (APPEND, line),
            ("memory_search", {"query": "exam", "user_id": "ben"}),
        )
        assert read == memory.text_of_goals()
        assert missing.startswith("Error")
        assert "not found" in missing
        assert wrong.startswith("Error")
        assert "proposal" in proposed.lower()
        assert not found.startswith("Error"), "whose memory it is, the model does not say"
        newest = memory.newest_proposal()
        assert line["content"] in newest["result"]
        assert newest["session_id"] == "chat-9"

    def test_each_tool_is_described_as_the_server_describes_it(self, client: Assent, adapter: Any) -> None:
        made = {tool.name: tool for tool in adapter.memory_tools(client, user="alice")}
        for described in client.tools.list().data["tools"]:
            tool = made.pop(described["name"])
            schema = tool.args_schema if hasattr(tool, "args_schema") else tool.params_json_schema
            assert (tool.description, schema) == (described["description"], described["parameters"])
            assert not getattr(tool, "strict_json_schema", False)
        assert not made

    def test_a_call_that_is_run_again_makes_one_proposal(
        self, client: Assent, memory: RunningServer, adapter: Any, invoked: Callable[..., str]
    ) -> None:
        (tool,) = adapter.memory_tools(client, user="alice", names=[APPEND])
        line, call_id = an_append(), f"call_{uuid.uuid4().hex}"
        first = invoked(tool, line, call_id)
        number = memory.newest_proposal()["proposal_id"]
        assert invoked(tool, line, call_id) == first
        assert memory.newest_proposal()["proposal_id"] == number
        # A model that numbers its calls anew: another call under the same id.
        assert "proposal" in invoked(tool, an_append(), call_id).lower()
        assert memory.newest_proposal()["proposal_id"] != number

    def test_a_server_that_went_away_is_a_text(self, client: Assent, adapter: Any, ran: Ran) -> None:
        tools = adapter.memory_tools(client, user="alice", names=["read_memory_block"])
        client.core = Assent("http://127.0.0.1:1", "asn_x", max_retries=0).core
        assert ran(tools, READ_GOALS) == ["Error: the memory cannot be reached at the moment. Try again shortly."]

    def test_the_same_over_an_async_client(self, memory: RunningServer, adapter: Any, running: Running) -> None:
        async def asked() -> list[str]:
            async with AsyncAssent(memory.url, memory.token) as client:
                tools = await adapter.amemory_tools(client, user="alice", names=["read_memory_block", APPEND])
                return await running(tools, READ_GOALS, (APPEND, an_append()))

        read, proposed = asyncio.run(asked())
        assert read == memory.text_of_goals()
        assert "proposal" in proposed.lower()
