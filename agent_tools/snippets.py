"""How to connect: for each way in, what to type or save, filled in with an address and a token.

Pure functions of the two, without Django: pages, documents and tests use the same ones. Snippets of coding agents have
no token but name the variable it is in. Those of libraries have neither: the client reads MEMORY_URL and MEMORY_TOKEN.
"""

import json
import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Snippet:
    """One text to copy.

    Args:
        key: unique among all snippets; in ids of the page and names of tests.
        title: what to do with it, or the file it goes into.
        language: sh, json, toml or python.
    """

    key: str
    title: str
    language: str
    text: str


@dataclass(frozen=True)
class Way:
    """One way in.

    Args:
        needs_environment: whether its snippets take address and token from MEMORY_URL and MEMORY_TOKEN.
    """

    key: str
    title: str
    about: str
    snippets: tuple[Snippet, ...]
    needs_environment: bool = True


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


def _library(key: str, title: str, about: str, code: str, *beside: str) -> Way:
    """Return what programs in Python need: the client, or an adapter of a framework that comes with it as an extra.

    Args:
        beside: other packages that the snippet needs.
    """
    client = "./clients/python" if key == "python" else f"'./clients/python[{key}]'"
    install = " ".join(["pip install", client, *beside])
    installed = Snippet(f"{key}-install", "In a copy of Assent’s source", "sh", install)
    return Way(key, title, about, (installed, Snippet(key, "Python", "python", code.rstrip())))


LIBRARIES = (
    _library("python", "Python", "The client for programs of your own.", _CLIENT),
    _library("agno", "Agno", "A toolkit that reads blocks and proposes changes.", _AGNO, "openai"),
    _library(
        "anthropic", "Anthropic memory tool", "Claude’s own memory tool; what it writes becomes proposals.", _ANTHROPIC
    ),
    _library("openai-agents", "OpenAI Agents", "Every tool the token may use, for the Agents SDK.", _OPENAI_AGENTS),
    _library(
        "langchain",
        "LangChain",
        "Every tool the token may use, as LangChain tools.",
        _LANGCHAIN,
        "langchain",
        "langchain-openai",
    ),
)


def ways(address: str, token: str) -> tuple[Way, ...]:
    """Return every way in.

    Args:
        address: of the installation, such as `https://memory.example`, without a slash at the end.
        token: the secret, or what stands for it.
    """
    return (*_terminal(address, token), *_coding_agents(address), *LIBRARIES)


def _terminal(address: str, token: str) -> tuple[Way, ...]:
    call = (
        f"curl -s {shlex.quote(f'{address}/api/v1/tools/list_memory_blocks/')}",
        f'-H "Authorization: Bearer {token}"',
        '-H "Content-Type: application/json"',
        "--data-raw '{}'",
    )
    environment = f"export MEMORY_URL={shlex.quote(address)}\nexport MEMORY_TOKEN={shlex.quote(token)}"
    command = 'memory add "She prefers worked examples." --type pattern\nmemory search "how does she like to learn"'
    once = Snippet("curl", "In a terminal", "sh", " \\\n  ".join(call))
    variables = Snippet("environment", "In a terminal, or in the agent’s environment", "sh", environment)
    remembered = Snippet("command", "Then the memory command works", "sh", command)
    about = (
        "Set these two where the agent runs. The memory command and the snippets of the other ways read them, so that "
        "the token is in no file."
    )
    return (
        Way("curl", "curl", "One call from a terminal shows that the token works.", (once,), needs_environment=False),
        Way("environment", "Environment", about, (variables, remembered), needs_environment=False),
    )


def _coding_agents(address: str) -> tuple[Way, ...]:
    mcp = f"{address}/mcp"
    # In single quotes: the shell leaves the variable as it is, and Claude Code reads it when it starts.
    header = shlex.quote("Authorization: Bearer ${MEMORY_TOKEN}")
    add = f"claude mcp add --transport http --scope project assent {shlex.quote(mcp)} \\\n  --header {header}"
    # A JSON string is a TOML string.
    table = f'[mcp_servers.assent]\nurl = {json.dumps(mcp)}\nbearer_token_env_var = "MEMORY_TOKEN"'
    command = Snippet("claude-code-command", "In the project’s folder", "sh", add)
    file = Snippet("claude-code-file", ".mcp.json", "json", claude_code_file(mcp))
    cursor = Snippet("cursor", ".cursor/mcp.json", "json", _json_file(mcp, variable="${env:MEMORY_TOKEN}"))
    codex = Snippet("codex", "~/.codex/config.toml", "toml", table)
    return (
        Way("claude-code", "Claude Code", "Either of the two: the command writes the file.", (command, file)),
        Way("cursor", "Cursor", "For one project, or for all of them in your home folder.", (cursor,)),
        Way("codex", "Codex", "Codex reads the token from the environment itself.", (codex,)),
    )


def claude_code_file(mcp: str) -> str:
    """Return `.mcp.json`."""
    return _json_file(mcp, variable="${MEMORY_TOKEN}", type="http")


def _json_file(mcp: str, *, variable: str, **more: str) -> str:
    server = {**more, "url": mcp, "headers": {"Authorization": f"Bearer {variable}"}}
    return json.dumps({"mcpServers": {"assent": server}}, indent=2)
