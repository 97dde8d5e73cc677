"""The official client without a socket: against the view itself, on the databases of this test process."""

import asyncio
from typing import Any

import django.test
import httpx2
import pytest
from asgiref.sync import sync_to_async
from django.db import connections
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from approvals.models import Proposal
from memory_app.reads import Block


async def view(request: httpx2.Request) -> httpx2.Response:
    """The answer of the application to a request of the client."""
    return await sync_to_async(answered)(request)


def answered(request: httpx2.Request) -> httpx2.Response:
    headers = {name: value for name, value in request.headers.items() if name not in ("content-type", "content-length")}
    media_type = request.headers.get("content-type", "")
    try:
        response = django.test.Client().generic(
            request.method, request.url.path, request.content, content_type=media_type, headers=headers
        )
    finally:
        connections.close_all()  # of this thread, before the databases are made anew
    return httpx2.Response(response.status_code, headers=dict(response.items()), content=response.content)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_an_agent_reads_proposes_and_sees_what_came_of_it(token: str, goals: Block, mode: str) -> None:
    async def talk() -> Any:
        transport = httpx2.MockTransport(view)
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(transport=transport, headers=headers) as http,
            Client(streamable_http_client("http://testserver/mcp", http_client=http), mode=mode) as client,
        ):
            read = await client.call_tool("read_memory_block", {"block_label": "goals"})
            assert "one book a month" in read.content[0].text
            edit = {"block_label": "goals", "old_string": "one book", "new_string": "two books", "reasoning": "r"}
            await client.call_tool("propose_memory_edit", edit)
            return (await client.get_prompt("review_my_proposals")).messages[0].content.text

    assert "nothing to do" in asyncio.run(talk())
    assert Proposal.objects.get().status == "open"
