"""What programs in Python need: the client, and the adapters of frameworks that come with it as extras.

None of these texts has the address or the token: the client reads MEMORY_URL and MEMORY_TOKEN.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Library:
    """Args:
    key: of its way in, and of its snippet.
    """

    key: str
    title: str
    about: str
    install: str
    code: str


_CLIENT = """\
from assent_client import Assent

with Assent() as memory:
    print(memory.blocks.list().text)
"""

_AGNO = """\
from agno.agent import Agent
from assent_client import Assent
from assent_client.adapters.agno import MemoryBlockTools

agent = Agent(tools=[MemoryBlockTools(Assent())])
agent.print_response("What do you know about me?")
"""

_ANTHROPIC = """\
from anthropic import Anthropic
from assent_client import Assent
from assent_client.adapters.anthropic import AssentMemoryTool

runner = Anthropic().beta.messages.tool_runner(
    model="claude-sonnet-4-5",
    max_tokens=2_000,
    messages=[{"role": "user", "content": "What do you know about me?"}],
    tools=[AssentMemoryTool(Assent())],
)
print(runner.until_done())
"""

_OPENAI_AGENTS = """\
from agents import Agent, Runner
from assent_client import Assent
from assent_client.adapters.openai_agents import memory_tools

agent = Agent(name="planner", tools=memory_tools(Assent()))
print(Runner.run_sync(agent, "What do you know about me?").final_output)
"""

_LANGCHAIN = """\
from assent_client import Assent
from assent_client.adapters.langchain import memory_tools
from langchain.agents import create_agent

agent = create_agent("openai:gpt-5", tools=memory_tools(Assent()))
print(agent.invoke({"messages": [("user", "What do you know about me?")]})["messages"][-1].content)
"""

LIBRARIES = (
    Library(
        "python",
        "Python",
        "The client for programs of your own.",
        "pip install ./clients/python",
        _CLIENT.rstrip(),
    ),
    Library(
        "agno",
        "Agno",
        "A toolkit that reads blocks and proposes changes.",
        "pip install './clients/python[agno]' openai",
        _AGNO.rstrip(),
    ),
    Library(
        "anthropic",
        "Anthropic memory tool",
        "Claude’s own memory tool; what it writes becomes proposals.",
        "pip install './clients/python[anthropic]'",
        _ANTHROPIC.rstrip(),
    ),
    Library(
        "openai-agents",
        "OpenAI Agents",
        "Every tool the token may use, for the Agents SDK.",
        "pip install './clients/python[openai-agents]'",
        _OPENAI_AGENTS.rstrip(),
    ),
    Library(
        "langchain",
        "LangChain",
        "Every tool the token may use, as LangChain tools.",
        "pip install './clients/python[langchain]' langchain langchain-openai",
        _LANGCHAIN.rstrip(),
    ),
)
