"""Agno, with the memory as an MCP server: address and token are in MEMORY_URL and MEMORY_TOKEN."""

from __future__ import annotations

import os

from agno.agent import Agent
from agno.tools.mcp import MCPTools


async def ask(question: str, model: object) -> str:
    headers = {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"}
    url = f"{os.environ['MEMORY_URL']}/mcp"
    async with MCPTools(url=url, transport="streamable-http", headers=headers, timeout_seconds=30) as memory:
        agent = Agent(model=model, tools=[memory], instructions="Read the memory before you answer.", telemetry=False)
        return (await agent.arun(question)).content
