"""The quick start of the agents page, as it is shown there."""

import anthropic
import httpx2
import pytest

from tests.integrations.anthropic.conftest import Messages
from tests.integrations.conftest import run_snippet


def test_it_runs_as_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The Messages API is the one thing replaced."""
    api = Messages(({"command": "view", "path": "/memories/blocks/goals.md"},))
    transport = httpx2.Client(transport=httpx2.MockTransport(api))
    client = anthropic.Anthropic(api_key="x", http_client=transport)
    monkeypatch.setattr(anthropic, "Anthropic", lambda: client)
    run_snippet("anthropic")
    (found,) = api.results
    assert found.lines[0] == "Here's the content of /memories/blocks/goals.md with line numbers:"
    assert api.sent[0]["tools"] == [{"type": "memory_20250818", "name": "memory"}]
