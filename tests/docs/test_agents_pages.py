"""docs/agents/: one page for every way in, with the texts that people copy on the agents page.

That the examples run inside their frameworks is tested by tests/integrations; the cookbook by tests/clients.
"""

import ast
import json
import re
import tomllib
from typing import Any

import pytest

from agent_tools.snippets import Way, ways
from tests.docs.documents import Document, document, documents

pytestmark = pytest.mark.pure

PAGE = document("docs/agents/README.md")
PAGES = [page for page in documents() if page.name.startswith("docs/agents/")]
#: The client's own page is its README.
ELSEWHERE = {"python"}
WAYS = {way.key: way for way in ways("http://127.0.0.1:8000", "$(cat var/demo_token)")}
LIBRARIES = ("agno", "anthropic", "langchain", "openai-agents")


def snippet(way: Way, key: str) -> str:
    (text,) = (snippet.text for snippet in way.snippets if snippet.key == key)
    return text


def test_the_page_has_every_way_in_and_every_other_page() -> None:
    assert {page.name.removeprefix("docs/agents/") for page in PAGES if page is not PAGE} <= set(PAGE.links())
    assert WAYS.keys() == {"curl", "environment", "claude-code", "cursor", "codex", *LIBRARIES} | ELSEWHERE


@pytest.mark.parametrize("key", LIBRARIES)
def test_a_library_is_installed_and_begun_as_the_agents_page_says(key: str) -> None:
    assert f"{snippet(WAYS[key], key)}\n" in list(PAGE.fences("python"))
    assert snippet(WAYS[key], f"{key}-install") in "".join(PAGE.fences("sh"))


def test_coding_agents_are_configured_as_the_agents_page_says() -> None:
    assert list(PAGE.fences("toml")) == [snippet(WAYS["codex"], "codex") + "\n"]
    shown = [json.loads(configuration) for configuration in PAGE.fences("json")]
    written = snippet(WAYS["claude-code"], "claude-code-file"), snippet(WAYS["cursor"], "cursor")
    assert shown == [json.loads(configuration) for configuration in written]
    commands = [command.split() for command in PAGE.fences("sh")]
    assert snippet(WAYS["claude-code"], "claude-code-command").split() in commands


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_example_can_be_read_by_what_it_is_for(page: Document) -> None:
    for code in page.fences("python"):
        ast.parse(code)
    for configuration in page.fences("json"):
        json.loads(configuration)
    for configuration in page.fences("toml"):
        tomllib.loads(configuration)


# -- docs/agents/context.md -----------------------------------------------------------------------


def defined(code: str) -> dict[str, Any]:
    made: dict[str, Any] = {}
    exec(compile(code, "docs/agents/context.md", "exec"), made)
    return made


def test_its_defaults_are_those_of_the_client() -> None:
    from assent_client.context import PROTECTED_TOOLS, ContextConfig

    page = document("docs/agents/context.md")
    said = dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", page.text, re.MULTILINE))
    for name, default in vars(ContextConfig()).items():
        if isinstance(default, int):
            assert said[name] == f"{default:,}"
    assert set(re.findall(r"`(\w+)`", said["protected_tools"])) == PROTECTED_TOOLS
    assert said.keys() | {"warning_text"} == vars(ContextConfig()).keys()


def test_its_examples_do_what_they_say() -> None:
    first, anthropic = (defined(code) for code in document("docs/agents/context.md").fences("python"))
    texts = [{"role": "user", "content": "x" * 300_000}]
    assert "memory_save" in first["context"].prepare(texts)[-1]["content"]
    clear, compact = anthropic["request"]["context_management"]["edits"]
    assert clear["type"] == "clear_tool_uses_20250919"
    assert {"memory", "read_memory_block"} <= set(clear["exclude_tools"])
    assert compact["type"] == "compact_20260112"
