"""docs/tools.md names every tool."""

import re

import pytest

from agent_tools import tools  # noqa: F401 - fills the registry
from agent_tools.calls.registry import TOOLS, Effect
from tests.docs.documents import document

pytestmark = pytest.mark.pure


def test_each_tool_has_one_row() -> None:
    named = re.findall(r"^\| `(\w+)` \|", document("docs/tools.md").text, re.MULTILINE)
    assert sorted(named) == sorted(TOOLS)


def test_what_it_says_of_all_tools_is_so() -> None:
    for tool in TOOLS.values():
        arguments = tool.schema["properties"].keys()
        assert "session_id" in arguments, tool.name
        assert ("idempotency_key" in arguments) is (tool.effect is Effect.SIDE_EFFECTING), tool.name
