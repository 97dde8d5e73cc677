"""The official client of the protocol, in both eras: over HTTP and through the stdio bridge."""

import asyncio
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from tests.integrations.conftest import ROOT, RunningServer

#: By an earlier handshake, and as a client chooses by itself, which finds the version without one.
VERSIONS = {"legacy": "2025-11-25", "auto": "2026-07-28"}
Run = Callable[[Callable[[Client], Awaitable[None]]], None]


@pytest.fixture(params=VERSIONS)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def over_http(memory: RunningServer, mode: str, query: str = "") -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=memory.headers, timeout=30) as http,
        Client(streamable_http_client(f"{memory.mcp}{query}", http_client=http), mode=mode) as client,
    ):
        yield client


@asynccontextmanager
async def through_the_bridge(memory: RunningServer, mode: str, *options: str) -> AsyncIterator[Client]:
    # Nothing is inherited but HOME, PATH and the like.
    env = {"MEMORY_URL": memory.url, "MEMORY_TOKEN": memory.token, "PYTHONPATH": str(ROOT / "clients" / "python")}
    command = StdioServerParameters(command=sys.executable, args=["-m", "assent_client.cli", "mcp", *options], env=env)
    async with Client(command, mode=mode) as client:
        yield client


def run_with(connected: Any, work: Callable[[Client], Awaitable[None]]) -> None:
    async def all_of_it() -> None:
        async with connected as client:
            await work(client)

    asyncio.run(all_of_it())


@pytest.fixture(params=[over_http, through_the_bridge], ids=["http", "stdio"])
def way(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def run(way: Any, memory: RunningServer, mode: str) -> Run:
    return lambda work: run_with(way(memory, mode), work)


def test_it_begins_in_the_version_it_wants_and_finds_what_there_is(memory: RunningServer, mode: str, run: Run) -> None:
    async def work(client: Client) -> None:
        assert client.protocol_version == VERSIONS[mode]
        assert client.server_info.name == "assent"
        assert "a person decides" in (client.instructions or "")
        hints = {tool.name: tool.annotations for tool in (await client.list_tools()).tools}
        assert hints["read_memory_block"].read_only_hint
        assert hints["withdraw_proposal"].idempotent_hint
        uris = {str(each.uri) for each in (await client.list_resources()).resources}
        assert "memory://alice/blocks/goals" in uris
        read = await client.read_resource("memory://alice/blocks/goals")
        assert read.contents[0].text == memory.call("read_memory_block", block_label="goals")["data"]["body"]
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.name for each in templates} == {"block", "note"}
        prompts = {each.name for each in (await client.list_prompts()).prompts}
        assert prompts == {"memory_skill", "review_my_proposals"}
        skill = await client.get_prompt("memory_skill")
        assert "propose_memory_edit" in skill.messages[0].content.text

    run(work)


def test_tools_are_called_one_by_one_and_at_once(memory: RunningServer, run: Run) -> None:
    async def work(client: Client) -> None:
        found = await client.call_tool("read_memory_block", {"block_label": "goals"})
        assert found.content[0].text == memory.text_of_goals()
        assert found.structured_content is None
        made = await client.call_tool("propose_memory_edit", memory.an_edit())
        assert made.content[0].text.startswith("Edit proposal created for block 'goals'.")
        assert made.meta is None or "assent/data" not in made.meta
        assert memory.newest_proposal()["status"] == "open"
        calls = [client.call_tool("memory_search", {"query": f"exam {number}"}) for number in range(12)]
        assert not [each for each in await asyncio.gather(*calls) if each.is_error]

    run(work)


def test_refusals_are_results_and_mistakes_of_the_protocol_errors(run: Run) -> None:
    async def work(client: Client) -> None:
        refused = await client.call_tool("read_memory_block", {"block_label": 7})
        assert refused.is_error
        assert "block_label must be a string" in refused.content[0].text
        with pytest.raises(MCPError, match="Did you mean read_memory_block"):
            await client.call_tool("read_memory_blokc", {})
        with pytest.raises(MCPError, match="Resource not found"):
            await client.read_resource("memory://alice/blocks/nothing")
        with pytest.raises(MCPError, match="no such prompt"):
            await client.get_prompt("größe")

    run(work)


def test_an_address_and_an_option_choose_the_tools_and_structured_results(memory: RunningServer, mode: str) -> None:
    async def chosen(client: Client) -> None:
        names = {tool.name for tool in (await client.list_tools()).tools}
        assert names == {"list_memory_blocks", "read_memory_block"}

    async def structured(client: Client) -> None:
        found = await client.call_tool("read_memory_block", {"block_label": "goals"})
        assert found.structured_content["text"] == found.content[0].text

    run_with(over_http(memory, mode, "?readonly=1&toolset=blocks"), chosen)
    run_with(through_the_bridge(memory, mode, "--read-only", "--toolset", "blocks"), chosen)
    run_with(over_http(memory, mode, "?structured=1"), structured)


def test_a_wrong_token_is_told_in_words(memory: RunningServer, way: Any, mode: str) -> None:
    async def work(client: Client) -> None:
        await client.list_tools()

    with pytest.raises(BaseExceptionGroup) as caught:
        run_with(way(RunningServer(memory.url, "asn_wrong"), mode), work)
    assert "token" in str(flat(caught.value))


def flat(error: BaseException) -> list[str]:
    """The messages in a group of exceptions."""
    if isinstance(error, BaseExceptionGroup):
        return [message for each in error.exceptions for message in flat(each)]
    return [str(error)]
