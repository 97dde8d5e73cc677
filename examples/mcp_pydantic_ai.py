"""Pydantic AI, with the memory as an MCP server: address and token are in MEMORY_URL and MEMORY_TOKEN."""

from __future__ import annotations

import os

from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset


async def ask(question: str, model: object = "openai:gpt-5") -> str:
    memory = MCPToolset(
        f"{os.environ['MEMORY_URL']}/mcp",
        headers={"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"},
        read_timeout=30,
        max_retries=5,
    )
    agent = Agent(model, toolsets=[memory], instructions="Read the memory before you answer.")
    async with agent:
        return (await agent.run(question)).output
