"""The ways in, in the order of the page: terminal, coding agents over MCP, libraries."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from agent_tools.snippets import config, python


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


def ways(address: str, token: str) -> tuple[Way, ...]:
    """Return every way in.

    Args:
        address: of the installation, such as `https://memory.example`, without a slash at the end.
        token: the secret, or what stands for it.
    """
    return (*_terminal(address, token), *_coding_agents(address), *_libraries())


def _terminal(address: str, token: str) -> tuple[Way, ...]:
    call = (
        f"curl -s {shlex.quote(f'{address}/api/v1/tools/list_memory_blocks/')}",
        f'-H "Authorization: Bearer {token}"',
        '-H "Content-Type: application/json"',
        "--data-raw '{}'",
    )
    environment = f"export MEMORY_URL={shlex.quote(address)}\nexport MEMORY_TOKEN={shlex.quote(token)}"
    command = 'memory add "She prefers worked examples." --type pattern\nmemory search "how does she like to learn"'
    return (
        Way(
            "curl",
            "curl",
            "One call from a terminal shows that the token works.",
            (Snippet("curl", "In a terminal", "sh", " \\\n  ".join(call)),),
            needs_environment=False,
        ),
        Way(
            "environment",
            "Environment",
            "Set these two where the agent runs. The memory command and the snippets of the other ways read them, so "
            "that the token is in no file.",
            (
                Snippet("environment", "In a terminal, or in the agent’s environment", "sh", environment),
                Snippet("command", "Then the memory command works", "sh", command),
            ),
            needs_environment=False,
        ),
    )


def _coding_agents(address: str) -> tuple[Way, ...]:
    mcp = f"{address}/mcp"
    return (
        Way(
            "claude-code",
            "Claude Code",
            "Either of the two: the command writes the file.",
            (
                Snippet("claude-code-command", "In the project’s folder", "sh", config.claude_code_command(mcp)),
                Snippet("claude-code-file", ".mcp.json", "json", config.claude_code_file(mcp)),
            ),
        ),
        Way(
            "cursor",
            "Cursor",
            "For one project, or for all of them in your home folder.",
            (Snippet("cursor", ".cursor/mcp.json", "json", config.cursor_file(mcp)),),
        ),
        Way(
            "codex",
            "Codex",
            "Codex reads the token from the environment itself.",
            (Snippet("codex", "~/.codex/config.toml", "toml", config.codex_file(mcp)),),
        ),
    )


def _libraries() -> tuple[Way, ...]:
    return tuple(
        Way(
            library.key,
            library.title,
            library.about,
            (
                Snippet(f"{library.key}-install", "In a copy of Assent’s source", "sh", library.install),
                Snippet(library.key, "Python", "python", library.code),
            ),
        )
        for library in python.LIBRARIES
    )
