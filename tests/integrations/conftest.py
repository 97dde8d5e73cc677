"""The server all integrations speak to, and the documents whose examples they run. Standard library only."""

import json
import os
import runpy
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytest.register_assert_rewrite("tests.integrations.contract")


#: A call of a model's: the name of a tool, and its arguments.
Call = tuple[str, dict[str, Any]]
READ_GOALS: Call = ("read_memory_block", {"block_label": "goals"})


class JsonHandler(BaseHTTPRequestHandler):
    """What a scripted model answers with: JSON in, JSON out, nothing logged."""

    def asked(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def answer(self, value: Any) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


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

    def text_of_goals(self) -> str:
        """What a model reads of alice's block `goals`."""
        return str(self.call("read_memory_block", block_label="goals")["text"])

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


@pytest.fixture
def client(memory: RunningServer) -> Iterator[Any]:
    """An `Assent` of scribe's."""
    from assent_client import Assent

    with Assent(memory.url, memory.token, max_retries=0) as made:
        yield made


def an_append() -> dict[str, str]:
    """Arguments of `propose_memory_append` that no other test has used."""
    return {"block_label": "goals", "content": f"A line {uuid.uuid4().hex[:8]}.", "reasoning": "r"}


def assert_reads_and_proposes(memory: RunningServer, ran: Callable[..., list[str]]) -> None:
    """Assert that a model reads our texts, and that what it proposes waits.

    Args:
        ran: runs these calls of a scripted model, and returns the texts that the model was shown.
    """
    edit = memory.an_edit()
    wrong, right = ("propose_memory_edit", edit | {"old_string": "not there"}), ("propose_memory_edit", edit)
    read, refused, refused_again, proposed = ran(READ_GOALS, wrong, wrong, right)
    assert memory.text_of_goals() in read
    for each in (refused, refused_again):
        assert "Error: old_string not found in block 'goals'." in each
    assert "Edit proposal created for block 'goals'." in proposed
    assert memory.newest_proposal()["edits"][0]["new_string"] == edit["new_string"]


def example(name: str) -> dict[str, Any]:
    """What a program of examples/ defines, as a reader would run it."""
    return runpy.run_path(str(ROOT / "examples" / name))


def run_snippet(key: str) -> None:
    """Run what the agents page says to type, as it is shown there."""
    ways = runpy.run_path(str(ROOT / "agent_tools" / "snippets.py"))["ways"]
    (code,) = (each.text for way in ways("http://127.0.0.1:8000", "asn_…") for each in way.snippets if each.key == key)
    exec(compile(code, key, "exec"), {"__name__": "example"})
