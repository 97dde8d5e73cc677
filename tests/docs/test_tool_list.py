"""docs/tools.md is what the registry says."""

from __future__ import annotations

import pytest

from agent_tools.calls.api_operation import Effect
from agent_tools.calls.registry import TOOLS
from agent_tools.http import tool_list
from agent_tools.management.commands.tool_list import PAGE

pytestmark = pytest.mark.pure


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == tool_list.page(), "run `make docs`"


def test_each_tool_has_one_row_with_its_arguments() -> None:
    rows = [line for line in tool_list.page().splitlines() if line.startswith("| `")]
    assert len(rows) == len(TOOLS)
    for tool in TOOLS.values():
        (row,) = (row for row in rows if row.startswith(f"| `{tool.name}` |"))
        assert all(f"`{name}`" in row for name in tool.schema["required"]), tool.name


def test_what_it_says_of_all_tools_is_so() -> None:
    for tool in TOOLS.values():
        arguments = tool.schema["properties"].keys()
        assert "session_id" in arguments, tool.name
        assert ("idempotency_key" in arguments) is (tool.effect is Effect.SIDE_EFFECTING), tool.name
