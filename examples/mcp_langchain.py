"""LangChain, with the memory as an MCP server: address and token are in MEMORY_URL and MEMORY_TOKEN."""

from __future__ import annotations

import os

from langchain.agents import create_agent
from langchain_mcp_adapters.client import MultiServerMCPClient


async def ask(question: str, model: object) -> str:
    server = {
        "transport": "streamable_http",
        "url": f"{os.environ['MEMORY_URL']}/mcp",
        "headers": {"Authorization": f"Bearer {os.environ['MEMORY_TOKEN']}"},
    }
    memory = MultiServerMCPClient({"assent": server})
    agent = create_agent(model, await memory.get_tools(), system_prompt="Read the memory before you answer.")
    answer = await agent.ainvoke({"messages": [("user", question)]})
    return answer["messages"][-1].text
