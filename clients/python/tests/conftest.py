"""Tests of the client alone: no server, no Django. What a server really answers: the project's tests/clients."""

import json
from dataclasses import dataclass, field
from typing import Any

import httpx2
import hypothesis
import pytest

from assent_client import Assent, AsyncAssent

hypothesis.settings.register_profile("client", deadline=None)
hypothesis.settings.load_profile("client")

URL, TOKEN = "https://memory.example", "asn_test_secret"


def success(text: str = "done", headers: dict[str, str] | None = None, /, **data: Any) -> httpx2.Response:
    return httpx2.Response(200, json={"ok": True, "text": text, "data": data}, headers=headers)


def refusal(status: int, code: str, headers: dict[str, str] | None = None, /, **details: Any) -> httpx2.Response:
    error = {"code": code, "message": f"It is {code}.", "details": details}
    return httpx2.Response(status, json={"ok": False, "text": f"Error: {code}", "error": error}, headers=headers)


@dataclass
class Script:
    """A server that gives these answers one after another, the last again and again; an exception is raised."""

    answers: list[httpx2.Response | Exception] = field(default_factory=list)
    requests: list[httpx2.Request] = field(default_factory=list)

    def __call__(self, request: httpx2.Request) -> httpx2.Response:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        # A new one each time: one that was read once cannot be read in the other way.
        return httpx2.Response(answer.status_code, headers=answer.headers, content=answer.content)

    async def asynchronous(self, request: httpx2.Request) -> httpx2.Response:
        return self(request)

    def client(self, user: str | None = None) -> Assent:
        return Assent(URL, TOKEN, user, http_client=httpx2.Client(transport=httpx2.MockTransport(self)))

    def body(self, number: int = -1) -> Any:
        return json.loads(self.requests[number].content)

    def header(self, name: str) -> list[str | None]:
        return [request.headers.get(name) for request in self.requests]


class Slept(list[float]):
    """Seconds that were slept."""


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> Slept:
    """Nobody waits: what would have been slept is noted."""
    seconds = Slept()

    async def asynchronous(for_: float) -> None:
        seconds.append(for_)

    monkeypatch.setattr("time.sleep", seconds.append)
    monkeypatch.setattr("asyncio.sleep", asynchronous)
    return seconds


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MEMORY_URL", "MEMORY_TOKEN", "MEMORY_OWNER"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def memory(script: Script, slept: Slept) -> Assent:
    """A client of the script, for alice."""
    return script.client("alice")


@pytest.fixture
def async_memory(script: Script, slept: Slept) -> AsyncAssent:
    transport = httpx2.MockTransport(script.asynchronous)
    return AsyncAssent(URL, TOKEN, "alice", http_client=httpx2.AsyncClient(transport=transport))
