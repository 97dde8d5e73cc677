"""docs/agents/: a page for each way in, with the texts that people copy on the agents page.

That the examples run inside their frameworks is tested by tests/integrations; the cookbook by tests/clients.
"""

from __future__ import annotations

import ast
import json
import re
import tomllib
from typing import Any

import pytest

from agent_tools.snippets import Way, ways
from tests.docs.documents import Document, document, documents

pytestmark = pytest.mark.pure

INDEX = document("docs/agents/README.md")
PAGES = [page for page in documents() if page.name.startswith("docs/agents/") and page is not INDEX]
#: The page of each way in, by its key. Terminal and environment are on the first one.
PAGE_OF = {
    "curl": "rest",
    "environment": "rest",
    "claude-code": "claude-code",
    "cursor": "codex-cursor",
    "codex": "codex-cursor",
    "agno": "agno",
    "anthropic": "anthropic",
    "openai-agents": "openai-agents",
    "langchain": "langchain",
}
#: The client's own page is its README.
ELSEWHERE = {"python"}
WAYS = {way.key: way for way in ways("http://127.0.0.1:8000", "$(cat var/demo_token)")}


def page_of(key: str) -> Document:
    return document(f"docs/agents/{PAGE_OF[key]}.md")


def snippet(way: Way, key: str) -> str:
    (text,) = (snippet.text for snippet in way.snippets if snippet.key == key)
    return text


def test_the_index_has_every_page() -> None:
    assert {page.name.removeprefix("docs/agents/") for page in PAGES} <= set(INDEX.links())
    assert len(PAGES) >= 12


def test_every_way_in_has_a_page() -> None:
    assert WAYS.keys() == PAGE_OF.keys() | ELSEWHERE


@pytest.mark.parametrize("key", ["agno", "anthropic", "openai-agents", "langchain"])
def test_a_library_is_installed_and_begun_as_the_agents_page_says(key: str) -> None:
    way, page = WAYS[key], page_of(key)
    assert f"{snippet(way, key)}\n" in list(page.fences("python"))
    assert snippet(way, f"{key}-install") in "".join(page.fences("sh"))


def test_coding_agents_are_configured_as_the_agents_page_says() -> None:
    page = page_of("codex")
    assert list(page.fences("toml")) == [snippet(WAYS["codex"], "codex") + "\n"]
    assert list(page.fences("json")) == [snippet(WAYS["cursor"], "cursor") + "\n"]
    assert list(page_of("claude-code").fences("json")) == [snippet(WAYS["claude-code"], "claude-code-file") + "\n"]
    assert (
        snippet(WAYS["claude-code"], "claude-code-command").split() == next(page_of("claude-code").fences("sh")).split()
    )


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_every_example_can_be_read_by_what_it_is_for(page: Document) -> None:
    for code in page.fences("python"):
        ast.parse(code)
    for configuration in page.fences("json"):
        json.loads(configuration)
    for configuration in page.fences("toml"):
        tomllib.loads(configuration)


@pytest.mark.parametrize("key", sorted(PAGE_OF.keys() - {"curl", "environment"}))
def test_every_page_begins_with_a_server_and_a_token(key: str) -> None:
    assert "rest.md#a-server-and-a-token" in page_of(key).links()


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
