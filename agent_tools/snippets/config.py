"""What agents that know MCP are told. None of these texts has the token: they name the variable it is in."""

from __future__ import annotations

import json
import shlex


def claude_code_command(mcp: str) -> str:
    """Return the command that adds the server to a project.

    In single quotes: the shell leaves the variable as it is, and Claude Code reads it when it starts.
    """
    header = shlex.quote("Authorization: Bearer ${MEMORY_TOKEN}")
    return f"claude mcp add --transport http --scope project assent {shlex.quote(mcp)} \\\n  --header {header}"


def claude_code_file(mcp: str) -> str:
    """Return `.mcp.json`."""
    headers = {"Authorization": "Bearer ${MEMORY_TOKEN}"}
    return _json({"mcpServers": {"assent": {"type": "http", "url": mcp, "headers": headers}}})


def cursor_file(mcp: str) -> str:
    """Return `.cursor/mcp.json`."""
    return _json({"mcpServers": {"assent": {"url": mcp, "headers": {"Authorization": "Bearer ${env:MEMORY_TOKEN}"}}}})


def codex_file(mcp: str) -> str:
    """Return what goes into `~/.codex/config.toml`."""
    # A JSON string is a TOML string.
    return f'[mcp_servers.assent]\nurl = {json.dumps(mcp)}\nbearer_token_env_var = "MEMORY_TOKEN"'


def _json(value: object) -> str:
    return json.dumps(value, indent=2)
