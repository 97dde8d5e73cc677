"""What to type to connect: well-formed, with the address and the token where they belong, and nowhere else."""

import ast
import json
import shlex
import subprocess
import tomllib

import pytest

from agent_tools.snippets import Snippet, ways

pytestmark = pytest.mark.pure

ADDRESS, TOKEN = "https://memory.example:8443", "asn_abcdefgh_" + "x" * 43
SNIPPETS = [snippet for way in ways(ADDRESS, TOKEN) for snippet in way.snippets]


@pytest.mark.parametrize("snippet", SNIPPETS, ids=lambda snippet: snippet.key)
def test_each_is_well_formed(snippet: Snippet) -> None:
    if snippet.language == "json":
        assert json.loads(snippet.text)["mcpServers"]["assent"]["url"] == f"{ADDRESS}/mcp"
    elif snippet.language == "toml":
        assert snippet.title == "~/.codex/config.toml"
        assert tomllib.loads(snippet.text)["mcp_servers"]["assent"]["url"] == f"{ADDRESS}/mcp"
    elif snippet.language == "python":
        ast.parse(snippet.text)
    else:
        assert snippet.language == "sh"
        subprocess.run(["sh", "-n", "-c", snippet.text], check=True)


def test_every_way_and_every_snippet_has_a_key_of_its_own() -> None:
    keys = [way.key for way in ways(ADDRESS, TOKEN)]
    assert len(set(keys)) == len(keys)
    assert len({snippet.key for snippet in SNIPPETS}) == len(SNIPPETS)


def test_the_token_is_in_the_terminal_only() -> None:
    """What is saved in a file names the variable: files are committed and shared."""
    assert {snippet.key for snippet in SNIPPETS if TOKEN in snippet.text} == {"curl", "environment"}
    for snippet in SNIPPETS:
        if "mcp" in snippet.text and snippet.language != "python":
            assert "MEMORY_TOKEN" in snippet.text, snippet.key


def test_the_environment_is_what_a_shell_reads() -> None:
    text = next(snippet.text for snippet in SNIPPETS if snippet.key == "environment")
    said = subprocess.run(
        ["sh", "-c", f'{text}\nprintf \'%s %s\' "$MEMORY_URL" "$MEMORY_TOKEN"'], capture_output=True, check=True
    )
    assert said.stdout.decode() == f"{ADDRESS} {TOKEN}"


def test_the_command_of_claude_code_leaves_the_variable_to_it() -> None:
    text = next(snippet.text for snippet in SNIPPETS if snippet.key == "claude-code-command")
    words = shlex.split(text.replace("\\\n", ""))
    assert words[:5] == ["claude", "mcp", "add", "--transport", "http"]
    assert words[-1] == "Authorization: Bearer ${MEMORY_TOKEN}"
    assert f"{ADDRESS}/mcp" in words
