"""The server all integrations speak to, and the documents whose examples they run. Standard library only."""

import json
import os
import runpy
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class RunningServer:
    """Assent, with the demo's data: scribe's token serves alice, who has a block `goals`."""

    url: str
    token: str

    @property
    def mcp(self) -> str:
        return f"{self.url}/mcp"

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool, by REST."""
        return self._sent(f"/api/v1/tools/{tool}/", json.dumps({"user_id": "alice"} | arguments).encode())

    def proposal(self, number: int) -> dict[str, Any]:
        data: dict[str, Any] = self._sent(f"/api/v1/proposals/{number}/", None)["data"]
        return data

    def newest_proposal(self) -> dict[str, Any]:
        """The proposal that was made last."""
        return self.proposal(self._sent("/api/v1/proposals/?limit=1", None)["data"]["items"][0]["proposal_id"])

    def an_edit(self) -> dict[str, str]:
        """Arguments of `propose_memory_edit` that fit, and no other test has used."""
        lines = [
            line for line in self.call("read_memory_block", block_label="goals")["data"]["body"].split("\n") if line
        ]
        old = max(lines, key=len)
        return {
            "block_label": "goals",
            "old_string": old,
            "new_string": f"{old} ({uuid.uuid4().hex[:8]})",
            "reasoning": "Alice said so.",
        }

    def _sent(self, path: str, body: bytes | None) -> dict[str, Any]:
        headers = self.headers | {"Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}{path}", body, headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            payload: dict[str, Any] = json.load(answer)
        return payload


@pytest.fixture(scope="session")
def memory() -> RunningServer:
    """The server of the run."""
    return RunningServer(os.environ["MEMORY_URL"], os.environ["MEMORY_TOKEN"])


def example(name: str) -> dict[str, Any]:
    """What a program of examples/ defines, as a reader would run it."""
    return runpy.run_path(str(ROOT / "examples" / name))


def snippet(key: str) -> str:
    """Return what the agents page says to type, as it is shown there."""
    for library in runpy.run_path(str(ROOT / "agent_tools" / "snippets.py"))["LIBRARIES"]:
        if library.key == key:
            code: str = library.code
            return code
    raise AssertionError(f"there is no snippet {key}")
