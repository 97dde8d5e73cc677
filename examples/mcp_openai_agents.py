"""OpenAI Agents SDK, with the memory as an MCP server: address and token are in MEMORY_URL and MEMORY_TOKEN."""

from __future__ import annotations

import os

from agents import Agent, Runner
from agents.mcp import MCPServerStreamableHttp


async def ask(question: str, model: object = "gpt-5") -> str:
    params = {
        "url": f"{os.environ['MEMORY_URL']}/mcp",
        "headers": {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"},
        "timeout": 30,
    }
    async with MCPServerStreamableHttp(params, cache_tools_list=True, client_session_timeout_seconds=30) as memory:
        agent = Agent(
            name="Tutor", instructions="Read the memory before you answer.", mcp_servers=[memory], model=model
        )
        return (await Runner.run(agent, question)).final_output
