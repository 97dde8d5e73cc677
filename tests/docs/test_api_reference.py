"""docs/api.md, which `make docs` writes, has all of the agent API."""

from __future__ import annotations

import pytest

from agent_tools.calls import registry
from agent_tools.errors import ErrorCode
from agent_tools.http import reference

pytestmark = pytest.mark.pure


def test_the_page_has_every_tool_argument_endpoint_and_error() -> None:
    page = reference.page()
    headings = {line.removeprefix("### ") for line in page.splitlines() if line.startswith("### ")}
    assert headings >= set(registry.TOOLS)
    assert all(f"| `{argument}`" in page for tool in registry.TOOLS.values() for argument in tool.schema["properties"])
    assert all(f"| `{code.code}` |" in page for code in ErrorCode)
    assert "`GET /api/v1/users/{user_id}/context/`" in page
